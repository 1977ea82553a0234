//! A table that any thread reads while one writes.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::{filled, hash};
use crate::loose::{Loose, Word};
use crate::memory;

/// No handle of any library has these values.
const EMPTY: usize = usize::MAX;
const REMOVED: usize = usize::MAX - 1;

const FIRST_SLOTS: usize = 256;

/// From handles or addresses to words, such as pointers.
pub struct Shared<V: Word> {
    table: AtomicPtr<Table<V>>,
}

/// What the writers of one table pass on to each other, under whatever lock keeps them apart. Writers of one table that have different
/// ones lose entries.
pub struct Writer {
    /// Slots that are taken, or bear the mark of what was removed.
    taken: usize,
}

impl Writer {
    pub const fn new() -> Writer {
        Writer { taken: 0 }
    }
}

impl Default for Writer {
    fn default() -> Writer {
        Writer::new()
    }
}

struct Slot<V: Word> {
    key: AtomicUsize,
    value: Loose<V>,
}

/// A table that got too small is replaced and left to readers that still look at it: all of those together are no larger than it is.
struct Table<V: Word> {
    slots: *const Slot<V>,
    mask: usize,
    shift: u32,
}

impl<V: Word> Shared<V> {
    pub const fn new() -> Shared<V> {
        Shared { table: AtomicPtr::new(ptr::null_mut()) }
    }

    #[inline(always)]
    fn table(&self) -> Option<&Table<V>> {
        // SAFETY: null, or a table that is never freed.
        unsafe { self.table.load(Ordering::Acquire).as_ref() }
    }

    #[inline(always)]
    pub fn get(&self, key: usize) -> Option<V> {
        let table = self.table()?;
        Some(table.slot(table.find(key)?).value.get())
    }

    /// Gives a key a value, also where it has one. False where there is no memory, or for the two words that are no keys.
    pub fn set(&self, writer: &mut Writer, key: usize, value: V) -> bool
    where
        V: 'static,
    {
        self.replace(writer, key, value).is_some()
    }

    /// The same; tells the value that the key had, if any. None where there is no room.
    #[inline(always)]
    pub fn replace(&self, writer: &mut Writer, key: usize, value: V) -> Option<Option<V>>
    where
        V: 'static,
    {
        if key >= REMOVED {
            return None;
        }
        if let Some(table) = self.table() {
            let (slot, found) = table.find_or_vacant(key);
            if found == key {
                let known = slot.value.get();
                slot.value.set(value);
                return Some(Some(known));
            }
            let is_new = found == EMPTY;
            if !is_new || writer.taken < filled(table.mask + 1) {
                slot.fill(key, value);
                writer.taken += usize::from(is_new);
                return Some(None);
            }
        }
        self.put_in_larger(writer, key, value)
    }

    #[cold]
    #[inline(never)]
    fn put_in_larger(&self, writer: &mut Writer, key: usize, value: V) -> Option<Option<V>>
    where
        V: 'static,
    {
        let (larger, live) = Table::larger_than(self.table())?;
        larger.vacant(key).fill(key, value);
        writer.taken = live + 1;
        self.table.store(ptr::from_ref(larger).cast_mut(), Ordering::Release);
        Some(None)
    }

    /// Takes a key away, and tells the value that it had.
    #[inline(always)]
    pub fn remove(&self, writer: &mut Writer, key: usize) -> Option<V> {
        let table = self.table()?;
        let mut place = table.find(key)?;
        let value = table.slot(place).value.get();
        table.slot(place).key.store(REMOVED, Ordering::Release);
        // No chain goes on behind an empty slot: marks right before one are needed by nobody, and a table in which keys come and go
        // need not be replaced because of them.
        if table.slot((place + 1) & table.mask).key.load(Ordering::Relaxed) == EMPTY {
            while table.slot(place).key.load(Ordering::Relaxed) == REMOVED {
                table.slot(place).key.store(EMPTY, Ordering::Release);
                writer.taken -= 1;
                place = place.wrapping_sub(1) & table.mask;
            }
        }
        Some(value)
    }
}

impl<V: Word> Default for Shared<V> {
    fn default() -> Shared<V> {
        Shared::new()
    }
}

impl<V: Word> Slot<V> {
    /// Readers trust the value once they see the key.
    fn fill(&self, key: usize, value: V) {
        self.value.set(value);
        self.key.store(key, Ordering::Release);
    }
}

impl<V: Word> Table<V> {
    /// Room for twice as many as there are in a table now, with those already in it, and how many these are. A table that is full of them
    /// becomes twice as large: it stays behind, and more would be touched and rarely filled.
    #[cold]
    fn larger_than(full: Option<&Table<V>>) -> Option<(&'static Table<V>, usize)>
    where
        V: 'static,
    {
        let slots = || full.into_iter().flat_map(|table| (0..=table.mask).map(|place| table.slot(place)));
        let live = || slots().filter(|slot| slot.key.load(Ordering::Relaxed) < REMOVED);
        let count = live().count();
        let mut length = FIRST_SLOTS;
        while filled(length) < count * 2 {
            length *= 2;
        }
        let place = memory::array::<Slot<V>>(length)?.as_ptr();
        for at in 0..length {
            // SAFETY: there is room for so many.
            unsafe { place.add(at).write(Slot { key: AtomicUsize::new(EMPTY), value: Loose::new(V::NONE) }) };
        }
        let larger = memory::keep(Table { slots: place, mask: length - 1, shift: 64 - length.trailing_zeros() })?;
        for slot in live() {
            let key = slot.key.load(Ordering::Relaxed);
            larger.vacant(key).fill(key, slot.value.get());
        }
        Some((larger, count))
    }

    #[inline(always)]
    fn home(&self, key: usize) -> usize {
        (hash(key as u64) >> self.shift) as usize
    }

    /// The place comes from `home`, or is masked.
    #[inline(always)]
    fn slot(&self, place: usize) -> &Slot<V> {
        // SAFETY: there are `mask + 1` slots, which are never freed.
        unsafe { &*self.slots.add(place) }
    }

    #[inline(always)]
    fn find(&self, key: usize) -> Option<usize> {
        let mut place = self.home(key);
        loop {
            match self.slot(place).key.load(Ordering::Acquire) {
                // What a program passes by mistake must not be found among the empty slots.
                EMPTY => return None,
                found if found == key => return if key == REMOVED { None } else { Some(place) },
                _ => place = (place + 1) & self.mask,
            }
        }
    }

    /// The first slot for a key that is not in here.
    fn vacant(&self, key: usize) -> &Slot<V> {
        let mut place = self.home(key);
        loop {
            let slot = self.slot(place);
            if slot.key.load(Ordering::Relaxed) >= REMOVED {
                return slot;
            }
            place = (place + 1) & self.mask;
        }
    }

    /// The slot of a key, or the first one for it, and what key that has.
    #[inline(always)]
    fn find_or_vacant(&self, key: usize) -> (&Slot<V>, usize) {
        let mut place = self.home(key);
        let mut removed = None;
        loop {
            let slot = self.slot(place);
            match slot.key.load(Ordering::Relaxed) {
                EMPTY => return removed.map_or((slot, EMPTY), |removed| (removed, REMOVED)),
                found if found == key => return (slot, key),
                REMOVED if removed.is_none() => removed = Some(slot),
                _ => {}
            }
            place = (place + 1) & self.mask;
        }
    }
}
