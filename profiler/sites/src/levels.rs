//! From 64 bits to a number: read by any thread at any time, without a lock; written by one at a time. Nothing is ever removed.
//!
//! A full table is not copied into a larger one: a further level goes on behind it, twice as large. So an entry takes 12 bytes, and tables
//! are never more than twice as large as they need be. Who looks for what is there passes through few levels, the largest first.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use commsee_runtime::{memory, table};

const LEVELS: usize = 24;
const FIRST_SLOTS: usize = 256;

pub struct Levels {
    levels: [AtomicPtr<u8>; LEVELS],
    /// How many levels there are.
    used: AtomicUsize,
    /// Entries of the latest level.
    entries: AtomicUsize,
}

const fn slots(level: usize) -> usize {
    FIRST_SLOTS << level
}

/// The keys of a level lie before its numbers.
#[derive(Clone, Copy)]
struct Level {
    place: NonNull<u8>,
    slots: usize,
}

impl Level {
    /// SAFETY of both: below the number of slots.
    #[inline(always)]
    unsafe fn key(&self, slot: usize) -> &AtomicU64 {
        // SAFETY: as demanded; levels are never freed.
        unsafe { &*self.place.as_ptr().cast::<AtomicU64>().add(slot) }
    }

    #[inline(always)]
    unsafe fn number(&self, slot: usize) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { &*self.place.as_ptr().add(self.slots * 8).cast::<AtomicU32>().add(slot) }
    }

    /// The slot of a key, or the empty one where it belongs.
    #[inline(always)]
    fn find(&self, key: u64) -> (usize, bool) {
        let mut slot = (table::hash(key ^ key >> 32) >> 32) as usize & (self.slots - 1);
        loop {
            // SAFETY: masked.
            match unsafe { self.key(slot) }.load(Ordering::Acquire) {
                0 => return (slot, false),
                found if found == key => return (slot, true),
                _ => slot = (slot + 1) & (self.slots - 1),
            }
        }
    }
}

impl Levels {
    pub const fn new() -> Levels {
        Levels {
            levels: [const { AtomicPtr::new(ptr::null_mut()) }; LEVELS],
            used: AtomicUsize::new(0),
            entries: AtomicUsize::new(0),
        }
    }

    #[inline(always)]
    fn level(&self, level: usize) -> Option<Level> {
        let place = NonNull::new(self.levels[level].load(Ordering::Acquire))?;
        Some(Level { place, slots: slots(level) })
    }

    /// The number of a key; 0 where it has none.
    #[inline]
    pub fn get(&self, key: u64) -> u32 {
        let used = self.used.load(Ordering::Acquire).min(LEVELS);
        for level in (0..used).rev().filter_map(|level| self.level(level)) {
            let (slot, is_there) = level.find(key);
            if is_there {
                // SAFETY: found just now.
                return unsafe { level.number(slot) }.load(Ordering::Relaxed);
            }
        }
        0
    }

    /// Whether [`Levels::put`] will find room for one more. Under the lock of the writers.
    pub fn reserve(&self) -> bool {
        let used = self.used.load(Ordering::Relaxed);
        let is_full = used == 0 || self.entries.load(Ordering::Relaxed) >= slots(used - 1) / 8 * 7;
        if !is_full {
            return true;
        }
        let Some(place) = self.levels.get(used) else { return false };
        // Of words, so that keys are aligned.
        let level = memory::zeroed::<u64>(slots(used) / 2 * 3);
        if level.is_null() {
            return false;
        }
        place.store(level.cast(), Ordering::Release);
        self.entries.store(0, Ordering::Relaxed);
        self.used.store(used + 1, Ordering::Release);
        true
    }

    /// Gives a key that has none a number. Neither is 0. Under the lock of the writers, and after `reserve`.
    pub fn put(&self, key: u64, number: u32) {
        let used = self.used.load(Ordering::Relaxed);
        let Some(level) = used.checked_sub(1).and_then(|level| self.level(level)) else { return };
        let (slot, _) = level.find(key);
        // Readers trust the number once they see the key.
        // SAFETY: found just now.
        unsafe {
            level.number(slot).store(number, Ordering::Relaxed);
            level.key(slot).store(key, Ordering::Release);
        }
        self.entries.fetch_add(1, Ordering::Relaxed);
    }
}

impl Default for Levels {
    fn default() -> Levels {
        Levels::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_keeps_its_number() {
        let levels = Levels::new();
        assert_eq!(levels.get(5), 0);
        let key = |at: u32| u64::from(at) << 32 | u64::from(at % 7);
        for at in 1..100_000 {
            assert!(levels.get(key(at)) == 0 && levels.reserve());
            levels.put(key(at), at);
        }
        assert!((1..100_000).all(|at| levels.get(key(at)) == at && levels.get(key(at) + 8) == 0));
    }

    #[test]
    fn readers_see_an_entry_or_none() {
        static LEVELS: Levels = Levels::new();
        let readers: Vec<_> = (0..3)
            .map(|_| {
                std::thread::spawn(|| {
                    let mut seen = 0;
                    while seen < 5000 {
                        let number = LEVELS.get(seen + 1);
                        assert!(number == 0 || u64::from(number) == seen + 1);
                        seen += u64::from(number != 0);
                        std::thread::yield_now();
                    }
                })
            })
            .collect();
        for number in 1..=5000 {
            assert!(LEVELS.reserve());
            LEVELS.put(number.into(), number);
        }
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    }
}
