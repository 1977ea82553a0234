//! What hook modules counted in one thread. Apart from [`crate::thread::Thread`], which a wrapper may be holding while the
//! library below it comes here.

use std::cell::{Cell, UnsafeCell};
use std::ptr;

use bytemuck::Zeroable;
use commsee_hook::{AT_ONCE, MODULES};
use vocabulary::shard::{Bound, Standing, Transfer};

use crate::abi::Word;
use crate::communicators;
use crate::guard;
use crate::index::Index;

pub struct Counters {
    words: [UnsafeCell<u64>; MODULES],
    index: UnsafeCell<Index<Transfer>>,
    /// The communicator that was looked up last: its handle, the epoch of the table of communicators, its number.
    last_comm: Cell<(Word, u32, u32)>,
}

/// Where a thread keeps its counters: made when a module asks for them first.
pub struct Place(Cell<*mut Counters>);

impl Place {
    pub const fn empty() -> Place {
        Place(Cell::new(ptr::null_mut()))
    }

    #[inline(always)]
    pub fn get(&self) -> Option<&'static Counters> {
        // SAFETY: made below, and never freed.
        unsafe { self.0.get().as_ref() }.or_else(|| self.make())
    }

    #[cold]
    #[inline(never)]
    fn make(&self) -> Option<&'static Counters> {
        let new = guard::guarded(|| Box::leak(Box::new(Counters::new())))?;
        self.0.set(new);
        Some(new)
    }
}

impl Counters {
    fn new() -> Counters {
        Counters {
            words: [const { UnsafeCell::new(0) }; MODULES],
            index: UnsafeCell::new(Index::new()),
            last_comm: Cell::new((0, u32::MAX, 0)),
        }
    }

    #[inline(always)]
    pub fn word(&self, module: i32) -> Option<*mut u64> {
        self.words.get(module as usize).map(UnsafeCell::get)
    }

    /// The number of the communicator of a call.
    #[inline(always)]
    pub fn communicator(&self, standing: &Standing) -> u32 {
        if !standing.is_of_handle() {
            return standing.comm as u32;
        }
        let handle = communicators::masked(standing.comm as Word);
        let (last, epoch, number) = self.last_comm.get();
        let now = communicators::epoch();
        if last == handle && epoch == now {
            return number;
        }
        // SAFETY: records are never freed.
        let number = unsafe { (*communicators::during_call(handle)).number };
        self.last_comm.set((handle, now, number));
        number
    }

    #[inline(always)]
    pub fn count(&self, key: [u64; 2], bytes: u64, ticks: u64) {
        // SAFETY: this thread's own, and nothing below comes back here.
        let index = unsafe { &mut *self.index.get() };
        let entry = match index.find(key) {
            Some(entry) => entry,
            None => index.add(key, Transfer { key, ticks_min: Bound::LONGEST, ..Transfer::zeroed() }),
        };
        // SAFETY: the index holds addresses of live entries of this thread only.
        let entry = unsafe { &mut *entry };
        entry.calls += 1;
        entry.bytes = entry.bytes.wrapping_add(bytes);
        if ticks != AT_ONCE {
            entry.later += 1;
            entry.ticks = entry.ticks.wrapping_add(ticks);
            entry.ticks_min = entry.ticks_min.min(Bound::below(ticks));
            entry.ticks_max = entry.ticks_max.max(Bound::above(ticks));
        }
    }
}
