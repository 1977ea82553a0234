//! From handles of UCX to 64 bits: read without a lock, changed under one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use crate::{memory, module};

const FREE: usize = 0;
const GONE: usize = 1;
const FIRST_SLOTS: usize = 256;

struct Slot {
    key: AtomicUsize,
    value: AtomicU64,
}

impl Slot {
    fn fill(&self, key: usize, value: u64) {
        self.value.store(value, Ordering::Relaxed);
        self.key.store(key, Ordering::Release);
    }
}

struct Table {
    slots: Box<[Slot]>,
}

impl Table {
    /// None if there is no memory.
    fn new(slots: usize) -> Option<Box<Table>> {
        let slots = memory::list(slots, || Slot { key: AtomicUsize::new(FREE), value: AtomicU64::new(0) })?;
        memory::boxed(Table { slots })
    }

    #[inline(always)]
    fn first(&self, key: usize) -> usize {
        (key >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20
    }

    #[inline(always)]
    fn find(&self, key: usize) -> Option<&Slot> {
        let mask = self.slots.len() - 1;
        let mut place = self.first(key) & mask;
        loop {
            let slot = self.slots.get(place)?;
            match slot.key.load(Ordering::Acquire) {
                found if found == key => return Some(slot),
                FREE => return None,
                _ => place = (place + 1) & mask,
            }
        }
    }

    /// The first place for a key that is not in here, and whether something was there once. There is always one.
    fn place(&self, key: usize) -> Option<(&Slot, bool)> {
        let mask = self.slots.len() - 1;
        let mut place = self.first(key) & mask;
        loop {
            let slot = self.slots.get(place)?;
            match slot.key.load(Ordering::Relaxed) {
                FREE => return Some((slot, false)),
                GONE => return Some((slot, true)),
                _ => place = (place + 1) & mask,
            }
        }
    }
}

pub struct Pointers {
    table: AtomicPtr<Table>,
    /// Slots that are or were in use.
    used: Mutex<usize>,
}

impl Pointers {
    pub const fn new() -> Pointers {
        Pointers { table: AtomicPtr::new(std::ptr::null_mut()), used: Mutex::new(0) }
    }

    #[inline(always)]
    pub fn get(&self, key: usize) -> Option<u64> {
        // SAFETY: tables are never freed.
        let table = unsafe { self.table.load(Ordering::Acquire).as_ref()? };
        Some(table.find(key)?.value.load(Ordering::Relaxed))
    }

    /// False if there is no memory: it is not known then, as if it had been made before this module was there.
    pub fn set(&self, key: usize, value: u64) -> bool {
        if key <= GONE {
            return false;
        }
        let mut used = self.used.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // SAFETY: as above.
        let table = unsafe { self.table.load(Ordering::Acquire).as_ref() };
        if let Some(slot) = table.and_then(|table| table.find(key)) {
            slot.value.store(value, Ordering::Relaxed);
            return true;
        }
        if let Some(table) = table
            && let Some((slot, reused)) = table.place(key)
            && (reused || (*used + 1) * 2 <= table.slots.len())
        {
            slot.fill(key, value);
            *used += usize::from(!reused);
            return true;
        }
        let grown = self.grow(table, key, value);
        match grown {
            Some(now_used) => *used = now_used,
            None => module::say_what_is_lost(),
        }
        grown.is_some()
    }

    pub fn remove(&self, key: usize) -> Option<u64> {
        let _used = self.used.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // SAFETY: as above.
        let table = unsafe { self.table.load(Ordering::Acquire).as_ref()? };
        let slot = table.find(key)?;
        slot.key.store(GONE, Ordering::Release);
        Some(slot.value.load(Ordering::Relaxed))
    }

    /// Another thread may still read the old table, so it stays; it is as small as all that are left behind together.
    fn grow(&self, old: Option<&Table>, key: usize, value: u64) -> Option<usize> {
        let live = |slot: &&Slot| slot.key.load(Ordering::Relaxed) > GONE;
        let count = old.map_or(0, |table| table.slots.iter().filter(live).count());
        let slots = (4 * (count + 1)).next_power_of_two().max(FIRST_SLOTS);
        let new = Table::new(slots)?;
        for slot in old.iter().flat_map(|table| table.slots.iter().filter(live)) {
            let (key, value) = (slot.key.load(Ordering::Relaxed), slot.value.load(Ordering::Relaxed));
            new.place(key)?.0.fill(key, value);
        }
        new.place(key)?.0.fill(key, value);
        self.table.store(Box::into_raw(new), Ordering::Release);
        Some(count + 1)
    }
}
