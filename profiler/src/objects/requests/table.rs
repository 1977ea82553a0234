//! The table of one thread's requests: under each handle those that were started, oldest first. Libraries use a handle again as soon as
//! it is free, so a slot keeps its handle when its request is complete: the next one finds it by the same comparison, and nothing is
//! moved.

use commsee_runtime::table::{self, Owned};

use super::numbered::Numbered;
use super::persistent::Persistent;
use super::queue::{Queue, is_plain};
use super::request::{Completed, Extra, Kind, NOWHERE, Request, State};
use super::slot::Slot;
use crate::mpi::abi::Word;
use crate::objects::records::Record;
use crate::objects::shortcuts::Shortcut;
use crate::shard::memory;

pub struct Table {
    pub slots: Owned<Slot>,
    /// What is behind the first request of a handle and those like it.
    queues: Numbered<Queue>,
    extras: Numbered<Option<Extra>>,
}

// SAFETY: what slots point to is never freed before the request is. What is one thread's alone of it is left behind where another one takes a
// request over.
unsafe impl Send for Table {}

/// 16 KiB. Of 64, handles that a program had used before were in the way of others: behind other cases of `benches/percall` a send, a receive and their
/// `MPI_Waitall` took 19 instructions more than alone.
const FIRST_SLOTS: usize = 256;

/// `place` comes from [`Table::place_of`], and nothing was put in since.
#[inline(always)]
pub fn at(slots: &mut Owned<Slot>, place: usize) -> &mut Slot {
    // SAFETY: so it was found there, and the table is borrowed as long as the slot.
    unsafe { &mut *slots.at(place) }
}

#[inline(always)]
fn hash_of(slot: &Slot) -> u64 {
    table::hash(slot.handle as u64)
}

impl Table {
    /// None where there is no memory for it.
    pub fn new() -> Option<Table> {
        Table::of(FIRST_SLOTS)
    }

    /// What takes the place of one that was left half changed: its requests are not followed any more.
    pub fn anew(&self) -> Option<Table> {
        Table::of(self.slots.capacity())
    }

    fn of(slots: usize) -> Option<Table> {
        Some(Table { slots: Owned::new(slots)?, queues: Numbered::none(), extras: Numbered::none() })
    }

    /// Takes what few requests have out of the table.
    pub fn give_extra(&mut self, place: u32) -> Option<Extra> {
        let extra = self.extras.get_mut(place).and_then(Option::take);
        if extra.is_some() {
            self.extras.give_back(place);
        }
        extra
    }

    #[cold]
    pub fn complete_with_extra(&mut self, slot: usize, completed: &mut Completed) {
        let extra = at(&mut self.slots, slot).extra;
        match self.extras.get(extra) {
            Some(Some(Extra::Duplicate { place, record })) => {
                completed.duplicate = (*place, *record);
                self.remove_first(slot);
                self.take_extra(extra);
            }
            _ => at(&mut self.slots, slot).state = State::Inactive,
        }
    }

    /// Where a handle has its slot, which may be idle.
    #[inline(always)]
    pub fn place_of(&self, handle: Word) -> Option<usize> {
        self.slots.find(table::hash(handle as u64), |slot| slot.handle == handle)
    }

    /// The slot itself.
    #[inline(always)]
    pub fn slot_of(&mut self, handle: Word) -> Option<&mut Slot> {
        let slot = self.slots.finder().find(table::hash(handle as u64), |slot| slot.handle == handle)?;
        // SAFETY: it is there as long as the table is borrowed.
        Some(unsafe { &mut *slot })
    }

    /// A slot that a look has noted, if it is still that of its handle.
    #[inline(always)]
    pub fn noted(&mut self, handle: Word, slot: *mut Slot) -> Option<&mut Slot> {
        // SAFETY: it is one of the table's, as long as that is borrowed.
        let slot = if self.slots.finder().has(slot) { unsafe { &mut *slot } } else { return None };
        (slot.handle == handle).then_some(slot)
    }

    /// What is known of a slot's request, if it is persistent.
    #[inline(always)]
    pub fn persistent(&mut self, extra: u32) -> Option<&mut Persistent> {
        match self.extras.get_mut(extra) {
            Some(Some(Extra::Persistent(persistent))) => Some(persistent),
            _ => None,
        }
    }

    /// Where it is.
    pub fn place(&self, slot: *const Slot) -> usize {
        // SAFETY: the caller has it from this table.
        unsafe { slot.offset_from_unsigned(self.slots.at(0)) }
    }

    /// Where a handle has a request.
    pub fn busy_slot_of(&mut self, handle: Word) -> Option<usize> {
        let place = self.place_of(handle)?;
        (at(&mut self.slots, place).state != State::Idle).then_some(place)
    }

    /// Starts a request where its handle has an idle slot, or others that are alike. Returns whether it could.
    #[inline(always)]
    pub fn start_simply(
        &mut self,
        handle: Word,
        comm: Record,
        (kind, posted): (Kind, u32),
        cells: u64,
        ticks: u64,
        shortcut: *const Shortcut,
    ) -> bool {
        let Some(slot) = self.slot_of(handle) else { return false };
        let is_idle = slot.state == State::Idle;
        if is_idle {
            slot.start(comm, kind, posted, cells, ticks, shortcut);
        }
        is_idle || kind == Kind::Plain && slot.start_alike(comm, shortcut)
    }

    /// Starts one that leaves nothing to be done behind others of its handle, which are not alike. Returns whether it could.
    #[inline(always)]
    pub fn start_behind(&mut self, handle: Word, comm: Record, shortcut: *const Shortcut) -> bool {
        let Some(place) = self.busy_slot_of(handle) else { return false };
        let slot = at(&mut self.slots, place);
        if slot.queue == NOWHERE && (slot.comm == comm || slot.kind == Kind::Receive) {
            return false;
        }
        let Some(queue) = self.queue_of(place) else { return false };
        if !queue.put_plain(comm, shortcut) {
            self.drop_empty(place);
            return false;
        }
        self.note_groups(place);
        true
    }

    #[cold]
    #[inline(never)]
    pub fn insert(&mut self, handle: Word, request: Request) {
        match self.slots.find_or_vacant(table::hash(handle as u64), |slot| slot.handle == handle) {
            Ok(place) => {
                let slot = at(&mut self.slots, place);
                match slot.state {
                    State::Idle => *slot = Slot::of(handle, request),
                    _ => self.queue(place, request),
                }
            }
            Err(vacant) => {
                // SAFETY: found just now.
                if unsafe { self.slots.put(vacant, Slot::of(handle, request)) } {
                    self.make_room(handle);
                }
            }
        }
    }

    /// The request of this handle has made the table fuller than it should be.
    #[cold]
    fn make_room(&mut self, latest: Word) {
        self.slots.sweep(|slot| slot.state == State::Idle, hash_of);
        // With few idle ones they would soon be looked for again.
        let Some(place) = self.place_of(latest).filter(|_| self.slots.len() * 4 > self.slots.capacity()) else {
            return;
        };
        let extra = at(&mut self.slots, place).extra;
        // SAFETY: found just now.
        if unsafe { !self.slots.keeps(place, hash_of) } {
            self.take_extra(extra);
            memory::lose_call();
        }
    }

    /// Puts a request behind those that have the same handle.
    #[inline(never)]
    fn queue(&mut self, place: usize, request: Request) {
        let slot = at(&mut self.slots, place);
        let is_alike = is_plain(&request) && is_plain(&slot.request()) && slot.comm == request.comm;
        if slot.queue == NOWHERE && is_alike && slot.alike < u16::MAX {
            return slot.add_alike(request.shortcut);
        }
        let Some(queue) = self.queue_of(place) else { return memory::lose_call() };
        if !queue.put(request) {
            memory::lose_call();
            self.drop_empty(place);
        }
        self.note_groups(place);
    }

    /// A first request that leaves nothing to be done knows how many groups are behind it.
    fn note_groups(&mut self, place: usize) {
        let slot = at(&mut self.slots, place);
        let groups = self.queues.get(slot.queue).map_or(0, Queue::groups);
        if slot.kind == Kind::Plain {
            slot.cells = groups as u64;
        }
    }

    /// The queue of a slot, which gets one now if it has none.
    #[inline(always)]
    fn queue_of(&mut self, place: usize) -> Option<&mut Queue> {
        let slot = at(&mut self.slots, place);
        if slot.queue != NOWHERE {
            return self.queues.get_mut(slot.queue);
        }
        slot.queue = self.queues.take()?;
        if slot.state.is_sole() {
            slot.state = State::Active;
        }
        if slot.kind == Kind::Plain && slot.alike == 0 {
            // As where one comes that is alike.
            slot.posted = u32::from(slot.stamp != 0);
        }
        let queue = self.queues.get_mut(slot.queue)?;
        queue.look_anew();
        Some(queue)
    }

    /// A slot that others stand in, too, is seen by a new look.
    #[inline(never)]
    pub fn look_anew(&mut self, place: usize) {
        let slot = at(&mut self.slots, place);
        if slot.kind == Kind::Plain {
            slot.posted = 1;
        }
        if let Some(queue) = self.queues.get_mut(slot.queue) {
            queue.look_anew();
        }
    }

    /// The next request under a handle that some share which are not alike, for the look with this stamp: its communicator and kind. None where
    /// there is none, or it is not active; then the look still stands before it.
    #[inline(always)]
    pub fn see_behind(&mut self, slot: *mut Slot, stamp: u64) -> Option<(Record, Kind)> {
        let place = self.place(slot);
        let slot = at(&mut self.slots, place);
        if slot.stamp != stamp {
            slot.stamp = stamp;
            let seen = (slot.comm, slot.kind);
            self.look_anew(place);
            return Some(seen);
        }
        let queue = self.queues.get_mut(slot.queue)?;
        queue.see_next(|request| request.state.is_active()).map(|request| (request.comm, request.kind))
    }

    /// The next request of a handle that the same look comes past again, behind the first one and those like it.
    #[inline(never)]
    pub fn look_on(&mut self, place: usize) -> Option<Request> {
        let slot = at(&mut self.slots, place);
        self.queues.get_mut(slot.queue)?.see_next(|_| true).copied()
    }

    /// Takes the oldest request of a handle out. The next one takes its place.
    #[inline(always)]
    pub fn remove_first(&mut self, place: usize) {
        let slot = at(&mut self.slots, place);
        if slot.alike != 0 {
            slot.remove_alike(1);
        } else if slot.queue != NOWHERE {
            self.take_next(place);
        } else {
            slot.state = State::Idle;
            slot.extra = NOWHERE;
        }
    }

    /// A request is about to be started that got this handle. A receive keeps its own status, and so has its handle for itself. So what stands
    /// under that of a new one, and a receive that stands under that of whatever is new, was completed where nobody saw it: by a call that
    /// the program has left by a jump, or past the profiler (`PMPI_Wait`). Taken for what is new, it would shift all that follow.
    #[cold]
    #[inline(never)]
    pub fn forget_unseen(&mut self, handle: Word, is_own: bool) {
        while let Some(place) = self.busy_slot_of(handle) {
            let slot = at(&mut self.slots, place);
            if !is_own && slot.kind != Kind::Receive {
                return;
            }
            self.forget_first(place);
        }
    }

    /// Takes the oldest request of a handle out, with what few have.
    pub fn forget_first(&mut self, place: usize) {
        let extra = at(&mut self.slots, place).extra;
        self.remove_first(place);
        self.take_extra(extra);
    }

    /// Takes so many out that are alike, the first one among them. Returns false, and takes none, where there are fewer, and where nothing
    /// is behind it.
    #[inline(always)]
    pub fn remove_alike(&mut self, slot: *mut Slot, count: u32) -> bool {
        let place = self.place(slot);
        let slot = at(&mut self.slots, place);
        let alike = u32::from(slot.alike);
        if !slot.is_one_of_those_alike() || count > alike + 1 || count == 0 {
            return false;
        }
        slot.remove_alike(count.min(alike) as u16);
        if count > alike {
            self.remove_first(place);
        }
        true
    }

    /// Takes the oldest request out where others stand behind it that are not alike, if it is active and leaves nothing to be done.
    pub fn remove_before_others(&mut self, slot: *mut Slot) -> bool {
        let place = self.place(slot);
        let slot = at(&mut self.slots, place);
        let is_it = slot.state == State::Active && slot.kind == Kind::Plain && slot.extra == NOWHERE;
        if is_it {
            self.remove_first(place);
        }
        is_it
    }

    /// The first group of the queue becomes what is in front.
    #[inline(never)]
    fn take_next(&mut self, place: usize) {
        let slot = at(&mut self.slots, place);
        let Some(queue) = self.queues.get_mut(slot.queue) else { return };
        let Some((request, count, seen)) = queue.first() else {
            (slot.state, slot.extra) = (State::Idle, NOWHERE);
            return;
        };
        slot.set_request(*request);
        queue.drop_first();
        slot.alike = count - 1;
        if slot.kind == Kind::Plain {
            slot.posted = seen.into();
        }
        if seen == 0 {
            // No look has seen what is in front now.
            slot.stamp = 0;
        }
        self.note_groups(place);
        self.drop_empty(place);
    }

    /// A queue that nothing is in is another slot's next.
    fn drop_empty(&mut self, place: usize) {
        let slot = at(&mut self.slots, place);
        let at_queue = slot.queue;
        if self.queues.get(at_queue).is_some_and(Queue::is_empty) {
            slot.queue = NOWHERE;
            if slot.alike == 0 {
                slot.is_left();
            }
            self.queues.give_back(at_queue);
        }
    }

    /// Takes the first request behind those that the latest look has seen out of a queue.
    pub fn take_unseen(&mut self, place: usize) -> Option<Request> {
        let slot = at(&mut self.slots, place);
        if slot.posted <= slot.alike.into() && slot.alike != 0 {
            let request = slot.request();
            slot.alike -= 1;
            if slot.alike == 0 {
                slot.is_left();
            }
            return Some(request);
        }
        let request = self.queues.get_mut(slot.queue)?.take_unseen()?;
        self.note_groups(place);
        self.drop_empty(place);
        Some(request)
    }

    /// None where there is no memory for it.
    pub fn keep_extra(&mut self, extra: Extra) -> Option<u32> {
        let place = self.extras.take()?;
        *self.extras.get_mut(place)? = Some(extra);
        Some(place)
    }

    pub fn take_extra(&mut self, place: u32) {
        if let Some(extra) = self.extras.get_mut(place) {
            *extra = None;
            self.extras.give_back(place);
        }
    }
}
