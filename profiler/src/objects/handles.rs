//! A table from handles to the records of communicators. Looking up takes no lock; entering and leaving are serial.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use vocabulary::shard::Communicator;

use crate::guest::serial::Serial;
use crate::mpi::abi::Word;
use crate::shard::memory;

type Record = *mut Communicator;

/// No handle of any family has these values.
const EMPTY: Word = Word::MAX;
const REMOVED: Word = Word::MAX - 1;

const FIRST_SLOTS: usize = 256;

pub struct Handles {
    table: AtomicPtr<Table>,
    /// Slots that were ever taken; writers hold it.
    taken: Serial<usize>,
    /// Raised whenever a handle gets another meaning, so that nobody trusts what he found before.
    epoch: AtomicU32,
}

struct Slot {
    handle: AtomicUsize,
    record: AtomicPtr<Communicator>,
}

/// Open addressing. A table that got too small is replaced and left to readers that still look at it.
struct Table {
    slots: &'static [Slot],
    shift: u32,
}

impl Handles {
    pub const fn new() -> Handles {
        Handles { table: AtomicPtr::new(ptr::null_mut()), taken: Serial::new(0), epoch: AtomicU32::new(0) }
    }

    #[inline(always)]
    pub fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Relaxed)
    }

    pub fn find(&self, handle: Word) -> Option<Record> {
        if handle >= REMOVED {
            // What a program passes by mistake must not be found among the empty slots.
            return None;
        }
        let table = self.table()?;
        Some(table.slots[table.place(handle)?].record.load(Ordering::Relaxed))
    }

    /// Gives a record a handle, which may have been another record's until now.
    pub fn enter(&self, handle: Word, record: Record) {
        self.taken.with(|taken| {
            let table = match self.table() {
                Some(table) if (*taken + 1) * 2 <= table.slots.len() => table,
                full => {
                    let Some((larger, live)) = Table::larger_than(full) else {
                        // Then it is not known, or met as one that another library made.
                        self.raise_epoch();
                        return memory::lose_call();
                    };
                    *taken = live;
                    self.table.store(ptr::from_ref(larger).cast_mut(), Ordering::Release);
                    larger
                }
            };
            *taken += usize::from(table.insert(handle, record));
            self.raise_epoch();
        });
    }

    /// Takes a handle away.
    pub fn leave(&self, handle: Word) -> Option<Record> {
        self.taken.with(|_| {
            let table = self.table().filter(|_| handle < REMOVED)?;
            let slot = &table.slots[table.place(handle)?];
            slot.handle.store(REMOVED, Ordering::Release);
            self.raise_epoch();
            Some(slot.record.load(Ordering::Relaxed))
        })
    }

    /// There is one writer at a time.
    fn raise_epoch(&self) {
        self.epoch.store(self.epoch().wrapping_add(1), Ordering::Release);
    }

    fn table(&self) -> Option<&'static Table> {
        // SAFETY: null, or a table that is never freed.
        unsafe { self.table.load(Ordering::Acquire).as_ref() }
    }
}

impl Table {
    fn with_slots(length: usize) -> Option<&'static Table> {
        let slots = memory::array::<Slot>(length)?.as_ptr();
        for at in 0..length {
            let empty = Slot { handle: AtomicUsize::new(EMPTY), record: AtomicPtr::new(ptr::null_mut()) };
            // SAFETY: there is room for so many.
            unsafe { slots.add(at).write(empty) };
        }
        // SAFETY: as many are there, and nobody frees them.
        let slots = unsafe { std::slice::from_raw_parts(slots, length) };
        memory::keep(Table { slots, shift: 64 - length.trailing_zeros() })
    }

    /// Room for twice as many as there are now, with those already in it, and how many these are.
    fn larger_than(full: Option<&Table>) -> Option<(&'static Table, usize)> {
        let slots = full.map_or(&[][..], |table| table.slots);
        let live = || slots.iter().filter(|slot| slot.handle.load(Ordering::Relaxed) < REMOVED);
        let count = live().count();
        let larger = Table::with_slots(((count + 1) * 4).next_power_of_two().max(FIRST_SLOTS))?;
        for slot in live() {
            larger.insert(slot.handle.load(Ordering::Relaxed), slot.record.load(Ordering::Relaxed));
        }
        Some((larger, count))
    }

    #[inline(always)]
    fn first_slot(&self, handle: Word) -> usize {
        ((handle as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    #[inline(always)]
    fn place(&self, handle: Word) -> Option<usize> {
        let mut slot = self.first_slot(handle);
        loop {
            match self.slots[slot].handle.load(Ordering::Acquire) {
                found if found == handle => return Some(slot),
                EMPTY => return None,
                _ => slot = (slot + 1) & (self.slots.len() - 1),
            }
        }
    }

    /// Returns whether a slot was taken that was never taken before.
    fn insert(&self, handle: Word, record: Record) -> bool {
        let known = self.place(handle);
        let mut slot = known.unwrap_or(self.first_slot(handle));
        loop {
            let place = &self.slots[slot];
            let found = place.handle.load(Ordering::Relaxed);
            if known.is_some() || found == EMPTY || found == REMOVED {
                // Readers trust the record once they see the handle.
                place.record.store(record, Ordering::Relaxed);
                place.handle.store(handle, Ordering::Release);
                return found == EMPTY;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }
}
