//! The records of communicators, in the shard: never moved or freed, so that a request may outlive its communicator.

use std::ptr::{self, NonNull};
use std::sync::atomic::{Ordering, fence};

use bytemuck::Zeroable;
use vocabulary::shard::{
    BLOCK_HEADER_BYTES, BlockHeader, COMMUNICATORS, Communicator, FIRST_COMM, NO_COMM, SEVERAL_COMMS,
};

use crate::guest::serial::Serial;
use crate::guest::set_once::SetOnce;
use crate::guest::signals;
use crate::guest::state;
use crate::shard::{self, memory};

pub type Record = *mut Communicator;

const BLOCK_BYTES: (usize, usize) = (4 << 10, 64 << 10);
/// The rows `-` and `*`, which are no communicators.
static ROWS: SetOnce<[Row; 2]> = SetOnce::new();

struct Row(Record);

// SAFETY: the two records are never written after they were made.
unsafe impl Sync for Row {}

pub struct Registry {
    next_number: u32,
    /// Communicators given to this process, MPI_COMM_WORLD apart.
    counter: u32,
    foreign: u32,
    block: *mut BlockHeader,
    /// Where the block has room for the next one, and where it ends.
    next: Record,
    end: Record,
    next_bytes: usize,
}

// SAFETY: the block is only touched where the registry is held.
unsafe impl Send for Registry {}

static REGISTRY: Serial<Registry> = Serial::new(Registry {
    next_number: FIRST_COMM,
    counter: 0,
    foreign: 0,
    block: ptr::null_mut(),
    next: ptr::null_mut(),
    end: ptr::null_mut(),
    next_bytes: BLOCK_BYTES.0,
});

/// Makes the table.
pub fn prepare() {
    let row = |number| Row(Box::into_raw(Box::new(Communicator { number, ..Communicator::zeroed() })));
    // SAFETY: called in `MPI_Init`, before recording starts.
    unsafe { ROWS.set([row(NO_COMM), row(SEVERAL_COMMS)]) };
}

/// The row `-`.
#[inline(always)]
pub fn none() -> Record {
    // SAFETY: wrappers get here only while recording is on.
    unsafe { ROWS.get()[0].0 }
}

/// The row `*`.
pub fn several() -> Record {
    // SAFETY: as above.
    unsafe { ROWS.get()[1].0 }
}

/// Works on the registry, which has room for one more then, if there is memory. Room is made while no signal is handled: a handler that does
/// not return would leave it half made. None where nobody can be at it now: then the profile says that something is missing.
#[inline(always)]
pub fn with_registry<R>(work: impl FnOnce(&mut Registry) -> R) -> Option<R> {
    if !state::is_threaded() {
        return REGISTRY.with(work);
    }
    if REGISTRY.with(|registry| !registry.has_room()) == Some(true) {
        signals::undisturbed(|| REGISTRY.with(Registry::next_block));
    }
    let result = REGISTRY.with(work);
    if result.is_none() {
        memory::give_up_call();
    }
    result
}

/// Whether a record can be kept now.
pub fn is_registry_open() -> bool {
    REGISTRY.with(|_| ()).is_some()
}

impl Registry {
    /// The number of the next communicator that another library made.
    pub fn next_foreign(&mut self) -> u32 {
        self.foreign += 1;
        self.foreign
    }

    /// Keeps one that was given to the program.
    #[inline(always)]
    pub fn keep_counted(&mut self, make: impl FnOnce() -> Communicator) -> Option<Record> {
        self.counter += 1;
        let counter = self.counter;
        self.keep(|| Communicator { counter, ..make() })
    }

    /// Puts a record into the shard. Where there is no room for it, its calls are charged to the row `-`.
    #[inline(always)]
    pub fn keep(&mut self, make: impl FnOnce() -> Communicator) -> Option<Record> {
        if !self.has_room() {
            self.next_block()?;
        }
        // SAFETY: there is room now.
        Some(unsafe { self.keep_in_room(make) })
    }

    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.next != self.end
    }

    /// The record is made where it stays: a copy of what was just written in smaller pieces waits for them.
    #[inline(always)]
    unsafe fn keep_in_room(&mut self, make: impl FnOnce() -> Communicator) -> Record {
        let (number, place) = (self.next_number, self.next);
        self.next_number += 1;
        // SAFETY: as demanded, the block has room for one more record.
        unsafe {
            place.write(Communicator { number, ..make() });
            fence(Ordering::Release);
            self.next = place.add(1);
            (*self.block).used += 1;
        }
        place
    }

    #[cold]
    #[inline(never)]
    fn next_block(&mut self) -> Option<()> {
        let block = shard::block(COMMUNICATORS, self.next_bytes).map(NonNull::as_ptr)?;
        let capacity = (self.next_bytes - BLOCK_HEADER_BYTES) / size_of::<Communicator>();
        self.block = block;
        self.next = (block as usize + BLOCK_HEADER_BYTES) as Record;
        self.end = self.next.wrapping_add(capacity);
        self.next_bytes = (self.next_bytes * 2).min(BLOCK_BYTES.1);
        Some(())
    }
}
