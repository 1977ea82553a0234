//! Calls like one before: a training step makes the same few over and over. Their counter is known, and so is where the thread stands.

use std::cell::Cell;
use std::ptr;

use commsee_hook::Call;
use commsee_runtime::memory;
use commsee_runtime::thread_state::State;

use super::Ended;
use crate::chosen::How;
use crate::communicators::Communicator;
use crate::functions::Function;
use crate::module::Module;

/// A power of two.
const ENTRIES: usize = 32;

/// Of one thread.
pub struct Alike {
    /// What the core answered outside of all calls, and in which epoch.
    outside: Cell<Option<(u32, Call)>>,
    counters: Box<[Cell<Option<Counter>>]>,
}

#[derive(Clone, Copy)]
struct Counter {
    communicator: *const Communicator,
    function: Function,
    how: How,
    peer: i32,
    /// The sizes that it counts, both included.
    low_bytes: u64,
    high_bytes: u64,
    counted: *mut u64,
}

impl Alike {
    /// None without memory.
    pub fn new() -> Option<Alike> {
        Some(Alike { outside: Cell::new(None), counters: memory::list(ENTRIES, || Cell::new(None))? })
    }

    pub fn forget(&self) {
        self.outside.set(None);
        self.counters.iter().for_each(|counter| counter.set(None));
    }

    /// The call that the thread is in; None where nothing is counted.
    ///
    /// # Safety
    /// The state is this thread's.
    #[inline(always)]
    pub unsafe fn here(&self, module: &Module, state: &State) -> Option<Call> {
        // SAFETY: as demanded.
        let (epoch, is_outside) = unsafe { (state.epoch(), state.is_outside() && state.is_counting()) };
        match self.outside.get() {
            Some((known, call)) if is_outside && known == epoch => Some(call),
            _ => {
                let mut call = Call::NONE;
                // SAFETY: the call may be written.
                if !unsafe { module.here(&raw mut call) } {
                    return None;
                }
                if is_outside && !call.is_traced() {
                    self.outside.set(Some((epoch, call)));
                }
                Some(call)
            }
        }
    }

    /// Counts a call like one before it. False where there was none.
    #[inline(always)]
    pub fn count(&self, module: &Module, ended: &Ended, how: How) -> bool {
        let communicator = ended.communicator.map_or(ptr::null(), ptr::from_ref);
        match self.counters[place(communicator, ended)].get() {
            Some(counter)
                if counter.communicator == communicator
                    && counter.function == ended.function
                    && counter.peer == ended.peer
                    && counter.low_bytes <= ended.size_bytes
                    && ended.size_bytes <= counter.high_bytes
                    && counter.how == how
                    && is_plain(ended) =>
            {
                // SAFETY: this thread's own, as are all of these, and it is counting.
                unsafe { module.add(counter.counted, ended.bytes, ended.duration_ns) };
                true
            }
            _ => false,
        }
    }

    /// The same for the next one like it. `call` has its communicator.
    pub fn keep(&self, module: &Module, ended: &Ended, call: &Call, how: How, route: u32, peer: u32) {
        if !is_plain(ended) {
            return;
        }
        let Some(counter) = module.counter(call, route, peer, ended.size_bytes) else { return };
        let communicator = ended.communicator.map_or(ptr::null(), ptr::from_ref);
        self.counters[place(communicator, ended)].set(Some(Counter {
            communicator,
            function: ended.function,
            how,
            peer: ended.peer,
            low_bytes: counter.size_low,
            high_bytes: counter.size_high,
            counted: counter.counted,
        }));
    }
}

/// Outside of MPI's calls and off the timeline: nothing else decides where it counts.
#[inline(always)]
fn is_plain(ended: &Ended) -> bool {
    let call = &ended.call;
    call.operation == Call::NONE.operation && call.context == 0 && !call.is_traced() && !ended.is_over_several
}

#[inline(always)]
fn place(communicator: *const Communicator, ended: &Ended) -> usize {
    let mixed = (communicator as usize >> 4)
        .wrapping_add(ended.function as usize * 5)
        .wrapping_add(ended.peer as usize)
        .wrapping_add(ended.size_bytes.leading_zeros() as usize);
    mixed & (ENTRIES - 1)
}
