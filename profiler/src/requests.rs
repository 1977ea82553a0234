//! To whom a request belongs. A handle alone does not tell: libraries give one handle to several live requests (those that
//! are complete at once, in Open MPI and in MPICH) and give it again as soon as it is free. So under each handle stands a
//! queue of the requests that were started, oldest first, and one is taken out per completion.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

use vocabulary::calls::op;
use vocabulary::shard::NO_PHASE;

use crate::abi::Word;
use crate::communicators::Record;
use crate::phases;
use crate::serial::Serial;
use crate::thread::{self, Thread};
use crate::trace;
use crate::wrappers::Late;

/// What remains to be done when a request completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: all was counted when it started.
    Plain,
    /// Count the receive in the bucket of the message that arrived.
    Receive,
    /// Add the bytes that arrived to the call's own bucket.
    ReceiveInto(u8),
    /// The same for what was read from a file.
    Read(u8),
    /// Enter the communicator that is now ready.
    Duplicate,
}

#[derive(Clone, Copy)]
pub struct Request {
    pub handle: Word,
    pub comm: Record,
    /// Duration of the call that started it.
    pub ticks: u64,
    /// Index of the further facts, or `NOWHERE`.
    extra: u32,
    pub operation: u16,
    pub kind: Kind,
    /// The phase that it was started in.
    pub phase: u8,
    pub active: bool,
    /// The number of a receive on the timeline.
    pub posted: u32,
}

/// What a completed request leaves to be done.
#[derive(Clone, Copy)]
pub struct Completed {
    pub comm: Record,
    pub ticks: u64,
    pub operation: u16,
    pub kind: Kind,
    pub phase: u8,
    pub posted: u32,
    /// For `Kind::Duplicate`: where the program wants the handle, and the record that waits for it.
    pub duplicate: (Late, Record),
}

/// Facts that few requests have.
pub enum Extra {
    Persistent(Persistent),
    /// Where the program wants the handle, and the record that waits for it.
    Duplicate {
        place: Late,
        record: Record,
    },
}

/// What the start of a persistent request brings with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// All its bytes and messages.
    Sends,
    /// Bytes that are known only when its message has arrived.
    Receives,
    /// Nothing: each partition is a message of its own when it is ready.
    Partitions,
}

/// What is known of each partition of a partitioned request.
#[derive(Clone, Copy)]
pub struct Partition {
    pub comm: Record,
    pub bytes: u64,
    /// Rank in the communicator and world rank of the receiver, if there is one.
    pub destination: Option<(c_int, u32)>,
}

/// What each start of a persistent request does.
#[derive(Clone)]
pub struct Persistent {
    pub sent: u64,
    pub received: u64,
    /// Of the message, or of a partition.
    pub message_bytes: u64,
    pub starts: Starts,
    /// Rank in the communicator, world rank and bytes of each message.
    pub messages: Box<[(c_int, u32, u64)]>,
    /// Number and bytes of each datatype argument, where they are recorded.
    pub datatypes: Box<[(u32, u64)]>,
    /// The phase of the start that is being counted.
    pub phase: u8,
    /// Of what it sends, where there is a timeline.
    pub tag: Option<c_int>,
}

const EMPTY: Word = Word::MAX;
/// No index.
const NOWHERE: u32 = u32::MAX;

impl Request {
    pub fn new(handle: Word, comm: Record, operation: u16, kind: Kind, ticks: u64) -> Request {
        Request { handle, comm, ticks, extra: NOWHERE, operation, kind, phase: NO_PHASE, active: true, posted: 0 }
    }
}

/// The oldest request of a handle, and the queue of those behind it.
#[derive(Clone, Copy)]
struct Slot {
    request: Request,
    /// The last look that passed here, and where in the queue its next one goes on: so a call that names one handle
    /// several times sees one request after the other.
    stamp: u64,
    cursor: u32,
    /// First and last place in `Requests::queued`.
    first: u32,
    last: u32,
}

/// The requests that one thread started, and those of other threads that it has looked at since. Locked only where several
/// threads may call MPI at once.
pub struct Requests {
    /// The look of the completing call that the owner is in, or 0.
    looking: AtomicU64,
    table: Serial<Table>,
}

/// Open addressing with at most half of the places taken.
struct Table {
    /// `mask + 1` slots, a power of two, at least half of them empty: what is masked can be read without a test.
    slots: *mut Slot,
    mask: usize,
    shift: u32,
    taken: usize,
    /// Requests behind the first of their handle, each with the place of the next one.
    queued: Vec<(Request, u32)>,
    free_queued: Vec<u32>,
    extras: Vec<Option<Extra>>,
    free_extras: Vec<u32>,
}

// SAFETY: the slots are the table's own.
unsafe impl Send for Table {}

/// One request as a completing call sees it.
#[derive(Clone, Copy)]
pub struct Seen {
    pub comm: Record,
    pub active: bool,
    pub receives: bool,
}

impl Seen {
    #[inline(always)]
    fn of(request: &Request) -> Seen {
        let receives = matches!(request.kind, Kind::Receive | Kind::ReceiveInto(_) | Kind::Read(_));
        Seen { comm: request.comm, active: request.active, receives }
    }
}

/// What a look finds under a handle. With a stamp, what was seen is this thread's until `looked`, and a further look with the same stamp finds the next one under the same handle.
/// A request that another thread started moves to this one: when it has completed its handle may be given to a third
/// thread's request at once, and looking among all threads would take that one for it.
#[inline(always)]
pub fn seen(thread: &mut Thread, handle: Word, stamp: u64) -> Option<Seen> {
    match thread.requests.seen(handle, stamp) {
        Some(seen) => Some(seen),
        None => take_over(thread, handle, stamp),
    }
}

#[cold]
fn take_over(thread: &mut Thread, handle: Word, stamp: u64) -> Option<Seen> {
    let (request, extra) = thread::ask_others(thread, |requests| requests.give(handle))?;
    let seen = Seen::of(&request);
    thread.requests.adopt(request, extra, stamp);
    Some(seen)
}

/// The completing call that looked has ended, and what it completed has been taken out.
#[inline(always)]
pub fn looked(thread: &mut Thread) {
    thread.requests.looking.store(0, Ordering::Release);
}

/// The request of this handle, which this thread has looked at, has completed: its entry is taken out, or made inactive if it
/// is persistent.
#[inline(always)]
pub fn complete(thread: &mut Thread, handle: Word) -> Option<Completed> {
    thread.requests.complete(handle)
}

/// `MPI_Request_free` of a request that this thread has looked at.
pub fn forget(thread: &mut Thread, handle: Word) {
    thread.requests.forget(handle);
}

/// A persistent request that this thread has looked at is started by `operation`, which took so many ticks.
pub fn activate(thread: &mut Thread, handle: Word, operation: u16, ticks: u64) -> Option<(Record, Persistent)> {
    thread.requests.activate(handle, operation, ticks)
}

/// What is known of a partitioned request. It stays where it is: several threads may mark its partitions at the same time.
pub fn partition(thread: &Thread, handle: Word) -> Option<Partition> {
    let own = thread.requests.partition(handle);
    own.or_else(|| thread::ask_others(thread, |requests| requests.partition(handle)))
}

/// What remains to be done for an active request is changed.
pub fn set_kind(thread: &mut Thread, handle: Word, kind: Kind) {
    thread.requests.set_kind(handle, kind);
}

impl Requests {
    pub fn new() -> Requests {
        let mut table = Table {
            slots: std::ptr::null_mut(),
            mask: 0,
            shift: 0,
            taken: 0,
            queued: Vec::new(),
            free_queued: Vec::new(),
            extras: Vec::new(),
            free_extras: Vec::new(),
        };
        table.resize(64);
        Requests { looking: AtomicU64::new(0), table: Serial::new(table) }
    }

    #[inline(always)]
    pub fn start(&self, request: Request) {
        self.table.with(|requests| requests.insert(request));
    }

    pub fn start_with(&self, mut request: Request, extra: Extra) {
        self.table.with(|requests| {
            request.active = !matches!(extra, Extra::Persistent(_));
            request.extra = requests.keep_extra(extra);
            requests.insert(request);
        });
    }

    #[inline(always)]
    fn seen(&self, handle: Word, stamp: u64) -> Option<Seen> {
        self.table.with(|requests| {
            self.looking.store(stamp, Ordering::Relaxed);
            let slot = requests.slot_of(handle)?;
            let slot = requests.slot(slot);
            let request = if stamp == 0 || slot.stamp != stamp {
                (slot.stamp, slot.cursor) = (stamp, slot.first);
                &slot.request
            } else {
                let (request, next) = requests.queued.get(slot.cursor as usize)?;
                slot.cursor = *next;
                request
            };
            Some(Seen::of(request))
        })
    }

    #[inline(always)]
    fn complete(&self, handle: Word) -> Option<Completed> {
        self.table.with(|requests| {
            let slot = requests.slot_of(handle)?;
            let Request { comm, ticks, operation, kind, phase, posted, active, extra, .. } =
                requests.slot(slot).request;
            if !active {
                return None;
            }
            let mut completed =
                Completed { comm, ticks, operation, kind, phase, posted, duplicate: (Late::C(0), comm) };
            if extra == NOWHERE {
                requests.remove_first(slot);
            } else {
                requests.complete_with_extra(slot, &mut completed);
            }
            Some(completed)
        })
    }

    fn forget(&self, handle: Word) {
        self.table.with(|requests| {
            if let Some(slot) = requests.slot_of(handle) {
                let extra = requests.slot(slot).request.extra;
                requests.remove_first(slot);
                requests.take_extra(extra);
            }
        });
    }

    fn set_kind(&self, handle: Word, kind: Kind) -> Option<()> {
        self.table.with(|requests| {
            let slot = requests.slot_of(handle)?;
            requests.slot(slot).request.kind = kind;
            Some(())
        })
    }

    fn activate(&self, handle: Word, operation: u16, ticks: u64) -> Option<(Record, Persistent)> {
        self.table.with(|requests| {
            let slot = requests.slot_of(handle)?;
            let request = &mut requests.slot(slot).request;
            let Some(Some(Extra::Persistent(persistent))) = requests.extras.get(request.extra as usize) else {
                return None;
            };
            request.active = true;
            request.operation = operation;
            request.ticks = ticks;
            request.phase = phases::current();
            request.posted = if trace::is_on() { trace::posted() } else { 0 };
            request.kind = match persistent.starts {
                Starts::Sends | Starts::Partitions => Kind::Plain,
                Starts::Receives if operation == op::MPI_Start => Kind::Receive,
                Starts::Receives => Kind::ReceiveInto(0),
            };
            Some((request.comm, Persistent { phase: request.phase, ..persistent.clone() }))
        })
    }

    fn partition(&self, handle: Word) -> Option<Partition> {
        self.table.with(|requests| {
            let slot = requests.slot_of(handle)?;
            let Request { comm, extra, .. } = requests.slot(slot).request;
            let Some(Some(Extra::Persistent(persistent))) = requests.extras.get(extra as usize) else { return None };
            let destination = persistent.messages.first().map(|(rank, world_rank, _)| (*rank, *world_rank));
            Some(Partition { comm, bytes: persistent.message_bytes, destination })
        })
    }

    /// The oldest request of a handle is handed to another thread, but none that the owner is completing just now: the
    /// library may already have given its handle to the request that the other thread asks for.
    fn give(&self, handle: Word) -> Option<(Request, Option<Extra>)> {
        self.table.with(|requests| {
            let place = requests.slot_of(handle)?;
            let slot = requests.slot(place);
            let request = if slot.stamp != 0 && slot.stamp == self.looking.load(Ordering::Acquire) {
                requests.take_unseen(slot)?
            } else {
                let request = slot.request;
                requests.remove_first(place);
                request
            };
            let extra = requests.extras.get_mut(request.extra as usize).and_then(Option::take);
            if extra.is_some() {
                requests.free_extras.push(request.extra);
            }
            Some((request, extra))
        })
    }

    /// Takes a request over from another thread, as one that the look with this stamp has seen.
    fn adopt(&self, mut request: Request, extra: Option<Extra>, stamp: u64) {
        self.table.with(|requests| {
            if let Some(extra) = extra {
                request.extra = requests.keep_extra(extra);
            }
            let handle = request.handle;
            requests.insert(request);
            if let Some(slot) = requests.slot_of(handle) {
                let slot = requests.slot(slot);
                if slot.stamp != stamp {
                    (slot.stamp, slot.cursor) = (stamp, slot.first);
                }
            }
        });
    }
}

impl Table {
    #[cold]
    fn complete_with_extra(&mut self, slot: usize, completed: &mut Completed) {
        let extra = self.slot(slot).request.extra;
        match self.extras.get(extra as usize) {
            Some(Some(Extra::Duplicate { place, record })) => {
                completed.duplicate = (*place, *record);
                self.remove_first(slot);
                self.take_extra(extra);
            }
            _ => self.slot(slot).request.active = false,
        }
    }

    #[inline(always)]
    fn first_slot(&self, handle: Word) -> usize {
        ((handle as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// `slot` comes from `first_slot` or is masked.
    #[inline(always)]
    fn slot(&self, slot: usize) -> &'static mut Slot {
        // SAFETY: the table has `mask + 1` slots, and is only replaced by `resize`, across which no slot is kept.
        unsafe { &mut *self.slots.add(slot) }
    }

    #[inline(always)]
    fn slot_of(&self, handle: Word) -> Option<usize> {
        let mut slot = self.first_slot(handle);
        loop {
            let found = self.slot(slot).request.handle;
            if found == handle {
                return Some(slot);
            }
            if found == EMPTY {
                return None;
            }
            slot = (slot + 1) & self.mask;
        }
    }

    #[inline(always)]
    fn insert(&mut self, request: Request) {
        let mut place = self.first_slot(request.handle);
        loop {
            let slot = self.slot(place);
            if slot.request.handle == EMPTY {
                *slot = Slot { request, stamp: 0, cursor: NOWHERE, first: NOWHERE, last: NOWHERE };
                break;
            }
            if slot.request.handle == request.handle {
                return self.queue(place, request);
            }
            place = (place + 1) & self.mask;
        }
        self.taken += 1;
        if self.taken * 2 > self.mask {
            self.resize((self.mask + 1) * 2);
        }
    }

    fn queue(&mut self, slot: usize, request: Request) {
        let place = match self.free_queued.pop() {
            Some(free) => {
                self.queued[free as usize] = (request, NOWHERE);
                free
            }
            None => {
                self.queued.push((request, NOWHERE));
                self.queued.len() as u32 - 1
            }
        };
        let slot = self.slot(slot);
        match self.queued.get_mut(slot.last as usize) {
            Some(last) => last.1 = place,
            None => slot.first = place,
        }
        slot.last = place;
    }

    /// Takes the oldest request of a handle out. The next one takes its place; without one the gap is closed by moving
    /// back what follows.
    #[inline(always)]
    fn remove_first(&mut self, slot: usize) {
        let first = self.slot(slot).first;
        if first != NOWHERE {
            return self.advance(slot, first);
        }
        let (mut hole, mut next) = (slot, (slot + 1) & self.mask);
        while self.slot(next).request.handle != EMPTY {
            let home = self.first_slot(self.slot(next).request.handle);
            if next.wrapping_sub(home) & self.mask >= next.wrapping_sub(hole) & self.mask {
                *self.slot(hole) = *self.slot(next);
                hole = next;
            }
            next = (next + 1) & self.mask;
        }
        self.slot(hole).request.handle = EMPTY;
        self.taken -= 1;
    }

    fn advance(&mut self, slot: usize, first: u32) {
        let (request, next) = self.queued[first as usize];
        self.free_queued.push(first);
        let slot = self.slot(slot);
        if slot.cursor == first {
            // No look has seen what is in front now.
            slot.stamp = 0;
        }
        (slot.request, slot.first) = (request, next);
        if next == NOWHERE {
            slot.last = NOWHERE;
        }
    }

    /// Takes the first request behind those that the latest look has seen out of a queue.
    fn take_unseen(&mut self, slot: &mut Slot) -> Option<Request> {
        let taken = slot.cursor;
        let (request, next) = *self.queued.get(taken as usize)?;
        let mut before = NOWHERE;
        if slot.first == taken {
            slot.first = next;
        } else {
            before = slot.first;
            while self.queued[before as usize].1 != taken {
                before = self.queued[before as usize].1;
            }
            self.queued[before as usize].1 = next;
        }
        if slot.last == taken {
            slot.last = before;
        }
        slot.cursor = next;
        self.free_queued.push(taken);
        Some(request)
    }

    fn keep_extra(&mut self, extra: Extra) -> u32 {
        match self.free_extras.pop() {
            Some(free) => {
                self.extras[free as usize] = Some(extra);
                free
            }
            None => {
                self.extras.push(Some(extra));
                self.extras.len() as u32 - 1
            }
        }
    }

    fn take_extra(&mut self, place: u32) {
        if let Some(extra) = self.extras.get_mut(place as usize) {
            *extra = None;
            self.free_extras.push(place);
        }
    }

    #[cold]
    fn resize(&mut self, slots: usize) {
        let request = Request::new(EMPTY, std::ptr::null_mut(), 0, Kind::Plain, 0);
        let empty = Slot { request, stamp: 0, cursor: NOWHERE, first: NOWHERE, last: NOWHERE };
        let new: Box<[Slot]> = vec![empty; slots].into();
        let old = std::ptr::slice_from_raw_parts_mut(self.slots, self.mask + 1);
        (self.slots, self.mask, self.shift) = (Box::into_raw(new).cast(), slots - 1, 64 - slots.trailing_zeros());
        if old.cast::<Slot>().is_null() {
            return;
        }
        // SAFETY: the old table came from a box of this length, and nobody else refers to it.
        let old = unsafe { Box::from_raw(old) };
        for moved in old.iter().filter(|slot| slot.request.handle != EMPTY) {
            let mut slot = self.first_slot(moved.request.handle);
            while self.slot(slot).request.handle != EMPTY {
                slot = (slot + 1) & self.mask;
            }
            *self.slot(slot) = *moved;
        }
    }
}
