//! The table of one thread's requests: under each handle a queue of those that were started, oldest first.

use commsee_runtime::table::{self, Owned};

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

pub struct Table {
    pub slots: Owned<Slot>,
    /// Requests behind the first of their handle, each with the place of the next one.
    pub queued: Vec<(Request, u32)>,
    /// The first of those that are free, each with the place of the next one.
    free_queued: u32,
    pub extras: Vec<Option<Extra>>,
    /// As many places as there are extras, so that what becomes free finds room.
    free_extras: Vec<u32>,
}

// SAFETY: what slots point to is never freed.
unsafe impl Send for Table {}

const FIRST_SLOTS: usize = 64;

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
pub fn at(slots: &mut Owned<Slot>, place: usize) -> &mut Slot {
    // SAFETY: so it was found there, and the table is borrowed as long as the slot.
    unsafe { &mut *slots.at(place) }
}

#[inline(always)]
fn hash_of(slot: &Slot) -> u64 {
    table::hash(slot.request.handle as u64)
}

impl Table {
    /// None where there is no memory for it.
    pub fn new() -> Option<Table> {
        Some(Table {
            slots: Owned::new(FIRST_SLOTS)?,
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
    pub fn slot_of(&self, handle: Word) -> Option<usize> {
        self.slots.find(table::hash(handle as u64), |slot| slot.request.handle == handle)
    }

    #[inline(always)]
    pub fn insert(&mut self, request: Request) {
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
    pub fn remove_first(&mut self, slot: usize) {
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
    pub fn take_unseen(&mut self, slot: usize) -> Option<Request> {
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
}
