//! To whom a request belongs. A handle alone does not tell: libraries give one handle to several live requests (those that
//! are complete at once, in Open MPI and in MPICH) and give it again as soon as it is free. So the table holds an entry
//! per request that was started, several under one handle, oldest first, and one is taken out per completion.

use std::ffi::c_int;

use parking_lot::lock_api::RawMutex as _;
use vocabulary::calls::op;

use crate::abi::Word;
use crate::communicators::Record;
use crate::state;
use crate::thread::{self, Thread};

/// What remains to be done when a request completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: all was counted when it started.
    Plain,
    /// Count the receive in the bucket of the message that arrived.
    Receive,
    /// Add the bytes that arrived to the call's own bucket.
    ReceiveInto(u8),
    /// Enter the communicator that is now ready.
    Duplicate,
}

#[derive(Clone, Copy)]
pub struct Request {
    pub handle: Word,
    pub comm: Record,
    /// Duration of the call that started it.
    pub ticks: u64,
    /// The last look that counted this entry, so that entries with one handle are counted one by one.
    stamp: u64,
    /// Index of the further facts, or `NO_EXTRA`.
    extra: u32,
    pub operation: u16,
    pub kind: Kind,
    pub active: bool,
}

/// Facts that few requests have.
pub enum Extra {
    Persistent(Persistent),
    /// Where the program wants the handle, and the record that waits for it.
    Duplicate {
        place: Word,
        record: Record,
    },
}

/// What each start of a persistent request does.
#[derive(Clone)]
pub struct Persistent {
    pub sent: u64,
    pub received: u64,
    pub message_bytes: u64,
    /// Its bytes are known only when its message has arrived.
    pub receives: bool,
    /// Rank in the communicator, world rank and bytes of each message.
    pub messages: Box<[(c_int, u32, u64)]>,
}

const EMPTY: Word = Word::MAX;
const NO_EXTRA: u32 = u32::MAX;

impl Request {
    pub fn new(handle: Word, comm: Record, operation: u16, kind: Kind, ticks: u64) -> Request {
        Request { handle, comm, ticks, stamp: 0, extra: NO_EXTRA, operation, kind, active: true }
    }
}

/// The requests that one thread started. Locked only where several threads may call MPI at once.
pub struct Requests {
    lock: parking_lot::RawMutex,
    slots: Vec<Request>,
    shift: u32,
    taken: usize,
    extras: Vec<Option<Extra>>,
    free_extras: Vec<u32>,
}

/// One request as a completing call sees it.
#[derive(Clone, Copy)]
pub struct Seen {
    pub comm: Record,
    pub active: bool,
    pub receives: bool,
}

/// What a look finds under a handle, first among this thread's own requests. With a stamp, a further look with the same
/// stamp finds the next one under the same handle.
#[inline(always)]
pub fn seen(thread: &mut Thread, handle: Word, stamp: u64) -> Option<Seen> {
    match thread.requests.seen(handle, stamp) {
        Some(seen) => Some(seen),
        None => thread::ask_others(thread, |requests| requests.seen(handle, stamp)),
    }
}

/// The request of this handle has completed: its entry is taken out, or made inactive if it is persistent.
#[inline(always)]
pub fn complete(thread: &mut Thread, handle: Word) -> Option<(Request, Option<Extra>)> {
    match thread.requests.complete(handle) {
        Some(done) => Some(done),
        None => thread::ask_others(thread, |requests| requests.complete(handle)),
    }
}

/// `MPI_Request_free`.
pub fn forget(thread: &mut Thread, handle: Word) {
    if !thread.requests.forget(handle) {
        thread::ask_others(thread, |requests| requests.forget(handle).then_some(()));
    }
}

/// A persistent request is started by `operation`, which took so many ticks.
pub fn activate(thread: &mut Thread, handle: Word, operation: u16, ticks: u64) -> Option<(Record, Persistent)> {
    match thread.requests.activate(handle, operation, ticks) {
        Some(started) => Some(started),
        None => thread::ask_others(thread, |requests| requests.activate(handle, operation, ticks)),
    }
}

/// What remains to be done for an active request is changed.
pub fn set_kind(thread: &mut Thread, handle: Word, kind: Kind) {
    if thread.requests.set_kind(handle, kind).is_none() {
        thread::ask_others(thread, |requests| requests.set_kind(handle, kind));
    }
}

impl Requests {
    pub fn new() -> Requests {
        let mut requests = Requests {
            lock: parking_lot::RawMutex::INIT,
            slots: Vec::new(),
            shift: 0,
            taken: 0,
            extras: Vec::new(),
            free_extras: Vec::new(),
        };
        requests.resize(64);
        requests
    }

    pub fn start(&mut self, request: Request) {
        self.locked(|requests| requests.insert(request));
    }

    pub fn start_with(&mut self, mut request: Request, extra: Extra) {
        self.locked(|requests| {
            request.extra = match requests.free_extras.pop() {
                Some(free) => free,
                None => {
                    requests.extras.push(None);
                    requests.extras.len() as u32 - 1
                }
            };
            request.active = !matches!(extra, Extra::Persistent(_));
            requests.extras[request.extra as usize] = Some(extra);
            requests.insert(request);
        });
    }

    #[inline(always)]
    fn seen(&mut self, handle: Word, stamp: u64) -> Option<Seen> {
        self.locked(|requests| {
            let slot = requests.slot_of(handle, |request| stamp == 0 || request.stamp != stamp)?;
            let request = &mut requests.slots[slot];
            request.stamp = stamp;
            let receives = matches!(request.kind, Kind::Receive | Kind::ReceiveInto(_));
            Some(Seen { comm: request.comm, active: request.active, receives })
        })
    }

    #[inline(always)]
    fn complete(&mut self, handle: Word) -> Option<(Request, Option<Extra>)> {
        self.locked(|requests| {
            let slot = requests.slot_of(handle, |request| request.active)?;
            let request = requests.slots[slot];
            if request.extra == NO_EXTRA {
                requests.remove(slot);
                return Some((request, None));
            }
            if let Some(Some(Extra::Persistent(_))) = requests.extras.get(request.extra as usize) {
                requests.slots[slot].active = false;
                return Some((request, None));
            }
            Some((request, requests.remove_with_extra(slot)))
        })
    }

    fn forget(&mut self, handle: Word) -> bool {
        self.locked(|requests| match requests.slot_of(handle, |_| true) {
            Some(slot) => {
                requests.remove_with_extra(slot);
                true
            }
            None => false,
        })
    }

    fn set_kind(&mut self, handle: Word, kind: Kind) -> Option<()> {
        self.locked(|requests| {
            let slot = requests.slot_of(handle, |request| request.active)?;
            requests.slots[slot].kind = kind;
            Some(())
        })
    }

    fn activate(&mut self, handle: Word, operation: u16, ticks: u64) -> Option<(Record, Persistent)> {
        self.locked(|requests| {
            let slot = requests.slot_of(handle, |request| !request.active)?;
            let request = requests.slots[slot];
            let Some(Some(Extra::Persistent(persistent))) = requests.extras.get(request.extra as usize) else {
                return None;
            };
            let persistent = persistent.clone();
            let request = &mut requests.slots[slot];
            request.active = true;
            request.operation = operation;
            request.ticks = ticks;
            request.kind = match persistent.receives {
                false => Kind::Plain,
                true if operation == op::MPI_Start => Kind::Receive,
                true => Kind::ReceiveInto(0),
            };
            Some((request.comm, persistent))
        })
    }

    #[inline(always)]
    fn locked<T>(&mut self, work: impl FnOnce(&mut Requests) -> T) -> T {
        let threaded = state::is_threaded();
        if threaded {
            self.lock.lock();
        }
        let result = work(self);
        if threaded {
            // SAFETY: locked above.
            unsafe { self.lock.unlock() };
        }
        result
    }

    #[inline(always)]
    fn first_slot(&self, handle: Word) -> usize {
        ((handle as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// The first entry under a handle that is wanted; entries under one handle stand in the order of their starts.
    #[inline(always)]
    fn slot_of(&self, handle: Word, wanted: impl Fn(&Request) -> bool) -> Option<usize> {
        let mut slot = self.first_slot(handle);
        loop {
            let request = self.slots.get(slot)?;
            if request.handle == handle && wanted(request) {
                return Some(slot);
            }
            if request.handle == EMPTY {
                return None;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    #[inline(always)]
    fn insert(&mut self, request: Request) {
        if (self.taken + 1) * 2 > self.slots.len() {
            self.resize(self.slots.len() * 2);
        }
        self.place(request);
        self.taken += 1;
    }

    #[inline(always)]
    fn place(&mut self, request: Request) {
        let mut slot = self.first_slot(request.handle);
        while self.slots[slot].handle != EMPTY {
            slot = (slot + 1) & (self.slots.len() - 1);
        }
        self.slots[slot] = request;
    }

    /// Closes the gap by moving back what follows, which keeps the order of entries under one handle.
    #[inline(always)]
    fn remove(&mut self, slot: usize) {
        let mask = self.slots.len() - 1;
        let (mut hole, mut next) = (slot, (slot + 1) & mask);
        while self.slots[next].handle != EMPTY {
            let home = self.first_slot(self.slots[next].handle);
            if next.wrapping_sub(home) & mask >= next.wrapping_sub(hole) & mask {
                self.slots[hole] = self.slots[next];
                hole = next;
            }
            next = (next + 1) & mask;
        }
        self.slots[hole].handle = EMPTY;
        self.taken -= 1;
    }

    fn remove_with_extra(&mut self, slot: usize) -> Option<Extra> {
        let extra = self.slots[slot].extra;
        self.remove(slot);
        let removed = self.extras.get_mut(extra as usize)?.take();
        self.free_extras.push(extra);
        removed
    }

    #[cold]
    fn resize(&mut self, slots: usize) {
        let empty = Request::new(EMPTY, std::ptr::null_mut(), 0, Kind::Plain, 0);
        let old = std::mem::replace(&mut self.slots, vec![empty; slots]);
        self.shift = 64 - slots.trailing_zeros();
        // Starting behind a gap keeps the order of entries under one handle, also of those that wrap around the end.
        let start = old.iter().position(|request| request.handle == EMPTY).unwrap_or(0);
        let (before, behind) = old.split_at(start);
        behind.iter().chain(before).filter(|request| request.handle != EMPTY).for_each(|request| self.place(*request));
    }
}
