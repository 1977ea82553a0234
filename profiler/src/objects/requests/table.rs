//! The table of one thread's requests: under each handle those that were started, oldest first. Libraries use a handle again as soon as
//! it is free, so a slot keeps its handle when its request is complete: the next one finds it by the same comparison, and nothing is
//! moved.

use std::collections::VecDeque;

use commsee_runtime::table::{self, Owned};

use super::persistent::Persistent;
use super::request::{Completed, Extra, Kind, NOWHERE, Request, State};
use super::slot::{Slot, common};
use crate::mpi::abi::Word;
use crate::objects::records::Record;
use crate::objects::shortcuts::Shortcut;
use crate::shard::memory;

/// What is behind the first request of a handle and those like it: one group at least.
#[derive(Default)]
pub struct Queue {
    /// In groups that are alike.
    rest: VecDeque<Group>,
    /// The first group that the latest look has not seen all of, and how many of it it has.
    cursor: (usize, u16),
}

#[derive(Clone, Copy)]
struct Group {
    request: Request,
    count: u16,
}

impl Group {
    /// Whether one of this communicator that leaves nothing to be done is like these, and there is room for it.
    #[inline(always)]
    fn is_like(&self, comm: Record) -> bool {
        is_plain(&self.request) && self.request.comm == comm && self.count < u16::MAX
    }

    #[inline(always)]
    fn add(&mut self, shortcut: *const Shortcut) {
        self.count += 1;
        self.request.shortcut = common(self.request.shortcut, shortcut);
    }
}

impl Queue {
    #[inline(always)]
    fn is_full(&self) -> bool {
        self.rest.len() == self.rest.capacity()
    }

    #[cold]
    #[inline(never)]
    fn enlarge(&mut self) -> Option<()> {
        memory::asked(|| self.rest.try_reserve(1)).ok()
    }

    /// The next request that the latest look has not seen, which it sees now where `is_seen`.
    #[inline(always)]
    fn see_next(&mut self, is_seen: impl FnOnce(&Request) -> bool) -> Option<&Request> {
        let (at, seen) = self.cursor;
        let group = self.rest.get(at)?;
        if !is_seen(&group.request) {
            return None;
        }
        self.cursor = if seen + 1 < group.count { (at, seen + 1) } else { (at + 1, 0) };
        Some(&group.request)
    }
}

pub struct Table {
    pub slots: Owned<Slot>,
    queues: Vec<Queue>,
    /// As many places as there are queues, so that what becomes free finds room.
    free_queues: Vec<u32>,
    pub extras: Vec<Option<Extra>>,
    /// As many places as there are extras.
    free_extras: Vec<u32>,
}

// SAFETY: what slots point to is never freed before the request is. What is one thread's alone of it is left behind where another one takes a
// request over.
unsafe impl Send for Table {}

const FIRST_SLOTS: usize = 64;

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

/// A further queue, and room for all of them to be free.
#[cold]
#[inline(never)]
fn new_queue(queues: &mut Vec<Queue>, free_queues: &mut Vec<u32>) -> Option<u32> {
    memory::asked(|| {
        queues.try_reserve(1)?;
        free_queues.try_reserve(queues.len() + 1)
    })
    .ok()?;
    queues.push(Queue::default());
    Some(queues.len() as u32 - 1)
}

/// Whether it leaves nothing to be done but for its communicator: so it does not matter which of those of one completes.
#[inline(always)]
fn is_plain(request: &Request) -> bool {
    request.kind == Kind::Plain && request.extra == NOWHERE
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
        Some(Table {
            slots: Owned::new(slots)?,
            queues: Vec::new(),
            free_queues: Vec::new(),
            extras: Vec::new(),
            free_extras: Vec::new(),
        })
    }

    /// Takes what few requests have out of the table.
    pub fn give_extra(&mut self, place: u32) -> Option<Extra> {
        let extra = self.extras.get_mut(place as usize).and_then(Option::take);
        if extra.is_some() {
            self.free_extras.push(place);
        }
        extra
    }

    #[cold]
    pub fn complete_with_extra(&mut self, slot: usize, completed: &mut Completed) {
        let extra = at(&mut self.slots, slot).extra;
        match self.extras.get(extra as usize) {
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
        match self.extras.get_mut(extra as usize) {
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
        match queue.rest.back_mut() {
            Some(group) if group.is_like(comm) => group.add(shortcut),
            _ => {
                if queue.is_full() && queue.enlarge().is_none() {
                    self.drop_empty(place);
                    return false;
                }
                let request = Request { shortcut, ..Request::new(comm, Kind::Plain) };
                queue.rest.push_back(Group { request, count: 1 });
            }
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
        match queue.rest.back_mut() {
            Some(group) if is_plain(&request) && group.is_like(request.comm) => group.add(request.shortcut),
            _ => {
                if queue.is_full() && queue.enlarge().is_none() {
                    memory::lose_call();
                    self.drop_empty(place);
                } else {
                    queue.rest.push_back(Group { request, count: 1 });
                }
            }
        }
        self.note_groups(place);
    }

    /// A first request that leaves nothing to be done knows how many groups are behind it.
    fn note_groups(&mut self, place: usize) {
        let slot = at(&mut self.slots, place);
        let groups = self.queues.get(slot.queue as usize).map_or(0, |queue| queue.rest.len());
        if slot.kind == Kind::Plain {
            slot.cells = groups as u64;
        }
    }

    /// The queue of a slot, which gets one now if it has none.
    #[inline(always)]
    fn queue_of(&mut self, place: usize) -> Option<&mut Queue> {
        let slot = at(&mut self.slots, place);
        if slot.queue != NOWHERE {
            return self.queues.get_mut(slot.queue as usize);
        }
        slot.queue = match self.free_queues.pop() {
            Some(free) => free,
            None => new_queue(&mut self.queues, &mut self.free_queues)?,
        };
        if slot.state.is_sole() {
            slot.state = State::Active;
        }
        if slot.kind == Kind::Plain && slot.alike == 0 {
            // As where one comes that is alike.
            slot.posted = u32::from(slot.stamp != 0);
        }
        let queue = self.queues.get_mut(slot.queue as usize)?;
        queue.cursor = (0, 0);
        Some(queue)
    }

    /// A slot that others stand in, too, is seen by a new look.
    #[inline(never)]
    pub fn look_anew(&mut self, place: usize) {
        let slot = at(&mut self.slots, place);
        if slot.kind == Kind::Plain {
            slot.posted = 1;
        }
        if let Some(queue) = self.queues.get_mut(slot.queue as usize) {
            queue.cursor = (0, 0);
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
        let queue = self.queues.get_mut(slot.queue as usize)?;
        queue.see_next(|request| request.state.is_active()).map(|request| (request.comm, request.kind))
    }

    /// The next request of a handle that the same look comes past again, behind the first one and those like it.
    #[inline(never)]
    pub fn look_on(&mut self, place: usize) -> Option<Request> {
        let slot = at(&mut self.slots, place);
        self.queues.get_mut(slot.queue as usize)?.see_next(|_| true).copied()
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
        let Some(queue) = self.queues.get_mut(slot.queue as usize) else { return };
        let Some(Group { request, count }) = queue.rest.pop_front() else {
            (slot.state, slot.extra) = (State::Idle, NOWHERE);
            return;
        };
        slot.set_request(request);
        slot.alike = count - 1;
        let seen = match queue.cursor {
            (0, seen) => {
                queue.cursor = (0, 0);
                seen
            }
            (at, seen) => {
                queue.cursor = (at - 1, seen);
                count
            }
        };
        if request.kind == Kind::Plain {
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
        if self.queues.get(at_queue as usize).is_some_and(|queue| queue.rest.is_empty()) {
            slot.queue = NOWHERE;
            if slot.alike == 0 {
                slot.is_left();
            }
            self.free_queues.push(at_queue);
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
        let queue = self.queues.get_mut(slot.queue as usize)?;
        let at = queue.cursor.0;
        let group = queue.rest.get_mut(at)?;
        let request = group.request;
        group.count -= 1;
        if group.count == 0 {
            queue.rest.remove(at);
        } else if queue.cursor.1 == group.count {
            queue.cursor = (at + 1, 0);
        }
        self.note_groups(place);
        self.drop_empty(place);
        Some(request)
    }

    /// None where there is no memory for it.
    pub fn keep_extra(&mut self, extra: Extra) -> Option<u32> {
        if let Some(free) = self.free_extras.pop() {
            *self.extras.get_mut(free as usize)? = Some(extra);
            return Some(free);
        }
        if self.extras.len() == self.extras.capacity() || self.free_extras.capacity() <= self.extras.len() {
            self.enlarge_extras()?;
        }
        self.extras.push(Some(extra));
        Some(self.extras.len() as u32 - 1)
    }

    #[cold]
    #[inline(never)]
    fn enlarge_extras(&mut self) -> Option<()> {
        memory::asked(|| {
            self.extras.try_reserve(1)?;
            self.free_extras.try_reserve(self.extras.len() + 1)
        })
        .ok()
    }

    pub fn take_extra(&mut self, place: u32) {
        if let Some(extra) = self.extras.get_mut(place as usize) {
            *extra = None;
            self.free_extras.push(place);
        }
    }
}
