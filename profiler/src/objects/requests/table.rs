//! The table of one thread's requests: under each handle a queue of those that were started, oldest first.

use super::request::{Completed, Extra, Kind, NOWHERE, Request};
use crate::mpi::abi::Word;
use crate::shard::memory;

/// No handle of any family.
pub const EMPTY: Word = Word::MAX;

/// The oldest request of a handle, and the queue of those behind it.
#[derive(Clone, Copy)]
pub struct Slot {
    pub request: Request,
    /// The last look that passed here, and where in the queue its next one goes on: so a call that names one handle
    /// several times sees one request after the other.
    pub stamp: u64,
    pub cursor: u32,
    /// First and last place in `Table::queued`.
    pub first: u32,
    pub last: u32,
}

/// Open addressing with at most half of the places taken.
pub struct Table {
    /// `mask + 1` slots, a power of two, at least half of them empty: what is masked can be read without a test.
    pub slots: Slots,
    taken: usize,
    /// Requests behind the first of their handle, each with the place of the next one.
    pub queued: Vec<(Request, u32)>,
    /// The first of those that are free, each with the place of the next one.
    free_queued: u32,
    pub extras: Vec<Option<Extra>>,
    /// As many places as there are extras, so that what becomes free finds room.
    free_extras: Vec<u32>,
}

pub struct Slots {
    first: *mut Slot,
    mask: usize,
    shift: u32,
}

// SAFETY: the slots are the table's own.
unsafe impl Send for Table {}

const FIRST_SLOTS: usize = 64;

impl Slots {
    fn new(slots: usize) -> Option<Slots> {
        let first = memory::array::<Slot>(slots)?.as_ptr();
        let request = Request::new(EMPTY, std::ptr::null_mut(), 0, Kind::Plain, 0);
        let empty = Slot { request, stamp: 0, cursor: NOWHERE, first: NOWHERE, last: NOWHERE };
        for slot in 0..slots {
            // SAFETY: there is room for so many.
            unsafe { first.add(slot).write(empty) };
        }
        Some(Slots { first, mask: slots - 1, shift: 64 - slots.trailing_zeros() })
    }

    #[inline(always)]
    fn home(&self, handle: Word) -> usize {
        ((handle as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// `slot` comes from `home`, or is masked.
    #[inline(always)]
    pub fn at(&mut self, slot: usize) -> &mut Slot {
        // SAFETY: there are `mask + 1` slots.
        unsafe { &mut *self.first.add(slot) }
    }

    /// The same, to be read.
    #[inline(always)]
    fn handle(&self, slot: usize) -> Word {
        // SAFETY: as above.
        unsafe { (*self.first.add(slot)).request.handle }
    }
}

impl Table {
    /// None where there is no memory for it.
    pub fn new() -> Option<Table> {
        Some(Table {
            slots: Slots::new(FIRST_SLOTS)?,
            taken: 0,
            queued: Vec::new(),
            free_queued: NOWHERE,
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
        let extra = self.slots.at(slot).request.extra;
        match self.extras.get(extra as usize) {
            Some(Some(Extra::Duplicate { place, record })) => {
                completed.duplicate = (*place, *record);
                self.remove_first(slot);
                self.take_extra(extra);
            }
            _ => self.slots.at(slot).request.active = false,
        }
    }

    #[inline(always)]
    pub fn slot_of(&self, handle: Word) -> Option<usize> {
        let mut slot = self.slots.home(handle);
        loop {
            let found = self.slots.handle(slot);
            if found == handle {
                return Some(slot);
            }
            if found == EMPTY {
                return None;
            }
            slot = (slot + 1) & self.slots.mask;
        }
    }

    #[inline(always)]
    pub fn insert(&mut self, request: Request) {
        let mut place = self.slots.home(request.handle);
        loop {
            let slot = self.slots.at(place);
            if slot.request.handle == EMPTY {
                *slot = Slot { request, stamp: 0, cursor: NOWHERE, first: NOWHERE, last: NOWHERE };
                break;
            }
            if slot.request.handle == request.handle {
                return self.queue(place, request);
            }
            place = (place + 1) & self.slots.mask;
        }
        self.taken += 1;
        if self.taken * 2 > self.slots.mask {
            self.enlarge(place);
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
        let slot = self.slots.at(slot);
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

    /// Takes the oldest request of a handle out. The next one takes its place; without one the gap is closed by moving
    /// back what follows.
    #[inline(always)]
    pub fn remove_first(&mut self, slot: usize) {
        let first = self.slots.at(slot).first;
        if first != NOWHERE {
            return self.advance(slot, first);
        }
        let mask = self.slots.mask;
        let (mut hole, mut next) = (slot, (slot + 1) & mask);
        while self.slots.handle(next) != EMPTY {
            let home = self.slots.home(self.slots.handle(next));
            if next.wrapping_sub(home) & mask >= next.wrapping_sub(hole) & mask {
                *self.slots.at(hole) = *self.slots.at(next);
                hole = next;
            }
            next = (next + 1) & mask;
        }
        self.slots.at(hole).request.handle = EMPTY;
        self.taken -= 1;
    }

    fn advance(&mut self, slot: usize, first: u32) {
        let Some((request, next)) = self.queued.get(first as usize).copied() else { return };
        self.free_queued(first);
        let slot = self.slots.at(slot);
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
    pub fn take_unseen(&mut self, slot: usize) -> Option<Request> {
        let slot = self.slots.at(slot);
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
    pub fn keep_extra(&mut self, extra: Extra) -> Option<u32> {
        if let Some(free) = self.free_extras.pop() {
            *self.extras.get_mut(free as usize)? = Some(extra);
            return Some(free);
        }
        self.extras.try_reserve(1).ok()?;
        self.free_extras.try_reserve(self.extras.len() + 1).ok()?;
        self.extras.push(Some(extra));
        Some(self.extras.len() as u32 - 1)
    }

    pub fn take_extra(&mut self, place: u32) {
        if let Some(extra) = self.extras.get_mut(place as usize) {
            *extra = None;
            self.free_extras.push(place);
        }
    }

    /// The request at `latest` has made the table fuller than it should be.
    #[cold]
    #[inline(never)]
    fn enlarge(&mut self, latest: usize) {
        let slots = self.slots.mask + 1;
        let Some(larger) = Slots::new(slots * 2) else {
            // Some slots must stay empty, or looking for a handle would not end.
            if self.taken * 8 > slots * 7 {
                let extra = self.slots.at(latest).request.extra;
                self.remove_first(latest);
                self.take_extra(extra);
                memory::lose_call();
            }
            return;
        };
        let old = std::mem::replace(&mut self.slots, larger);
        for slot in 0..slots {
            // SAFETY: the old table has so many.
            let moved = unsafe { *old.first.add(slot) };
            if moved.request.handle == EMPTY {
                continue;
            }
            let mut slot = self.slots.home(moved.request.handle);
            while self.slots.handle(slot) != EMPTY {
                slot = (slot + 1) & self.slots.mask;
            }
            *self.slots.at(slot) = moved;
        }
        // SAFETY: it came from `Slots::new` with this length, and nobody else refers to it.
        unsafe { memory::free(old.first, slots) };
    }
}
