//! Where in the code calls are made, in the shard: modules, frames and sites of the process, numbered in the order in which they are
//! added. Whoever adds them knows what is there already, and keeps the lock.

use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::sync::atomic::{Ordering, fence};

use bytemuck::Zeroable;
use vocabulary::shard::{
    BLOCK_HEADER_BYTES, BlockHeader, CODE_TEXTS, Frame, MODULES, Module, PLACES, Place, SITES, Site,
};

use crate::shard;
use crate::shard::texts::Texts;

/// Size of the first block of a kind; each further one is twice as large, up to the second number.
const BLOCK_BYTES: (usize, usize) = (2 << 10, 64 << 10);

/// The blocks that code is being written into.
pub struct Code {
    modules: Numbered<Module>,
    frames: Numbered<Place>,
    sites: Numbered<Site>,
    texts: Texts,
    next_text: u32,
}

impl Code {
    pub const fn new() -> Code {
        Code {
            modules: Numbered::new(MODULES),
            frames: Numbered::new(PLACES),
            sites: Numbered::new(SITES),
            texts: Texts::new(CODE_TEXTS),
            next_text: 1,
        }
    }

    /// Adds a mapped module, whose path is filled in here. Its number, if there was room for it.
    pub fn add_module(&mut self, mut module: Module, path: &[u8]) -> Option<u32> {
        module.path = self.add_text(path)?;
        self.modules.add(module)
    }

    /// Where the module lies that was added last, for when it is mapped elsewhere.
    pub fn latest_module(&self) -> Option<NonNull<Module>> {
        self.modules.latest()
    }

    /// Adds a path or a name, in as many parts as it takes. Its number, if there was room for it.
    pub fn add_text(&mut self, text: &[u8]) -> Option<u32> {
        let number = self.next_text;
        self.texts.add_parts(number, text)?;
        self.next_text += 1;
        Some(number)
    }

    /// Adds a frame, all of whose parts were added before. Its number, if there was room for it.
    pub fn add_frame(&mut self, frame: Frame) -> Option<u32> {
        self.frames.add(frame.into())
    }

    /// Adds a site, whose frame and outer site were added before. Its number, if there was room for it.
    pub fn add_site(&mut self, site: Site) -> Option<u32> {
        self.sites.add(site)
    }
}

/// Blocks of entries that are numbered from 1.
struct Numbered<T> {
    kind: u32,
    block: *mut BlockHeader,
    capacity: usize,
    next_bytes: usize,
    next_number: u32,
    entries: PhantomData<T>,
}

// SAFETY: its owner keeps it under a lock, and nobody else writes into the block.
unsafe impl<T: Send> Send for Numbered<T> {}

impl<T: Zeroable + Copy> Numbered<T> {
    const fn new(kind: u32) -> Numbered<T> {
        Numbered {
            kind,
            block: ptr::null_mut(),
            capacity: 0,
            next_bytes: BLOCK_BYTES.0,
            next_number: 1,
            entries: PhantomData,
        }
    }

    fn latest(&self) -> Option<NonNull<T>> {
        // SAFETY: `block` is null or one of ours, which is never unmapped.
        let used = unsafe { self.block.as_ref() }?.used as usize;
        NonNull::new((self.block as usize + BLOCK_HEADER_BYTES + used.checked_sub(1)? * size_of::<T>()) as *mut T)
    }

    fn add(&mut self, entry: T) -> Option<u32> {
        let number = self.next_number;
        // SAFETY: `block` is null or one of ours, which is never unmapped.
        let mut used = unsafe { self.block.as_ref() }.map_or(0, |block| block.used as usize);
        if used >= self.capacity {
            let block = shard::block(self.kind, self.next_bytes)?;
            // SAFETY: a new block, without an entry yet.
            unsafe { (*block.as_ptr()).reserved[0] = number };
            (self.block, used) = (block.as_ptr(), 0);
            self.capacity = (self.next_bytes - BLOCK_HEADER_BYTES) / size_of::<T>();
            self.next_bytes = (self.next_bytes * 2).min(BLOCK_BYTES.1);
        }
        let entries = self.block as usize + BLOCK_HEADER_BYTES;
        // SAFETY: the block has room for one entry behind the used ones.
        unsafe {
            ((entries + used * size_of::<T>()) as *mut T).write(entry);
            fence(Ordering::Release);
            (*self.block).used += 1;
        }
        self.next_number += 1;
        Some(number)
    }
}
