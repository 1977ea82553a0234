//! To whom a request belongs. A handle alone does not tell: libraries give one handle to several live requests (those that
//! are complete at once, in Open MPI and in MPICH) and give it again as soon as it is free. So under each handle stands a
//! queue of the requests that were started, oldest first, and one is taken out per completion.

mod request;
pub mod site;
pub mod table;

use std::cell::Cell;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::{iter, ptr};

use vocabulary::calls::op;
use vocabulary::shard::Cell as Counters;

use crate::guest::serial::Serial;
use crate::mpi::abi::Word;
use crate::objects::records::Record;
use crate::objects::shortcuts::{self, Shortcut};
use crate::shard::memory;
use crate::sites;

use request::NOWHERE;
pub use request::{Completed, Extra, HandleAddress, Kind, Partition, Persistent, Request, Starts, State, receives};
use table::{EMPTY, Slot, Table, at};

/// The requests that one thread started, and those of other threads that it has looked at since. Locked only where several
/// threads may call MPI at once.
pub struct Requests {
    /// The look of the completing call that the owner is in, or 0.
    looking: AtomicU64,
    /// How many requests were entered so far. Read by other threads, without the lock.
    entered: AtomicU32,
    table: Serial<Table>,
    /// Those of the thread that came next, once there is one.
    next: AtomicPtr<Requests>,
}

/// Those of the first of all threads that ever called MPI while recording: each knows the next. They are never freed, so nobody needs
/// a lock to go through them.
static FIRST: AtomicPtr<Requests> = AtomicPtr::new(ptr::null_mut());

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
    pub kind: Kind,
    /// Where it was seen: looking there again costs a comparison.
    slot: u32,
}

impl Seen {
    #[inline(always)]
    fn of(request: &Request) -> Seen {
        let active = request.state == State::Active;
        Seen { comm: request.comm, active, kind: request.kind, slot: NOWHERE }
    }
}

/// A request that a call was given.
#[derive(Clone, Copy)]
pub struct Noted {
    pub handle: Word,
    slot: u32,
    /// Its place in the array that the call was given.
    pub index: u32,
}

impl Noted {
    #[inline(always)]
    pub fn at(handle: Word, slot: u32, index: usize) -> Noted {
        Noted { handle, slot, index: index as u32 }
    }

    #[inline(always)]
    pub fn new(handle: Word, seen: &Seen, index: usize) -> Noted {
        Noted { handle, slot: seen.slot, index: index as u32 }
    }
}

/// What a look finds under a handle. With a stamp, what was seen is this thread's until `looked`, and a further look with the same stamp finds the next one under the same handle.
/// A request that another thread started moves to this one: when it has completed its handle may be given to a third
/// thread's request at once, and looking among all threads would take that one for it.
#[inline(always)]
pub fn seen(own: &Requests, unknown: &Unknown, handle: Word, stamp: u64) -> Option<Seen> {
    match own.seen_simply(handle, stamp) {
        Some(seen) => Some(seen),
        None => own.seen_otherwise(unknown, handle, stamp),
    }
}

/// A table that no lock is needed for.
pub struct Alone<'a>(&'a mut Table);

impl Alone<'_> {
    /// Where a handle has its slot.
    #[inline(always)]
    pub fn place_of(&self, handle: Word) -> Option<u32> {
        self.0.slot_of(handle).map(|place| place as u32)
    }

    /// `place` comes from `place_of`.
    #[inline(always)]
    pub fn slot(&mut self, place: u32) -> &mut Slot {
        at(&mut self.0.slots, place as usize)
    }
}

impl Requests {
    /// None where there is no memory for it.
    pub fn new() -> Option<Requests> {
        Some(Requests {
            looking: AtomicU64::new(0),
            entered: AtomicU32::new(0),
            table: Serial::new(Table::new()?),
            next: AtomicPtr::new(ptr::null_mut()),
        })
    }

    /// A new thread's requests become known to all others. One thread at a time may do so.
    pub fn join(&'static self) {
        let mut end = &FIRST;
        // SAFETY: requests of threads are never freed.
        while let Some(requests) = unsafe { end.load(Ordering::Acquire).as_ref() } {
            end = &requests.next;
        }
        end.store(ptr::from_ref(self).cast_mut(), Ordering::Release);
    }

    /// Those of all other threads.
    fn others(&self) -> impl Iterator<Item = &'static Requests> {
        let mut next = &FIRST;
        iter::from_fn(move || {
            loop {
                // SAFETY: as above.
                let requests = unsafe { next.load(Ordering::Acquire).as_ref() }?;
                next = &requests.next;
                if !ptr::eq(requests, self) {
                    return Some(requests);
                }
            }
        })
    }

    #[cold]
    #[inline(never)]
    fn take_over(&self, unknown: &Unknown, handle: Word, stamp: u64) -> Option<Seen> {
        let others = || self.others();
        others().next()?;
        // A request that this thread may ask for was entered before its program knew of it, and so is among these.
        let entered =
            others().fold(0u64, |sum, requests| sum.wrapping_add(requests.entered.load(Ordering::Acquire).into()));
        let place = unknown.place(handle);
        if place.get() == (handle, entered) {
            return None;
        }
        let mut is_unknown = true;
        for requests in others() {
            match requests.give(handle) {
                Given::Request(request, extra) => {
                    let seen = Seen::of(&request);
                    self.adopt(handle, request, extra, stamp);
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
    pub fn looked(&self) {
        self.looking.store(0, Ordering::Release);
    }

    /// One more was entered.
    #[inline(always)]
    fn entered(&self) {
        self.entered.store(self.entered.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// Enters a request. What finds no room is not followed.
    fn enter(&self, requests: &mut Table, handle: Word, request: Request) {
        requests.insert(handle, request);
        self.entered();
    }

    /// A request that a call has started which took so many ticks. `shortcut`: that of the call, where there is something to be counted
    /// when it completes.
    #[inline(always)]
    pub fn start(
        &self,
        handle: Word,
        comm: Record,
        kind: Kind,
        posted: u32,
        cells: u64,
        ticks: u64,
        shortcut: *const Shortcut,
    ) {
        // SAFETY: nothing is called.
        if let Some(requests) = unsafe { self.table.alone() }
            && requests.start_simply(handle, comm, (kind, posted), cells, ticks, shortcut)
        {
            return self.entered();
        }
        self.start_otherwise(handle, comm, (kind, posted), cells, ticks, shortcut);
    }

    #[inline(never)]
    fn start_otherwise(
        &self,
        handle: Word,
        comm: Record,
        (kind, posted): (Kind, u32),
        cells: u64,
        ticks: u64,
        shortcut: *const Shortcut,
    ) {
        self.table.with(|requests| {
            if requests.start_simply(handle, comm, (kind, posted), cells, ticks, shortcut) {
                return self.entered();
            }
            let request = Request { posted, shortcut, ..Request::started(comm, kind, cells, ticks) };
            self.enter(requests, handle, request);
        });
    }

    pub fn start_with(&self, handle: Word, mut request: Request, extra: Extra) {
        self.table.with(|requests| {
            if matches!(extra, Extra::Persistent(_)) {
                request.state = State::Inactive;
            }
            match requests.keep_extra(extra) {
                Some(place) => request.extra = place,
                None => return memory::lose_call(),
            }
            self.enter(requests, handle, request);
        });
    }

    /// How often requests of this thread have changed, where no other thread may change them.
    #[inline(always)]
    pub fn changes(&self) -> Option<u64> {
        self.alone().map(|requests| requests.0.changes)
    }

    /// The table where no thread may come in between.
    #[inline(always)]
    pub fn alone(&self) -> Option<Alone<'_>> {
        // SAFETY: nothing that is done with it calls anything.
        unsafe { self.table.alone() }.map(Alone)
    }

    /// What is seen where the look comes past here for the first time, or past requests that are alike.
    #[inline(always)]
    fn seen_simply(&self, handle: Word, stamp: u64) -> Option<Seen> {
        let mut requests = self.alone()?;
        let place = requests.place_of(handle)?;
        let slot = requests.slot(place);
        if slot.state == State::Idle || !slot.is_seen_simply(stamp) {
            return None;
        }
        Some(Seen { comm: slot.comm, active: slot.state == State::Active, kind: slot.kind, slot: place })
    }

    #[inline(never)]
    fn seen_otherwise(&self, unknown: &Unknown, handle: Word, stamp: u64) -> Option<Seen> {
        self.seen(handle, stamp).or_else(|| self.take_over(unknown, handle, stamp))
    }

    fn seen(&self, handle: Word, stamp: u64) -> Option<Seen> {
        self.table.with(|requests| {
            self.looking.store(stamp, Ordering::Relaxed);
            let place = requests.busy_slot_of(handle)?;
            let slot = at(&mut requests.slots, place);
            let seen = Seen { slot: place as u32, ..Seen::of(&slot.request()) };
            if stamp == 0 || slot.stamp != stamp {
                slot.stamp = stamp;
                if slot.queue != NOWHERE {
                    requests.look_anew(place);
                }
                return Some(seen);
            }
            if slot.look_on() {
                return Some(seen);
            }
            requests.look_on(place).as_ref().map(Seen::of)
        })
    }

    /// A request that this thread has looked at has completed: its entry is taken out, or made inactive if it is persistent.
    #[inline(always)]
    pub fn complete(&self, noted: Noted) -> Option<Completed> {
        match self.complete_simply(&noted) {
            Some((_, slot)) => Some(slot.completed()),
            None => self.complete_otherwise(noted),
        }
    }

    /// The same for the only request of its handle, or one of several that are alike: its kind, and what is left of it there until the
    /// handle is used again.
    #[inline(always)]
    pub fn complete_simply(&self, noted: &Noted) -> Option<(Kind, &Slot)> {
        let requests = self.alone()?;
        if !requests.0.is_at(noted.handle, noted.slot as usize) {
            return None;
        }
        let slot = at(&mut requests.0.slots, noted.slot as usize);
        let kind = slot.kind;
        if !slot.complete_simply() {
            return None;
        }
        requests.0.changes += 1;
        Some((kind, at(&mut requests.0.slots, noted.slot as usize)))
    }

    #[inline(never)]
    fn complete_otherwise(&self, noted: Noted) -> Option<Completed> {
        self.table.with(|requests| {
            requests.changes += 1;
            let place = match requests.is_at(noted.handle, noted.slot as usize) {
                true => noted.slot as usize,
                false => requests.slot_of(noted.handle)?,
            };
            let slot = at(&mut requests.slots, place);
            if slot.complete_simply() {
                return Some(slot.completed());
            }
            if slot.state != State::Active {
                return None;
            }
            let mut completed = slot.completed();
            if slot.extra == NOWHERE {
                requests.remove_first(place);
            } else {
                requests.complete_with_extra(place, &mut completed);
            }
            Some(completed)
        })
    }

    /// `MPI_Request_free` of a request that this thread has looked at.
    pub fn forget(&self, handle: Word) {
        self.table.with(|requests| {
            requests.changes += 1;
            if let Some(slot) = requests.busy_slot_of(handle) {
                let extra = at(&mut requests.slots, slot).extra;
                requests.remove_first(slot);
                requests.take_extra(extra);
            }
        });
    }

    /// What remains to be done for an active request is changed.
    pub fn set_kind(&self, handle: Word, kind: Kind) {
        self.table.with(|requests| {
            requests.changes += 1;
            if let Some(slot) = requests.busy_slot_of(handle) {
                let slot = at(&mut requests.slots, slot);
                (slot.kind, slot.cells, slot.shortcut) = (kind, 0, shortcuts::unused());
            }
        });
    }

    /// What the start of a persistent request that this thread has looked at sends and receives, as far as that is known by then.
    pub fn volume(&self, handle: Word) -> Option<(u64, u64)> {
        self.table.with(|requests| {
            let place = requests.busy_slot_of(handle)?;
            let extra = at(&mut requests.slots, place).extra;
            let Some(Some(Extra::Persistent(persistent))) = requests.extras.get(extra as usize) else { return None };
            let is_known = persistent.starts == Starts::Sends;
            is_known.then_some((persistent.sent, persistent.received))
        })
    }

    /// A persistent request that this thread has looked at is started by `operation`, which took so many ticks, in the bucket that
    /// `bucket` tells, as far as it is known. `posted` gives its number on the timeline.
    pub fn activate(
        &self,
        handle: Word,
        (operation, ticks, phase): (u16, u64, u8),
        bucket: impl FnOnce(&Persistent) -> u8,
        site: Option<*const Shortcut>,
        posted: impl FnOnce() -> u32,
    ) -> Option<(Record, Persistent)> {
        self.table.with(|requests| {
            requests.changes += 1;
            let place = requests.busy_slot_of(handle)?;
            let mut request = at(&mut requests.slots, place).request();
            let Some(Some(Extra::Persistent(persistent))) = requests.extras.get(request.extra as usize) else {
                return None;
            };
            request.state = State::Active;
            // SAFETY: records are never freed.
            let number = unsafe { (*request.comm).number };
            request.cells = Counters::key(number, operation, bucket(persistent)) | Counters::phase_bits(phase);
            request.ticks = ticks;
            request.posted = posted();
            request.kind = match persistent.starts {
                Starts::Sends | Starts::Partitions => Kind::Plain,
                Starts::Receives if operation == op::MPI_Start => Kind::Receive,
                Starts::Receives => Kind::ReceiveInto,
            };
            // Where nothing remains to be done, the key tells enough.
            request.shortcut = match request.kind {
                Kind::Plain => shortcuts::unused(),
                _ => site.unwrap_or(request.shortcut),
            };
            let persistent = Persistent { phase, ..persistent.clone() };
            at(&mut requests.slots, place).set_request(request);
            Some((request.comm, persistent))
        })
    }

    /// What is known of a partitioned request. It stays where it is: several threads may mark its partitions at the same time.
    pub fn partition(&self, handle: Word) -> Option<Partition> {
        self.own_partition(handle).or_else(|| self.others().find_map(|requests| requests.own_partition(handle)))
    }

    fn own_partition(&self, handle: Word) -> Option<Partition> {
        self.table.with(|requests| {
            let slot = requests.busy_slot_of(handle)?;
            let Request { comm, extra, .. } = at(&mut requests.slots, slot).request();
            let Some(Some(Extra::Persistent(persistent))) = requests.extras.get(extra as usize) else { return None };
            let destination = persistent.messages.first().map(|(rank, world_rank, _)| (*rank, *world_rank));
            Some(Partition { comm, bytes: persistent.message_bytes, destination })
        })
    }

    /// The oldest request of a handle is handed to another thread, but none that the owner is completing just now: the
    /// library may already have given its handle to the request that the other thread asks for.
    fn give(&self, handle: Word) -> Given {
        self.table.with(|requests| {
            requests.changes += 1;
            let Some(place) = requests.busy_slot_of(handle) else { return Given::Unknown };
            let slot = *at(&mut requests.slots, place);
            let mut request = slot.request();
            if slot.stamp != 0 && slot.stamp == self.looking.load(Ordering::Acquire) {
                match requests.take_unseen(place) {
                    Some(unseen) => request = unseen,
                    None => return Given::Busy,
                }
            } else {
                requests.remove_first(place);
            }
            // The shortcut is its thread's own; a site is the process's.
            if request.kind.receives() && sites::are_counted() {
                request.shortcut = site::for_any_thread(request.shortcut, request.posted);
            } else if request.kind != Kind::Plain {
                request.shortcut = shortcuts::unused();
            }
            let extra = requests.give_extra(request.extra);
            Given::Request(request, extra)
        })
    }

    /// Takes a request over from another thread, as one that the look with this stamp has seen.
    fn adopt(&self, handle: Word, mut request: Request, extra: Option<Extra>, stamp: u64) {
        self.table.with(|requests| {
            requests.changes += 1;
            if let Some(extra) = extra {
                match requests.keep_extra(extra) {
                    Some(place) => request.extra = place,
                    None => return memory::lose_call(),
                }
            }
            self.enter(requests, handle, request);
            if let Some(place) = requests.busy_slot_of(handle) {
                let slot = at(&mut requests.slots, place);
                if slot.stamp != stamp {
                    slot.stamp = stamp;
                    requests.look_anew(place);
                }
            }
        });
    }
}
