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

    /// Adds a text in as many parts as it takes, if there is room: `flags` is the part.
    pub fn add_parts(&mut self, number: u32, text: &[u8]) -> Option<()> {
        // The last byte of a part is zero.
        let parts = text.chunks(TEXT_BYTES - 1).chain(text.is_empty().then_some(&[][..]));
        for (part, bytes) in parts.enumerate() {
            let mut entry = Text { number, flags: part as u32, text: [0; TEXT_BYTES] };
            entry.text[..bytes.len()].copy_from_slice(bytes);
            self.put(entry)?;
        }
        Some(())
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
