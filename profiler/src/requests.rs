//! To whom a request belongs. A handle alone does not tell: libraries give one handle to several live requests (those that
//! are complete at once, in Open MPI and in MPICH) and give it again as soon as it is free. So under each handle stands a
//! queue of the requests that were started, oldest first, and one is taken out per completion.

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use commsee_runtime::table::{self, Owned};
use vocabulary::calls::op;
use vocabulary::shard::NO_PHASE;

use crate::abi::Word;
use crate::communicators::Record;
use crate::memory;
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
    pub messages: Arc<[(c_int, u32, u64)]>,
    /// Number and bytes of each datatype argument, where they are recorded.
    pub datatypes: Arc<[(u32, u64)]>,
    /// The phase of the start that is being counted.
    pub phase: u8,
    /// Of what it sends, where there is a timeline.
    pub tag: Option<c_int>,
}

const FIRST_SLOTS: usize = 64;
const EMPTY: Word = Word::MAX;
/// No index.
const NOWHERE: u32 = u32::MAX;

impl Request {
    pub const fn new(handle: Word, comm: Record, operation: u16, kind: Kind, ticks: u64) -> Request {
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
    /// How many requests were entered so far. Read by other threads, without the lock.
    entered: AtomicU32,
    table: Serial<Table>,
}

struct Table {
    slots: Owned<Slot>,
    /// Requests behind the first of their handle, each with the place of the next one.
    queued: Vec<(Request, u32)>,
    /// The first of those that are free, each with the place of the next one.
    free_queued: u32,
    extras: Vec<Option<Extra>>,
    /// As many places as there are extras, so that what becomes free finds room.
    free_extras: Vec<u32>,
}

// SAFETY: what slots point to is never freed.
unsafe impl Send for Table {}

impl table::Slot for Slot {
    const EMPTY: Slot = Slot {
        request: Request::new(EMPTY, std::ptr::null_mut(), 0, Kind::Plain, 0),
        stamp: 0,
        cursor: NOWHERE,
        first: NOWHERE,
        last: NOWHERE,
    };
    const KEY_FIRST: bool = true;

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.request.handle == EMPTY
    }

    #[inline(always)]
    fn clear(&mut self) {
        self.request.handle = EMPTY;
    }
}

/// `place` comes from [`Table::slot_of`], and nothing was put in or removed since.
#[inline(always)]
fn at(slots: &mut Owned<Slot>, place: usize) -> &mut Slot {
    // SAFETY: so it was found there, and the table is borrowed as long as the slot.
    unsafe { &mut *slots.at(place) }
}

#[inline(always)]
fn hash_of(slot: &Slot) -> u64 {
    table::hash(slot.request.handle as u64)
}

/// Handles that a thread asked for and that no thread knew, each with how many requests all threads had entered by then: generalized
/// requests, say, which a program polls. As long as nobody enters another one, nobody is asked again.
pub struct Unknown([Cell<(Word, u64)>; UNKNOWN]);

const UNKNOWN: usize = 16;

impl Unknown {
    pub const fn none() -> Unknown {
        Unknown([const { Cell::new((EMPTY, 0)) }; UNKNOWN])
    }

    fn place(&self, handle: Word) -> &Cell<(Word, u64)> {
        &self.0[(handle ^ handle >> 4 ^ handle >> 8) % UNKNOWN]
    }
}

/// What a thread answers that is asked for a request.
enum Given {
    Request(Request, Option<Extra>),
    /// It may know one, but is completing it just now.
    Busy,
    Unknown,
}

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
pub fn seen(thread: &Thread, handle: Word, stamp: u64) -> Option<Seen> {
    match thread.requests().seen(handle, stamp) {
        Some(seen) => Some(seen),
        None => take_over(thread, handle, stamp),
    }
}

#[cold]
#[inline(never)]
fn take_over(thread: &Thread, handle: Word, stamp: u64) -> Option<Seen> {
    let others = || thread::others(thread);
    others().next()?;
    // A request that this thread may ask for was entered before its program knew of it, and so is among these.
    let entered =
        others().fold(0u64, |sum, requests| sum.wrapping_add(requests.entered.load(Ordering::Acquire).into()));
    let place = thread.unknown.place(handle);
    if place.get() == (handle, entered) {
        return None;
    }
    let mut is_unknown = true;
    for requests in others() {
        match requests.give(handle) {
            Given::Request(request, extra) => {
                let seen = Seen::of(&request);
                thread.requests().adopt(request, extra, stamp);
                return Some(seen);
            }
            Given::Busy => is_unknown = false,
            Given::Unknown => {}
        }
    }
    if is_unknown {
        place.set((handle, entered));
    }
    None
}

/// The completing call that looked has ended, and what it completed has been taken out.
#[inline(always)]
pub fn looked(thread: &Thread) {
    thread.requests().looking.store(0, Ordering::Release);
}

/// The request of this handle, which this thread has looked at, has completed: its entry is taken out, or made inactive if it
/// is persistent.
#[inline(always)]
pub fn complete(thread: &Thread, handle: Word) -> Option<Completed> {
    thread.requests().complete(handle)
}

/// `MPI_Request_free` of a request that this thread has looked at.
pub fn forget(thread: &Thread, handle: Word) {
    thread.requests().forget(handle);
}

/// A persistent request that this thread has looked at is started by `operation`, which took so many ticks.
pub fn activate(thread: &Thread, handle: Word, operation: u16, ticks: u64) -> Option<(Record, Persistent)> {
    thread.requests().activate(handle, operation, ticks)
}

/// What is known of a partitioned request. It stays where it is: several threads may mark its partitions at the same time.
pub fn partition(thread: &Thread, handle: Word) -> Option<Partition> {
    let own = thread.requests().partition(handle);
    own.or_else(|| thread::others(thread).find_map(|requests| requests.partition(handle)))
}

/// What remains to be done for an active request is changed.
pub fn set_kind(thread: &Thread, handle: Word, kind: Kind) {
    thread.requests().set_kind(handle, kind);
}

impl Requests {
    /// None where there is no memory for it.
    pub fn new() -> Option<Requests> {
        let table = Table {
            slots: Owned::new(FIRST_SLOTS)?,
            queued: Vec::new(),
            free_queued: NOWHERE,
            extras: Vec::new(),
            free_extras: Vec::new(),
        };
        Some(Requests { looking: AtomicU64::new(0), entered: AtomicU32::new(0), table: Serial::new(table) })
    }

    /// Enters a request. What finds no room is not followed.
    #[inline(always)]
    fn enter(&self, requests: &mut Table, request: Request) {
        requests.insert(request);
        self.entered.store(self.entered.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    #[inline(always)]
    pub fn start(&self, request: Request) {
        self.table.with(|requests| self.enter(requests, request));
    }

    pub fn start_with(&self, mut request: Request, extra: Extra) {
        self.table.with(|requests| {
            request.active = !matches!(extra, Extra::Persistent(_));
            match requests.keep_extra(extra) {
                Some(place) => request.extra = place,
                None => return memory::lose_call(),
            }
            self.enter(requests, request);
        });
    }

    #[inline(always)]
    fn seen(&self, handle: Word, stamp: u64) -> Option<Seen> {
        self.table.with(|requests| {
            self.looking.store(stamp, Ordering::Relaxed);
            let slot = requests.slot_of(handle)?;
            let slot = at(&mut requests.slots, slot);
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
                at(&mut requests.slots, slot).request;
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
                let extra = at(&mut requests.slots, slot).request.extra;
                requests.remove_first(slot);
                requests.take_extra(extra);
            }
        });
    }

    fn set_kind(&self, handle: Word, kind: Kind) -> Option<()> {
        self.table.with(|requests| {
            let slot = requests.slot_of(handle)?;
            at(&mut requests.slots, slot).request.kind = kind;
            Some(())
        })
    }

    fn activate(&self, handle: Word, operation: u16, ticks: u64) -> Option<(Record, Persistent)> {
        self.table.with(|requests| {
            let slot = requests.slot_of(handle)?;
            let request = &mut at(&mut requests.slots, slot).request;
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
            let Request { comm, extra, .. } = at(&mut requests.slots, slot).request;
            let Some(Some(Extra::Persistent(persistent))) = requests.extras.get(extra as usize) else { return None };
            let destination = persistent.messages.first().map(|(rank, world_rank, _)| (*rank, *world_rank));
            Some(Partition { comm, bytes: persistent.message_bytes, destination })
        })
    }

    /// The oldest request of a handle is handed to another thread, but none that the owner is completing just now: the
    /// library may already have given its handle to the request that the other thread asks for.
    fn give(&self, handle: Word) -> Given {
        self.table.with(|requests| {
            let Some(place) = requests.slot_of(handle) else { return Given::Unknown };
            let slot = *at(&mut requests.slots, place);
            let request = if slot.stamp != 0 && slot.stamp == self.looking.load(Ordering::Acquire) {
                match requests.take_unseen(place) {
                    Some(request) => request,
                    None => return Given::Busy,
                }
            } else {
                requests.remove_first(place);
                slot.request
            };
            let extra = requests.extras.get_mut(request.extra as usize).and_then(Option::take);
            if extra.is_some() {
                requests.free_extras.push(request.extra);
            }
            Given::Request(request, extra)
        })
    }

    /// Takes a request over from another thread, as one that the look with this stamp has seen.
    fn adopt(&self, mut request: Request, extra: Option<Extra>, stamp: u64) {
        self.table.with(|requests| {
            if let Some(extra) = extra {
                match requests.keep_extra(extra) {
                    Some(place) => request.extra = place,
                    None => return memory::lose_call(),
                }
            }
            let handle = request.handle;
            self.enter(requests, request);
            if let Some(slot) = requests.slot_of(handle) {
                let slot = at(&mut requests.slots, slot);
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
        let extra = at(&mut self.slots, slot).request.extra;
        match self.extras.get(extra as usize) {
            Some(Some(Extra::Duplicate { place, record })) => {
                completed.duplicate = (*place, *record);
                self.remove_first(slot);
                self.take_extra(extra);
            }
            _ => at(&mut self.slots, slot).request.active = false,
        }
    }

    #[inline(always)]
    fn slot_of(&self, handle: Word) -> Option<usize> {
        self.slots.find(table::hash(handle as u64), |slot| slot.request.handle == handle)
    }

    #[inline(always)]
    fn insert(&mut self, request: Request) {
        let handle = request.handle;
        match self.slots.find_or_vacant(table::hash(handle as u64), |slot| slot.request.handle == handle) {
            Ok(slot) => self.queue(slot, request),
            Err(vacant) => {
                let slot = Slot { request, stamp: 0, cursor: NOWHERE, first: NOWHERE, last: NOWHERE };
                // SAFETY: found just now.
                if unsafe { self.slots.put(vacant, slot) } {
                    self.make_room(vacant);
                }
            }
        }
    }

    /// The request at `latest` has made the table fuller than it should be.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, latest: usize) {
        // SAFETY: put there just now.
        unsafe {
            let extra = (*self.slots.at(latest)).request.extra;
            if !self.slots.keeps(latest, hash_of) {
                self.take_extra(extra);
                memory::lose_call();
            }
        }
    }

    fn queue(&mut self, slot: usize, request: Request) {
        let place = match self.queued.get_mut(self.free_queued as usize) {
            Some(free) => {
                let place = self.free_queued;
                self.free_queued = free.1;
                *free = (request, NOWHERE);
                place
            }
            None => {
                if self.queued.try_reserve(1).is_err() {
                    return memory::lose_call();
                }
                self.queued.push((request, NOWHERE));
                self.queued.len() as u32 - 1
            }
        };
        let slot = at(&mut self.slots, slot);
        match self.queued.get_mut(slot.last as usize) {
            Some(last) => last.1 = place,
            None => slot.first = place,
        }
        slot.last = place;
    }

    fn free_queued(&mut self, place: u32) {
        if let Some(free) = self.queued.get_mut(place as usize) {
            free.1 = self.free_queued;
            self.free_queued = place;
        }
    }

    /// Takes the oldest request of a handle out. The next one takes its place.
    #[inline(always)]
    fn remove_first(&mut self, slot: usize) {
        let first = at(&mut self.slots, slot).first;
        if first != NOWHERE {
            return self.advance(slot, first);
        }
        // SAFETY: found by `slot_of`, and nothing was put in or removed since.
        unsafe { self.slots.remove(slot, hash_of) };
    }

    fn advance(&mut self, slot: usize, first: u32) {
        let Some((request, next)) = self.queued.get(first as usize).copied() else { return };
        self.free_queued(first);
        let slot = at(&mut self.slots, slot);
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
    fn take_unseen(&mut self, slot: usize) -> Option<Request> {
        let slot = at(&mut self.slots, slot);
        let taken = slot.cursor;
        let (request, next) = *self.queued.get(taken as usize)?;
        let mut before = NOWHERE;
        if slot.first == taken {
            slot.first = next;
        } else {
            before = slot.first;
            while self.queued.get(before as usize)?.1 != taken {
                before = self.queued.get(before as usize)?.1;
            }
            self.queued.get_mut(before as usize)?.1 = next;
        }
        if slot.last == taken {
            slot.last = before;
        }
        slot.cursor = next;
        self.free_queued(taken);
        Some(request)
    }

    /// None where there is no memory for it.
    fn keep_extra(&mut self, extra: Extra) -> Option<u32> {
        if let Some(free) = self.free_extras.pop() {
            *self.extras.get_mut(free as usize)? = Some(extra);
            return Some(free);
        }
        self.extras.try_reserve(1).ok()?;
        self.free_extras.try_reserve(self.extras.len() + 1).ok()?;
        self.extras.push(Some(extra));
        Some(self.extras.len() as u32 - 1)
    }

    fn take_extra(&mut self, place: u32) {
        if let Some(extra) = self.extras.get_mut(place as usize) {
            *extra = None;
            self.free_extras.push(place);
        }
    }
}
