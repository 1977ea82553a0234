//! Where a thread stands: the call that it is in is in the shard before the library is called, so that a job that hangs or is
//! killed leaves word of it. Each thread writes cache lines of its own.
//!
//! What it costs a call: before it, one load, one compare and three stores, after it one store, and a look at whether there is a
//! timeline. The communicator stands there as
//! the program's handle: what that means is looked up by whoever reads it.

use vocabulary::shard::{BLOCK_HEADER_BYTES, NO_COMM, STANDING_LEVELS, STANDINGS, Standing};

use crate::abi::Word;
use crate::communicators::Record;
use crate::shard;
use crate::thread::Thread;
use crate::trace;

/// The lowest of the places of one thread.
pub struct Places(*mut Standing);

impl Places {
    pub fn new(thread: usize) -> Places {
        let empty = |level| Standing {
            word: 0,
            comm: 0,
            begin_ticks: 0,
            end_ticks: 0,
            thread: thread as u32,
            level: level as u32,
            reserved: [0; 6],
        };
        let levels: [Standing; STANDING_LEVELS] = std::array::from_fn(empty);
        match shard::block(STANDINGS, BLOCK_HEADER_BYTES + size_of_val(&levels)) {
            // SAFETY: the block has room for these entries behind its header, and belongs to nobody else.
            Some(block) => unsafe {
                let first = (block.as_ptr() as usize + BLOCK_HEADER_BYTES) as *mut Standing;
                first.cast::<[Standing; STANDING_LEVELS]>().write(levels);
                (*block.as_ptr()).used = STANDING_LEVELS as u32;
                Places(first)
            },
            // Without room in the shard nobody reads it; so the hot path needs no test.
            None => Places(Box::leak(Box::new(levels)).as_mut_ptr()),
        }
    }

    /// The thread's number.
    pub fn thread(&self) -> u32 {
        // SAFETY: the entry is this thread's, and never freed.
        unsafe { (*self.0).thread }
    }

    /// The call that the thread is in, the innermost if a callback made another one.
    #[inline(always)]
    pub fn innermost(&self) -> Option<&Standing> {
        // SAFETY: there are so many, and they are this thread's.
        let at = |level| Place(unsafe { self.0.add(level) });
        let mut place = at(0);
        if !place.is_inside() {
            return None;
        }
        for level in (1..STANDING_LEVELS).map(at).take_while(|place| place.is_inside()) {
            place = level;
        }
        // SAFETY: as above.
        Some(unsafe { &*place.0 })
    }

    /// A thread begins to be seen, or ends (0).
    pub fn set(&self, now_ticks: u64) {
        for level in 0..STANDING_LEVELS {
            // SAFETY: there are so many, and they are this thread's.
            let place = Place(unsafe { self.0.add(level) });
            place.set_begin(0);
            place.set_end(if level == 0 { now_ticks } else { 0 });
        }
    }
}

/// Where one call is noted. The words are written one by one: a reader may come, or the process end, between them.
#[derive(Clone, Copy)]
pub struct Place(*mut Standing);

impl Place {
    #[inline(always)]
    fn is_inside(self) -> bool {
        // SAFETY: the entry is this thread's, and never freed.
        unsafe { Standing::is_inside((*self.0).begin_ticks, (*self.0).end_ticks) }
    }

    #[inline(always)]
    fn set_begin(self, begin_ticks: u64) {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.0).begin_ticks).write_volatile(begin_ticks) };
    }

    #[inline(always)]
    fn set_end(self, end_ticks: u64) {
        // SAFETY: as above.
        unsafe { (&raw mut (*self.0).end_ticks).write_volatile(end_ticks) };
    }

    #[inline(always)]
    fn fill(self, word: u64, comm: u64, begin_ticks: u64) {
        // SAFETY: as above.
        unsafe {
            (&raw mut (*self.0).comm).write_volatile(comm);
            (&raw mut (*self.0).word).write_volatile(word);
        }
        self.set_begin(begin_ticks);
    }

    /// The program's callbacks (of attributes, reductions, errors) may call MPI themselves.
    #[cold]
    #[inline(never)]
    fn above(self) -> Place {
        // SAFETY: a thread has so many places.
        let at = |level| Place(unsafe { self.0.add(level) });
        (1..STANDING_LEVELS).map(at).find(|place| !place.is_inside()).unwrap_or(at(STANDING_LEVELS - 1))
    }
}

#[inline(always)]
fn place(thread: &Thread) -> Place {
    let lowest = Place(thread.places.0);
    if lowest.is_inside() { lowest.above() } else { lowest }
}

/// The thread is about to enter a call that is given this handle of a communicator, which may be none at all.
#[inline(always)]
pub fn enter(thread: &Thread, comm: Word, operation: u16, begin_ticks: u64) -> Place {
    let place = place(thread);
    place.fill(Standing::word(operation, true, begin_ticks), comm as u64, begin_ticks);
    place
}

/// The same where the communicator is known by its record.
#[inline(always)]
pub fn enter_over(thread: &Thread, record: Record, operation: u16, begin_ticks: u64) -> Place {
    // SAFETY: records are never freed.
    let number = if record.is_null() { NO_COMM } else { unsafe { (*record).number } };
    let place = place(thread);
    place.fill(Standing::word(operation, false, begin_ticks), number.into(), begin_ticks);
    place
}

/// The call has returned.
#[inline(always)]
pub fn leave(place: Place, end_ticks: u64) {
    place.set_end(end_ticks);
    if trace::is_on() {
        // SAFETY: as above.
        trace::call(unsafe { &*place.0 }, end_ticks);
    }
}
