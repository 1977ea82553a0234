//! To whom a request belongs. A handle alone does not tell: libraries give one handle to several live requests (those that
//! are complete at once, in Open MPI and in MPICH) and give it again as soon as it is free. So under each handle stands a
//! queue of the requests that were started, oldest first, and one is taken out per completion.

mod request;
pub mod site;
pub mod table;

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::{iter, ptr};

use vocabulary::calls::op;
use vocabulary::shard::Cell as Counters;

use crate::guest::serial::Serial;
use crate::guest::state;
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
    /// How often a request was started, completed or changed otherwise. Read by other threads, without the lock.
    changes: AtomicU64,
    table: Serial<Table>,
    /// Those of the thread that came next, once there is one.
    next: AtomicPtr<Requests>,
}

/// Those of the first of all threads that ever called MPI while recording: each knows the next. They are never freed, so nobody needs
/// a lock to go through them.
static FIRST: AtomicPtr<Requests> = AtomicPtr::new(ptr::null_mut());

/// Held by the thread that takes a request over from another one.
static TAKING: Serial<()> = Serial::new(());

/// Handles that a thread asked for and that no thread knew, each with how often requests of all threads had changed by then: generalized
/// requests, say, which a program polls. As long as none changes, nobody is asked again.
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
    /// Where it was seen, or null: looking there again costs a comparison.
    slot: *mut Slot,
}

impl Seen {
    #[inline(always)]
    fn of(request: &Request) -> Seen {
        let active = request.state.is_active();
        Seen { comm: request.comm, active, kind: request.kind, slot: ptr::null_mut() }
    }
}

/// A request that a call was given, or several of one handle that stand one after the other and are alike, or none, if it is crossed out.
#[derive(Clone, Copy)]
pub struct Noted {
    pub handle: Word,
    /// Where it was seen, or null, as [`Seen::slot`].
    slot: *mut Slot,
    /// Its place in the array that the call was given. With [`TOGETHER`] it stands for so many as the next field tells: that is written
    /// for nothing else, since a call notes many.
    at: u32,
    count: MaybeUninit<u32>,
    /// So their number is told by a shift.
    _to_power_of_two: MaybeUninit<[u32; 2]>,
}

/// No place: an array has less than 2³¹.
const TOGETHER: u32 = 1 << 31;

const _: () = assert!(size_of::<Noted>() == 32);

impl Noted {
    #[inline(always)]
    pub fn at(handle: Word, slot: *mut Slot, index: usize) -> Noted {
        let (count, _to_power_of_two) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        Noted { handle, slot, at: index as u32, count, _to_power_of_two }
    }

    #[inline(always)]
    pub fn new(handle: Word, seen: &Seen, index: usize) -> Noted {
        Noted::at(handle, seen.slot, index)
    }

    /// The place of the first.
    #[inline(always)]
    pub fn index(&self) -> usize {
        (self.at & !TOGETHER) as usize
    }

    /// How many it stands for, if not for one.
    #[inline(always)]
    pub fn together(&self) -> Option<u32> {
        // SAFETY: then it was written.
        if self.at & TOGETHER == 0 { None } else { Some(unsafe { self.count.assume_init() }) }
    }

    /// From now on it stands for so many.
    #[inline(always)]
    pub fn stand_for(&mut self, count: u32) {
        self.at |= TOGETHER;
        self.count = MaybeUninit::new(count);
    }

    /// It has completed, and stays where it is so that the others need not be moved.
    #[inline(always)]
    pub fn cross_out(&mut self) {
        self.stand_for(0);
    }

    #[inline(always)]
    pub fn is_crossed_out(&self) -> bool {
        self.together() == Some(0)
    }

    /// The places of all of them.
    pub fn places(&self) -> Range<usize> {
        self.index()..self.index() + self.together().unwrap_or(1) as usize
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

/// The table while no other thread can come to it.
pub struct Held<'a>(&'a mut Table);

impl Held<'_> {
    /// How slots are found, as long as no request is entered.
    #[inline(always)]
    pub fn finder(&mut self) -> Finder<'_> {
        Finder(self.0.slots.finder())
    }

    /// The slot of a request that a look has noted, if it is still that of its handle.
    #[inline(always)]
    pub fn noted(&mut self, noted: &Noted) -> Option<&mut Slot> {
        self.0.noted(noted.handle, noted.slot)
    }

    /// The same where the table has not changed since.
    #[inline(always)]
    pub unsafe fn noted_unchanged(&mut self, noted: &Noted) -> &mut Slot {
        // SAFETY: so it is there as long as the table is borrowed.
        unsafe { &mut *noted.slot }
    }

    /// So many requests that were noted together have completed: how they were started, if they are still there.
    #[inline(always)]
    pub fn complete_alike(&mut self, noted: &Noted, count: u32) -> Option<*const Shortcut> {
        let shortcut = self.noted(noted)?.shortcut;
        self.0.remove_alike(noted.slot, count).then_some(shortcut)
    }
}

/// Finds the slots of handles.
pub struct Finder<'a>(commsee_runtime::table::Finder<'a, Slot>);

impl Finder<'_> {
    #[inline(always)]
    pub fn slot_of(&mut self, handle: Word) -> Option<&mut Slot> {
        let slot = self.0.find(commsee_runtime::table::hash(handle as u64), |slot| slot.handle == handle)?;
        // SAFETY: it is there as long as the table is borrowed, and nobody else has it.
        Some(unsafe { &mut *slot })
    }
}

impl Requests {
    /// None where there is no memory for it.
    pub fn new() -> Option<Requests> {
        Some(Requests {
            looking: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            table: Serial::new(Table::new()?),
            next: AtomicPtr::new(ptr::null_mut()),
        })
    }

    /// A new thread's requests become known to all others. One thread at a time may do so.
    pub fn join(&'static self) {
        let mut end = &FIRST;
        // SAFETY: requests of threads are never freed.
        while let Some(requests) = unsafe { end.load(Ordering::Acquire).as_ref() } {
            state::share();
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
        let changes = others().fold(0u64, |sum, requests| sum.wrapping_add(requests.changes.load(Ordering::Acquire)));
        let place = unknown.place(handle);
        if place.get() == (handle, changes) {
            return None;
        }
        // While nothing else moves: what is taken from a thread not yet asked for one that was asked before would be missed.
        TAKING.with(|()| match self.take_first(handle) {
            Given::Request(request, extra) => {
                let seen = Seen::of(&request);
                self.adopt(handle, request, extra, stamp);
                Some(seen)
            }
            Given::Busy => None,
            Given::Unknown => {
                place.set((handle, changes));
                None
            }
        })
    }

    fn take_first(&self, handle: Word) -> Given {
        let mut is_busy = false;
        for requests in self.others() {
            match requests.table.with(|table| requests.give(table, handle)) {
                Given::Unknown => {}
                Given::Busy => is_busy = true,
                given => return given,
            }
        }
        // Those that were busy may have ended their calls by now.
        if is_busy { self.take_at_once(&FIRST, handle) } else { Given::Unknown }
    }

    /// The same of all that follow, as they are at one moment: nobody gets at his table until all have answered that come after it.
    fn take_at_once(&self, next: &AtomicPtr<Requests>, handle: Word) -> Given {
        // SAFETY: requests of threads are never freed.
        let Some(requests) = (unsafe { next.load(Ordering::Acquire).as_ref() }) else { return Given::Unknown };
        if ptr::eq(requests, self) {
            return self.take_at_once(&requests.next, handle);
        }
        requests.table.with(|table| match self.take_at_once(&requests.next, handle) {
            given @ Given::Request(..) => given,
            Given::Busy => match requests.give(table, handle) {
                Given::Unknown => Given::Busy,
                given => given,
            },
            Given::Unknown => requests.give(table, handle),
        })
    }

    /// The completing call that looked has ended, and what it completed has been taken out.
    #[inline(always)]
    pub fn looked(&self) {
        self.looking.store(0, Ordering::Release);
    }

    /// One has changed. Told while the table is held.
    #[inline(always)]
    pub fn changed(&self) {
        self.changes.store(self.changes.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// Enters a request. What finds no room is not followed.
    fn enter(&self, requests: &mut Table, handle: Word, request: Request) {
        requests.insert(handle, request);
        self.changed();
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
            return self.changed();
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
        if state::is_threaded() {
            let is_started = self.table.locked_here(|requests| {
                self.changed();
                requests.start_simply(handle, comm, (kind, posted), cells, ticks, shortcut)
            });
            if is_started {
                return;
            }
        }
        let request = Request { posted, shortcut, ..Request::started(comm, kind, cells, ticks) };
        self.table.with(|requests| self.enter(requests, handle, request));
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

    /// How often requests have changed, where no other thread has any.
    #[inline(always)]
    pub fn changes(&self) -> Option<u64> {
        state::unshared().map(|_| self.changed_so_far())
    }

    #[inline(always)]
    pub fn changed_so_far(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// The table where no thread may come in between.
    #[inline(always)]
    pub fn alone(&self) -> Option<Held<'_>> {
        // SAFETY: nothing that is done with it calls anything.
        unsafe { self.table.alone() }.map(Held)
    }

    /// The table where no other thread has one: a handle that is not found here is followed nowhere, and one that is found stands for
    /// no request of another thread, too.
    #[inline(always)]
    pub fn unshared(&self) -> Option<Held<'_>> {
        // SAFETY: one thread alone calls MPI, and nothing that is done with it calls anything.
        state::unshared().map(|alone| Held(unsafe { self.table.of(alone) }))
    }

    /// The table where others may come in between: they wait.
    #[inline(always)]
    pub fn held<R>(&self, work: impl FnOnce(Held) -> R) -> R {
        self.table.locked_here(|requests| work(Held(requests)))
    }

    /// The completing call with this stamp looks: what it marks with the stamp stays this thread's until [`Requests::looked`]. Told while the
    /// table is held.
    pub fn look(&self, stamp: u64) {
        self.looking.store(stamp, Ordering::Relaxed);
    }

    /// What is seen where the look comes past here for the first time, or past requests that are alike.
    #[inline(always)]
    fn seen_simply(&self, handle: Word, stamp: u64) -> Option<Seen> {
        let requests = self.alone()?;
        let slot = requests.0.slot_of(handle)?;
        if slot.state == State::Idle || !slot.is_seen_simply(stamp) {
            return None;
        }
        Some(Seen { comm: slot.comm, active: slot.state.is_active(), kind: slot.kind, slot })
    }

    #[inline(never)]
    fn seen_otherwise(&self, unknown: &Unknown, handle: Word, stamp: u64) -> Option<Seen> {
        self.seen(handle, stamp).or_else(|| self.take_over(unknown, handle, stamp))
    }

    fn seen(&self, handle: Word, stamp: u64) -> Option<Seen> {
        self.table.with(|requests| self.seen_in(requests, handle, stamp))
    }

    fn seen_in(&self, requests: &mut Table, handle: Word, stamp: u64) -> Option<Seen> {
        self.look(stamp);
        let place = requests.busy_slot_of(handle)?;
        let slot = at(&mut requests.slots, place);
        let seen = Seen { slot: ptr::from_mut(slot), ..Seen::of(&slot.request()) };
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
    }

    /// What a look has noted is looked at again, with a new stamp, while no other thread can take any of it.
    pub fn look_again(&self, noted: &[Noted], stamp: u64, mut each: impl FnMut(&Seen)) {
        self.table.with(|requests| {
            let handles = noted.iter().flat_map(|noted| noted.places().map(|_| noted.handle));
            handles.filter_map(|handle| self.seen_in(requests, handle, stamp)).for_each(|seen| each(&seen));
        });
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
        let slot = requests.0.noted(noted.handle, noted.slot)?;
        let kind = slot.kind;
        if !slot.complete_simply() {
            return None;
        }
        self.changed();
        Some((kind, slot))
    }

    #[inline(never)]
    fn complete_otherwise(&self, noted: Noted) -> Option<Completed> {
        self.table.with(|requests| {
            self.changed();
            let place = match requests.noted(noted.handle, noted.slot) {
                Some(slot) => {
                    let slot = ptr::from_mut(slot);
                    requests.place(slot)
                }
                None => requests.place_of(noted.handle)?,
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
            self.changed();
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
            self.changed();
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
            self.changed();
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
    fn give(&self, requests: &mut Table, handle: Word) -> Given {
        let Some(place) = requests.busy_slot_of(handle) else { return Given::Unknown };
        let slot = *at(&mut requests.slots, place);
        let mut request = slot.request();
        if slot.is_seen_by(self.looking.load(Ordering::Acquire)) {
            match requests.take_unseen(place) {
                Some(unseen) => request = unseen,
                None => return Given::Busy,
            }
        } else {
            requests.remove_first(place);
        }
        self.changed();
        // The shortcut is its thread's own; a site is the process's.
        if request.kind.receives() && sites::are_counted() {
            request.shortcut = site::for_any_thread(request.shortcut, request.posted);
        } else if request.kind != Kind::Plain {
            request.shortcut = shortcuts::unused();
        }
        let extra = requests.give_extra(request.extra);
        Given::Request(request, extra)
    }

    /// Takes a request over from another thread, as one that the look with this stamp has seen.
    fn adopt(&self, handle: Word, mut request: Request, extra: Option<Extra>, stamp: u64) {
        self.table.with(|requests| {
            self.changed();
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
                } else if !slot.look_on() {
                    // What is before it under its handle this look has seen.
                    requests.look_on(place);
                }
            }
        });
    }
}
