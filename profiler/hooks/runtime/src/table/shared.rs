//! A table that any thread reads while one writes.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, compiler_fence};

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
    /// How many more slots may be taken before the table should be larger. Those that bear the mark of what was removed are taken.
    room: usize,
}

impl Writer {
    pub const fn new() -> Writer {
        Writer { room: 0 }
    }
}

impl Default for Writer {
    fn default() -> Writer {
        Writer::new()
    }
}

#[repr(C)]
struct Slot<V: Word> {
    key: AtomicUsize,
    value: Loose<V>,
}

/// A table that got too small is replaced and left to readers that still look at it: all of those together are no larger than it is.
/// Places in it are distances in bytes.
#[derive(Clone, Copy)]
#[repr(C)]
struct Table<V: Word> {
    slots: *const Slot<V>,
    /// The place of the last slot, and so a mask of all places: slots are a power of two long, and so many.
    last: usize,
    shift: u32,
}

// SAFETY: slots are read and written by atomic operations.
unsafe impl<V: Word> Sync for Table<V> {}

/// The table of those that have none yet, with nothing in it, and of nobody's values: it is never written to, since it has no room.
static NOTHING: Table<usize> = Table::of((&raw const NO_SLOTS).cast(), NO_SLOTS.len());
static NO_SLOTS: [[usize; 2]; 2] = [[EMPTY, 0]; 2];

impl<V: Word> Shared<V> {
    pub const fn new() -> Shared<V> {
        Shared { table: AtomicPtr::new((&raw const NOTHING).cast_mut().cast()) }
    }

    #[inline(always)]
    fn table(&self) -> Table<V> {
        // SAFETY: never null, and never freed.
        unsafe { *self.table.load(Ordering::Acquire) }
    }

    #[inline(always)]
    pub fn get(&self, key: usize) -> Option<V> {
        let table = self.table();
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
        let table = self.table();
        let (slot, found) = table.find_or_vacant(key);
        if found == key {
            let known = slot.value.get();
            slot.value.set(value);
            return Some(Some(known));
        }
        if found == EMPTY {
            let Some(room) = writer.room.checked_sub(1) else { return self.put_in_larger(writer, key, value) };
            writer.room = room;
        }
        slot.fill(key, value);
        Some(None)
    }

    #[cold]
    #[inline(never)]
    fn put_in_larger(&self, writer: &mut Writer, key: usize, value: V) -> Option<Option<V>>
    where
        V: 'static,
    {
        let (larger, live) = Table::larger_than(&self.table())?;
        larger.vacant(key).fill(key, value);
        self.table.store(ptr::from_ref(larger).cast_mut(), Ordering::Release);
        // A handler of a signal may leave by a jump in between: the table must not be thought to have more room than it has.
        compiler_fence(Ordering::SeqCst);
        writer.room = filled(larger.length()) - (live + 1);
        Some(None)
    }

    /// Takes a key away, and tells the value that it had.
    #[inline(always)]
    pub fn remove(&self, writer: &mut Writer, key: usize) -> Option<V> {
        let table = self.table();
        let place = table.find(key)?;
        let value = table.slot(place).value.get();
        table.vacate(writer, place);
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
    const SLOT_BYTES: usize = size_of::<Slot<V>>();

    const fn of(slots: *const Slot<V>, length: usize) -> Table<V> {
        const { assert!(Self::SLOT_BYTES.is_power_of_two()) };
        let last = (length - 1) * Self::SLOT_BYTES;
        Table { slots, last, shift: (last + Self::SLOT_BYTES).leading_zeros() + 1 }
    }

    fn length(&self) -> usize {
        self.last / Self::SLOT_BYTES + 1
    }

    /// Room for twice as many as there are in a table now, with those already in it, and how many these are. A table that is full of them
    /// becomes twice as large: it stays behind, and more would be touched and rarely filled.
    #[cold]
    fn larger_than(full: &Table<V>) -> Option<(&'static Table<V>, usize)>
    where
        V: 'static,
    {
        let slots = || (0..full.length()).map(|at| full.slot(at * Self::SLOT_BYTES));
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
        let larger = memory::keep(Table::of(place, length))?;
        for slot in live() {
            let key = slot.key.load(Ordering::Relaxed);
            larger.vacant(key).fill(key, slot.value.get());
        }
        Some((larger, count))
    }

    #[inline(always)]
    fn home(&self, key: usize) -> usize {
        (hash(key as u64) >> self.shift) as usize & self.last
    }

    /// The place comes from `home`, or is masked.
    #[inline(always)]
    fn slot(&self, place: usize) -> &Slot<V> {
        // SAFETY: the slots go as far, and are never freed.
        unsafe { &*self.slots.byte_add(place) }
    }

    #[inline(always)]
    fn find(&self, key: usize) -> Option<usize> {
        let mut place = self.home(key);
        loop {
            match self.slot(place).key.load(Ordering::Acquire) {
                // What a program passes by mistake must not be found among the empty slots.
                found if found == key => return if key >= REMOVED { None } else { Some(place) },
                EMPTY => return None,
                _ => place = self.behind(place),
            }
        }
    }

    #[inline(always)]
    fn behind(&self, place: usize) -> usize {
        (place + Self::SLOT_BYTES) & self.last
    }

    #[inline(always)]
    fn before(&self, place: usize) -> usize {
        place.wrapping_sub(Self::SLOT_BYTES) & self.last
    }

    #[inline(always)]
    fn key_at(&self, place: usize) -> usize {
        self.slot(place).key.load(Ordering::Relaxed)
    }

    /// Takes away what is there.
    #[inline(always)]
    fn vacate(&self, writer: &mut Writer, place: usize) {
        if self.key_at(self.behind(place)) == EMPTY && self.key_at(self.before(place)) != REMOVED {
            self.slot(place).key.store(EMPTY, Ordering::Release);
            writer.room += 1;
        } else {
            Table::vacate_among_others(self.slots, self.last, writer, place);
        }
    }

    /// It is given words, not a table, which would lie in memory for it.
    #[inline(never)]
    fn vacate_among_others(slots: *const Slot<V>, last: usize, writer: &mut Writer, mut place: usize) {
        let table = Table { slots, last, shift: 0 };
        table.slot(place).key.store(REMOVED, Ordering::Release);
        // No chain goes on behind an empty slot: marks right before one are needed by nobody, and a table in which keys come and go
        // need not be replaced because of them.
        if table.key_at(table.behind(place)) == EMPTY {
            while table.key_at(place) == REMOVED {
                table.slot(place).key.store(EMPTY, Ordering::Release);
                writer.room += 1;
                place = table.before(place);
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
            place = self.behind(place);
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
            place = self.behind(place);
        }
    }
}
