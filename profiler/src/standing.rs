//! Where a thread stands: the call that it is in is in the shard before the library is called, so that a job that hangs or is
//! killed leaves word of it. Each thread writes a cache line of its own.
//!
//! What it costs a call: before it, the load of the place, the test for a call around this one, and two stores; after it the
//! same. The communicator is looked up before the call and remembered, so that the look-up after it finds it at once.

use std::ptr::NonNull;

use vocabulary::shard::{BLOCK_HEADER_BYTES, NO_COMM, STANDINGS, Standing};

use crate::communicators::Record;
use crate::shard;
use crate::thread::Thread;

pub struct Place {
    entry: *mut Standing,
    /// Calls around the present one: the program's callbacks (of attributes, reductions, errors) may call MPI themselves.
    around: Vec<(u64, u64)>,
}

impl Place {
    pub fn new(thread: usize) -> Place {
        let standing = Standing { word: 0, since_ticks: 0, thread: thread as u32, reserved: [0; 11] };
        let entry = match shard::block(STANDINGS, BLOCK_HEADER_BYTES + size_of::<Standing>()) {
            // SAFETY: the block has room for one entry behind its header, and belongs to nobody else.
            Some(block) => unsafe {
                let entry = (block.as_ptr() as usize + BLOCK_HEADER_BYTES) as *mut Standing;
                entry.write(standing);
                (*block.as_ptr()).used = 1;
                entry
            },
            // Without room in the shard nobody reads it; so the hot path needs no test.
            None => NonNull::from(Box::leak(Box::new(standing))).as_ptr(),
        };
        Place { entry, around: Vec::new() }
    }

    /// The words are written one by one, in this order: a reader may come, or the process end, between them.
    #[inline(always)]
    fn write(&self, word: u64, since_ticks: u64) {
        // SAFETY: the entry is this thread's, and never freed.
        unsafe {
            (&raw mut (*self.entry).since_ticks).write_volatile(since_ticks);
            (&raw mut (*self.entry).word).write_volatile(word);
        }
    }

    #[inline(always)]
    fn word(&self) -> u64 {
        // SAFETY: as above.
        unsafe { (&raw const (*self.entry).word).read_volatile() }
    }

    /// A thread begins to be seen.
    pub fn occupy(&mut self, now_ticks: u64) {
        self.around.clear();
        self.write(Standing::outside(now_ticks), now_ticks);
    }

    /// Its thread has ended.
    pub fn vacate(&mut self) {
        self.write(Standing::outside(0), 0);
    }

    #[cold]
    #[inline(never)]
    fn keep_around(&mut self) {
        // SAFETY: as above.
        let Standing { word, since_ticks, .. } = unsafe { self.entry.read() };
        self.around.push((word, since_ticks));
    }

    #[cold]
    #[inline(never)]
    fn back_around(&mut self) {
        if let Some((word, since_ticks)) = self.around.pop() {
            self.write(word, since_ticks);
        }
    }
}

/// The number of a record, as an entry has it.
#[inline(always)]
pub fn number(record: Record) -> u32 {
    // SAFETY: records are never freed.
    if record.is_null() { NO_COMM } else { unsafe { (*record).number } }
}

/// The thread is about to enter a call.
#[inline(always)]
pub fn enter(thread: &mut Thread, comm: u32, operation: u16, begin_ticks: u64) {
    let place = &mut thread.standing;
    if Standing::is_inside(place.word()) {
        place.keep_around();
    }
    place.write(Standing::inside(comm, operation, begin_ticks), begin_ticks);
}

/// The call has returned.
#[inline(always)]
pub fn leave(thread: &mut Thread, end_ticks: u64) {
    let place = &mut thread.standing;
    if place.around.is_empty() {
        place.write(Standing::outside(end_ticks), end_ticks);
    } else {
        place.back_around();
    }
}
