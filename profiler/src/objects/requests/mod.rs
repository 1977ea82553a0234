//! To whom a request belongs. A handle alone does not tell: libraries give one handle to several live requests (those that
//! are complete at once, in Open MPI and in MPICH) and give it again as soon as it is free. So under each handle stand the
//! requests that were started, oldest first, those that leave nothing to be done as a number, and one is taken out per completion.

mod names;
mod noted;
mod numbered;
mod others;
mod persistent;
mod queue;
mod request;
pub mod site;
pub mod slot;
pub mod table;

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU16, AtomicU64, Ordering};

use commsee_runtime::biased::{Biased, Inside};

use crate::guest::state::{self, OWNERS};
use crate::mpi::abi::{Word, abi};
use crate::objects::records::{self, Record};
use crate::objects::shortcuts::Shortcut;
use crate::shard::memory;

pub use names::{OtherName, come_from_fortran, prepare};
pub use noted::{Noted, Seen};
pub use others::Unknown;
pub use persistent::{Message, Persistent, Starts};
use request::NOWHERE;
pub use request::{Completed, Extra, HandleAddress, Kind, Partition, Request, State, receives};
use slot::Slot;
use table::{Table, at};

/// The requests that one thread started, and those of other threads that it has looked at since. Locked only where one of several threads
/// that may call MPI at once has looked for a request of another one.
pub struct Requests {
    /// The look of the outermost completing call that the owner is in, or 0.
    looking: AtomicU64,
    /// How often a request was started, completed or changed otherwise. Read by other threads, without the lock.
    changes: AtomicU64,
    table: Biased<Table>,
    /// The owner may be at those of another thread, or has left them by a jump.
    is_at_others: AtomicBool,
    /// Of the thread among all; 0 where it has none.
    number: AtomicU16,
    /// Those of the thread that came next, once there is one.
    next: AtomicPtr<Requests>,
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

/// The table of the thread that has entered it.
pub struct Entered<'a>(Inside<'a, Table>);

impl Entered<'_> {
    #[inline(always)]
    pub fn held(&mut self) -> Held<'_> {
        Held(&mut self.0)
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

    /// Where the table has not changed since it was noted, a persistent request.
    #[inline(always)]
    pub unsafe fn persistent(&mut self, slot: *mut Slot) -> Option<(&mut Slot, &mut Persistent)> {
        // SAFETY: so it is there as long as the table is borrowed, and what few requests have lies elsewhere.
        let slot = unsafe { &mut *slot };
        let extra = slot.extra;
        Some((slot, self.0.persistent(extra)?))
    }

    /// The slot of a handle whose request is persistent, is not started, and takes no more than a few comparisons to find.
    #[inline(always)]
    pub fn idle(&mut self, handle: Word) -> Option<&mut Slot> {
        self.0.slot_of(handle).filter(|slot| slot.is_idle_alone())
    }

    /// As [`Table::see_behind`].
    #[inline(never)]
    pub fn see_behind(&mut self, slot: *mut Slot, stamp: u64) -> Option<(Record, Kind)> {
        self.0.see_behind(slot, stamp)
    }

    /// So many requests that were noted together, or the oldest of those that share a handle, have completed: how they were started, if they
    /// are still there, and leave nothing to be done.
    #[inline(never)]
    pub fn complete_shared(&mut self, noted: &Noted, count: u32) -> Option<*const Shortcut> {
        let slot = self.noted(noted)?;
        let shortcut = slot.shortcut;
        if slot.stands_for_alike() {
            return slot.complete_alike(count).then_some(shortcut);
        }
        let is_removed = match slot.is_one_of_those_alike() {
            true => self.0.remove_alike(noted.slot, count),
            false => count == 1 && self.0.remove_before_others(noted.slot),
        };
        is_removed.then_some(shortcut)
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
            table: Biased::new(Table::new()?),
            is_at_others: AtomicBool::new(false),
            number: AtomicU16::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
        })
    }

    /// The outermost call that looked has ended, and what it completed has been taken out.
    #[inline(always)]
    pub fn looked(&self) {
        self.looking.store(0, Ordering::Release);
    }

    /// One has changed. Told while the table is held.
    #[inline(always)]
    pub fn changed(&self) {
        self.changes.store(self.changes.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// The table, while others wait where there may be any. The work must not come back here. It is `missing` where the thread is at the table already,
    /// interrupted by a handler of a signal, or where nobody comes to it any more: then the profile says that a call is.
    #[inline(always)]
    fn with<R>(&self, missing: impl FnOnce() -> R, work: impl FnOnce(&mut Table) -> R) -> R {
        match state::alone() {
            // SAFETY: no other thread is in a call.
            Some(_) => work(unsafe { self.table.unlocked() }),
            None => self.with_lock(missing, work),
        }
    }

    /// Apart, so that nothing of it stands in the way of calls without a lock.
    #[cold]
    #[inline(never)]
    fn with_lock<R>(&self, missing: impl FnOnce() -> R, work: impl FnOnce(&mut Table) -> R) -> R {
        let missing = || {
            memory::give_up_call();
            missing()
        };
        self.table.lock(|left| self.anew(left), missing, work)
    }

    /// A table for one that a jump has left half changed.
    #[cold]
    fn anew(&self, left: &Table) -> Option<Table> {
        memory::give_up_call();
        // What was noted of its slots holds no more.
        self.changed();
        left.anew()
    }

    /// That of another thread; `missing` where nobody else can come to it.
    #[inline(always)]
    fn with_others<R>(&self, missing: impl FnOnce() -> R, work: impl FnOnce(&mut Table) -> R) -> R {
        match state::alone() {
            // SAFETY: as above.
            Some(_) => work(unsafe { self.table.unlocked() }),
            None => self.table.lock_out(&OWNERS, missing, work),
        }
    }

    /// Puts a request in. What finds no room is not followed.
    fn put(&self, requests: &mut Table, handle: Word, request: Request) {
        requests.insert(handle, request);
        self.changed();
    }

    /// A request that a call has started which took so many ticks, if its handle is not null. `shortcut`: that of the call, where there is
    /// something to be counted when it completes.
    #[inline(always)]
    pub fn start(
        &self,
        handle: Word,
        comm: Record,
        (kind, posted): (Kind, u32),
        cells: u64,
        ticks: u64,
        shortcut: *const Shortcut,
    ) {
        // SAFETY: the thread's own, and nothing is called.
        if let Some(mut requests) = unsafe { self.table.enter(&OWNERS) }
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
        // None is ever put in under it.
        if handle == abi().request_null {
            return;
        }
        self.tell(handle);
        if state::is_threaded() {
            let is_started = self.with(
                || true,
                |requests| {
                    self.changed();
                    requests.start_simply(handle, comm, (kind, posted), cells, ticks, shortcut)
                },
            );
            if is_started {
                return;
            }
        }
        if kind == Kind::Plain && cells == 0 && self.start_behind(handle, comm, shortcut) {
            return;
        }
        let request = Request { posted, shortcut, ..Request::started(comm, kind, cells, ticks) };
        // One from nobody brings nothing, and Open MPI gives its handle to sends that are complete at once, too.
        let has_own_handle = kind == Kind::Receive && comm != records::none();
        self.with(
            || (),
            |requests| {
                requests.forget_unseen(handle, has_own_handle);
                self.put(requests, handle, request);
            },
        );
    }

    /// The same in a call that another one has made: the library may have completed the outer one's request already, and given its handle to
    /// this one. So both are followed.
    #[cold]
    #[inline(never)]
    pub fn start_within(&self, handle: Word, request: Request) {
        if handle != abi().request_null {
            self.tell(handle);
            self.with(|| (), |requests| self.put(requests, handle, request));
        }
    }

    /// Starts one that leaves nothing to be done behind others of its handle, if that takes no more than a queue. Given three words: a
    /// request that was just put together in memory would have to be waited for.
    #[inline(always)]
    fn start_behind(&self, handle: Word, comm: Record, shortcut: *const Shortcut) -> bool {
        let is_started = match state::alone() {
            // SAFETY: no other thread is in a call.
            Some(_) => unsafe { self.table.unlocked() }.start_behind(handle, comm, shortcut),
            None => self.with_lock(|| true, |requests| requests.start_behind(handle, comm, shortcut)),
        };
        if is_started {
            self.changed();
        }
        is_started
    }

    /// One that has what few requests have. `is_within`: as of [`Requests::start_within`].
    pub fn start_with(&self, handle: Word, mut request: Request, extra: Extra, is_within: bool) {
        self.tell(handle);
        self.with(
            || (),
            |requests| {
                if !is_within {
                    requests.forget_unseen(handle, false);
                }
                if matches!(extra, Extra::Persistent(_)) {
                    request.state = State::Inactive;
                }
                match requests.keep_extra(extra) {
                    Some(place) => request.extra = place,
                    None => return memory::lose_call(),
                }
                self.put(requests, handle, request);
            },
        );
    }

    /// How often requests have changed, where no other thread has any, or none of several has come to those of another one.
    #[inline(always)]
    pub fn changes(&self) -> Option<u64> {
        let are_own = state::unshared().is_some() || state::is_threaded() && !OWNERS.do_lock();
        are_own.then(|| self.changed_so_far())
    }

    #[inline(always)]
    pub fn changed_so_far(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// The table, without a lock. None where another thread has looked for requests of others.
    #[inline(always)]
    pub fn enter(&self) -> Option<Entered<'_>> {
        // SAFETY: a thread enters its own, and calls nothing of the MPI library before it leaves.
        unsafe { self.table.enter(&OWNERS) }.map(Entered)
    }

    /// The table where calls come one after the other.
    #[inline(always)]
    pub fn alone(&self) -> Option<Held<'_>> {
        // SAFETY: nothing that is done with it calls anything.
        state::alone().map(|_| Held(unsafe { self.table.unlocked() }))
    }

    /// The table where no other thread has one: a handle that is not found here is followed nowhere, and one that is found stands for
    /// no request of another thread, too.
    #[inline(always)]
    pub fn unshared(&self) -> Option<Held<'_>> {
        // SAFETY: one thread alone calls MPI, and nothing that is done with it calls anything.
        state::unshared().map(|_| Held(unsafe { self.table.unlocked() }))
    }

    /// The table where others may come in between: they wait.
    #[inline(always)]
    pub fn locked<R>(&self, missing: impl FnOnce() -> R, work: impl FnOnce(Held) -> R) -> R {
        self.with(missing, |requests| work(Held(requests)))
    }

    /// The completing call with this stamp looks: what it marks with the stamp stays this thread's until [`Requests::looked`]. Told while the
    /// table is held.
    pub fn look(&self, stamp: u64) {
        // A call that was made in this one marks what it looks at with a larger stamp.
        if self.looking.load(Ordering::Relaxed) == 0 {
            self.looking.store(stamp, Ordering::Relaxed);
        }
    }

    /// What is seen where the look comes past here for the first time, or past requests that are alike.
    #[inline(always)]
    fn seen_simply(&self, handle: Word, stamp: u64) -> Option<Seen> {
        let slot = self.alone()?.0.slot_of(handle)?;
        if slot.state == State::Idle || !slot.is_seen_simply(stamp) {
            return None;
        }
        Some(Seen { handle, comm: slot.comm, active: slot.state.is_active(), kind: slot.kind, slot })
    }

    #[inline(never)]
    fn seen_otherwise(&self, unknown: &Unknown, handle: Word, stamp: u64) -> Option<Seen> {
        self.seen(handle, stamp).or_else(|| self.take_over(unknown, handle, stamp)).or_else(|| {
            let other = names::other(handle)?;
            self.seen(other, stamp).or_else(|| self.take_over(unknown, other, stamp))
        })
    }

    fn seen(&self, handle: Word, stamp: u64) -> Option<Seen> {
        self.with(|| None, |requests| self.seen_in(requests, handle, stamp))
    }

    fn seen_in(&self, requests: &mut Table, handle: Word, stamp: u64) -> Option<Seen> {
        if stamp != 0 {
            // Also for what is not here, and will be taken over.
            self.look(stamp);
        }
        let place = requests.busy_slot_of(handle)?;
        let slot = at(&mut requests.slots, place);
        let seen = Seen { slot: ptr::from_mut(slot), ..Seen::of(handle, &slot.request()) };
        if stamp == 0 {
            return Some(seen);
        }
        if slot.stamp != stamp {
            slot.stamp = stamp;
            if slot.queue != NOWHERE || slot.is_one_of_those_alike() {
                requests.look_anew(place);
            }
            return Some(seen);
        }
        if slot.look_on() {
            return Some(seen);
        }
        let slot = ptr::from_mut(slot);
        requests.look_on(place).map(|request| Seen { slot, ..Seen::of(handle, &request) })
    }

    /// A request that this thread has looked at has completed: its entry is taken out, or made inactive if it is persistent.
    #[inline(always)]
    pub fn complete(&self, noted: Noted) -> Option<Completed> {
        self.complete_simply(&noted).or_else(|| self.complete_otherwise(noted))
    }

    /// The same for the only request of its handle, or one of several that are alike.
    #[inline(always)]
    fn complete_simply(&self, noted: &Noted) -> Option<Completed> {
        let mut entered = self.enter()?;
        let mut requests = entered.held();
        let slot = requests.noted(noted)?;
        if !slot.complete_simply() {
            return None;
        }
        self.changed();
        Some(slot.completed())
    }

    #[inline(never)]
    fn complete_otherwise(&self, noted: Noted) -> Option<Completed> {
        self.with(
            || None,
            |requests| {
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
                if !slot.state.is_active() {
                    return None;
                }
                let mut completed = slot.completed();
                if slot.extra == NOWHERE {
                    requests.remove_first(place);
                } else {
                    requests.complete_with_extra(place, &mut completed);
                }
                Some(completed)
            },
        )
    }

    /// A call has told that a request which this thread has looked at is complete, and has not completed it: what it received, if that was
    /// not told before.
    pub fn reveal(&self, handle: Word) -> Option<Completed> {
        self.with(
            || None,
            |requests| {
                let place = requests.busy_slot_of(handle)?;
                let slot = at(&mut requests.slots, place);
                if !slot.kind.receives() || !slot.state.is_active() || slot.state == State::Revealed {
                    return None;
                }
                let completed = slot.completed();
                slot.state = State::Revealed;
                self.changed();
                Some(completed)
            },
        )
    }

    /// `MPI_Request_free` of a request that this thread has looked at.
    pub fn forget(&self, handle: Word) {
        self.with(
            || (),
            |requests| {
                self.changed();
                if let Some(slot) = requests.busy_slot_of(handle) {
                    requests.forget_first(slot);
                }
            },
        );
    }

    /// What the start of a persistent request that this thread has looked at sends and receives, as far as that is known by then.
    pub fn volume(&self, handle: Word) -> Option<(u64, u64)> {
        self.with(
            || None,
            |requests| {
                let place = requests.busy_slot_of(handle)?;
                let extra = at(&mut requests.slots, place).extra;
                requests.persistent(extra).map(|persistent| (persistent.sent, persistent.received))
            },
        )
    }

    /// A persistent request that this thread has looked at is started: `start` does that, and must not come back here. Returns whether it is
    /// known.
    pub fn activate(&self, handle: Word, start: impl FnOnce(&mut Slot, &mut Persistent)) -> bool {
        self.with(
            || false,
            |requests| {
                self.changed();
                let Some(place) = requests.busy_slot_of(handle) else { return false };
                // SAFETY: found just now, and what few requests have lies elsewhere.
                let slot = unsafe { &mut *requests.slots.at(place) };
                let Some(persistent) = requests.persistent(slot.extra) else { return false };
                start(slot, persistent);
                true
            },
        )
    }
}
