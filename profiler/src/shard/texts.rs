//! Blocks of texts in the shard: what a number of this process stands for.

use std::ptr::{self, NonNull};
use std::sync::atomic::{Ordering, fence};

use vocabulary::shard::{BLOCK_HEADER_BYTES, BlockHeader, TEXT_BYTES, Text, set_text};

use crate::shard;

const BLOCK_BYTES: usize = 4 << 10;
const CAPACITY: usize = (BLOCK_BYTES - BLOCK_HEADER_BYTES) / size_of::<Text>();

/// The block that the texts of one kind are being written into.
pub struct Texts {
    kind: u32,
    block: *mut BlockHeader,
}

// SAFETY: its owner keeps it under a lock, and nobody else writes into the block.
unsafe impl Send for Texts {}

impl Texts {
    pub const fn new(kind: u32) -> Texts {
        Texts { kind, block: ptr::null_mut() }
    }

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

    fn put(&mut self, entry: Text) -> Option<NonNull<Text>> {
        // SAFETY: `block` is null or one of ours, which is never unmapped.
        let mut used = unsafe { self.block.as_ref() }.map_or(CAPACITY, |block| block.used as usize);
        if used == CAPACITY {
            (self.block, used) = (shard::block(self.kind, BLOCK_BYTES)?.as_ptr(), 0);
        }
        let place = self.block as usize + BLOCK_HEADER_BYTES + used * size_of::<Text>();
        // SAFETY: the block has room for one entry behind the used ones.
        unsafe {
            (place as *mut Text).write(entry);
            fence(Ordering::Release);
            (*self.block).used += 1;
        }
        NonNull::new(place as *mut Text)
    }
}
