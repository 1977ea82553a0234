//! What hook modules counted in one thread. Apart from [`super::Thread`], which a wrapper may be holding while the
//! library below it comes here.

use std::cell::{Cell, UnsafeCell};
use std::mem::offset_of;
use std::ptr;

use bytemuck::Zeroable;
use commsee_hook::{AT_ONCE, MODULES};
use vocabulary::shard::{Bound, InFlightCall, Transfer};

use crate::objects::communicators::LastLookUp;
use crate::shard::index::Index;
use crate::shard::memory;
use crate::thread::layer_calls::Layers;

pub struct Transferred {
    words: [UnsafeCell<u64>; MODULES],
    index: Index<Transfer>,
    last_comm: LastLookUp,
    pub layers: Layers,
}

/// Where a thread keeps these: made when a module asks for them first.
pub struct HookState(Cell<*const Transferred>);

impl HookState {
    pub const fn empty() -> HookState {
        HookState(Cell::new(ptr::null()))
    }

    #[inline(always)]
    pub fn known(&self) -> Option<&'static Transferred> {
        // SAFETY: made below, and never freed.
        unsafe { self.0.get().as_ref() }
    }

    pub fn get(&self) -> Option<&'static Transferred> {
        self.known().or_else(|| self.make())
    }

    /// The thread ends: the next one that has its counters is in no call.
    pub fn leave(&self) {
        if let Some(known) = self.known() {
            known.layers.leave_all();
        }
    }

    #[cold]
    #[inline(never)]
    fn make(&self) -> Option<&'static Transferred> {
        let new = Transferred::new().and_then(memory::keep);
        let Some(new) = new else {
            memory::lose_call();
            return None;
        };
        self.0.set(new);
        Some(new)
    }
}

impl Transferred {
    /// None where there is no memory for it.
    fn new() -> Option<Transferred> {
        Some(Transferred {
            words: [const { UnsafeCell::new(0) }; MODULES],
            index: Index::new()?,
            last_comm: LastLookUp::none(),
            layers: Layers::new(),
        })
    }

    #[inline(always)]
    pub fn word(&self, module: i32) -> Option<*mut u64> {
        self.words.get(module as usize).map(UnsafeCell::get)
    }

    /// The number of the communicator of a call.
    #[inline(always)]
    pub fn communicator(&self, call: &InFlightCall) -> u32 {
        self.last_comm.of(call)
    }

    #[inline(always)]
    pub fn find(&self, key: [u64; 2]) -> Option<Entry> {
        self.index.find(key).map(Entry)
    }

    /// The entry of a key, which may not be there yet.
    pub fn make(&self, key: [u64; 2]) -> Entry {
        let new = || Transfer { key, time_min_ns: Bound::LONGEST, ..Transfer::zeroed() };
        Entry(self.index.find(key).unwrap_or_else(|| self.index.add(key, new())))
    }

    /// The same, to be added to from now on. None where there is no room for it: what is counted then is lost each time.
    pub fn entry(&self, key: [u64; 2]) -> Option<Entry> {
        self.find(key).or_else(|| {
            self.make(key);
            self.find(key)
        })
    }
}

/// One of this thread's counters.
#[derive(Clone, Copy)]
pub struct Entry(*mut Transfer);

impl Entry {
    /// Where a module may add operations and bytes.
    pub fn counted(self) -> *mut u64 {
        // SAFETY: the index holds addresses of live entries of this thread only.
        unsafe { &raw mut (*self.0).calls }
    }

    /// # Safety
    /// It came from [`Entry::counted`].
    #[inline(always)]
    pub unsafe fn of_counted(counted: *mut u64) -> Entry {
        // SAFETY: as demanded, that field is part of an entry.
        Entry(unsafe { counted.byte_sub(offset_of!(Transfer, calls)) }.cast())
    }

    #[inline(always)]
    pub fn add(self, bytes: u64, duration_ns: u64) {
        // SAFETY: the index holds addresses of live entries of this thread only.
        let entry = unsafe { &mut *self.0 };
        entry.calls += 1;
        entry.bytes = entry.bytes.wrapping_add(bytes);
        if duration_ns != AT_ONCE {
            entry.asynchronous += 1;
            entry.time_ns = entry.time_ns.wrapping_add(duration_ns);
            entry.time_min_ns = entry.time_min_ns.min(Bound::below(duration_ns));
            entry.time_max_ns = entry.time_max_ns.max(Bound::above(duration_ns));
        }
    }
}

// Modules add to these, by the address of the first.
const fn is_at(word: usize, offset: usize) -> bool {
    offset == offset_of!(Transfer, calls) + word * size_of::<u64>()
}
const _: () = assert!(is_at(1, offset_of!(Transfer, bytes)));
const _: () = assert!(is_at(2, offset_of!(Transfer, asynchronous)) && is_at(3, offset_of!(Transfer, time_ns)));
const _: () = assert!(is_at(4, offset_of!(Transfer, time_min_ns)));
const _: () = assert!(offset_of!(Transfer, time_max_ns) == offset_of!(Transfer, time_min_ns) + size_of::<u32>());
const _: () = assert!(commsee_hook::EXACT_NS == Bound::EXACT_BELOW);
