//! Blocks of texts in the shard: what a number of this process stands for.

use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::atomic::{Ordering, fence};

use vocabulary::shard::{BLOCK_HEADER_BYTES, BlockHeader, TEXT_BYTES, Text, set_text};

use crate::shard;

const BLOCK_BYTES: usize = 4 << 10;

/// The block that entries of one kind are being written into.
pub struct Entries<T> {
    kind: u32,
    block: *mut BlockHeader,
    entries: PhantomData<T>,
}

pub type Texts = Entries<Text>;

// SAFETY: its owner keeps it under a lock, and nobody else writes into the block.
unsafe impl<T> Send for Entries<T> {}

impl Texts {
    /// Where it stands now, if there was room for it.
    pub fn add(&mut self, number: u32, flags: u32, text: &str) -> Option<NonNull<Text>> {
        let mut entry = Text { number, flags, text: [0; TEXT_BYTES] };
        set_text(&mut entry.text, text);
        self.put(entry)
    }

    /// The same of bytes, of which there are fewer than [`TEXT_BYTES`].
    #[allow(dead_code)]
    pub fn add_bytes(&mut self, number: u32, flags: u32, bytes: &[u8]) -> Option<NonNull<Text>> {
        let mut entry = Text { number, flags, text: [0; TEXT_BYTES] };
        entry.text[..TEXT_BYTES - 1].iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        self.put(entry)
    }
}

impl<T: Copy> Entries<T> {
    const CAPACITY: usize = (BLOCK_BYTES - BLOCK_HEADER_BYTES) / size_of::<T>();

    pub const fn new(kind: u32) -> Entries<T> {
        Entries { kind, block: ptr::null_mut(), entries: PhantomData }
    }

    /// Where it stands now, if there was room for it.
    pub fn put(&mut self, entry: T) -> Option<NonNull<T>> {
        // SAFETY: `block` is null or one of ours, which is never unmapped.
        let mut used = unsafe { self.block.as_ref() }.map_or(Self::CAPACITY, |block| block.used as usize);
        if used == Self::CAPACITY {
            (self.block, used) = (shard::block(self.kind, BLOCK_BYTES)?.as_ptr(), 0);
        }
        let place = self.block as usize + BLOCK_HEADER_BYTES + used * size_of::<T>();
        // SAFETY: the block has room for one entry behind the used ones.
        unsafe {
            (place as *mut T).write(entry);
            fence(Ordering::Release);
            (*self.block).used += 1;
        }
        NonNull::new(place as *mut T)
    }
}
