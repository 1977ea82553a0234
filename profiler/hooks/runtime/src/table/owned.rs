//! A table for one thread at a time.

use std::cell::Cell;
use std::hint::assert_unchecked;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{Ordering, compiler_fence};

use super::filled;
use crate::memory;

/// A plain value that bears its key, or the mark of an empty slot.
pub trait Slot: Copy {
    const EMPTY: Self;
    /// Whether no key that is looked for is that of an empty slot: then the key is compared first, which saves a comparison where it is
    /// found.
    const KEY_FIRST: bool = false;
    fn is_empty(&self) -> bool;
    /// Makes it an empty one.
    fn clear(&mut self);
}

/// It is shared by reference where it is one thread's own: what is called back from within a call may come here again, but never from
/// within one of these functions, which call nothing but what they are given.
pub struct Owned<S> {
    /// `mask + 1` slots, a power of two, never all of them taken: looking for a key ends at an empty one.
    slots: Cell<*mut S>,
    mask: Cell<usize>,
    /// What leaves of a hash where its home begins, in bytes, above the bits of an address within a slot.
    byte_shift: Cell<u32>,
    taken: Cell<usize>,
}

// SAFETY: the slots are the table's own.
unsafe impl<S: Send> Send for Owned<S> {}

impl<S: Slot> Owned<S> {
    /// For `slots` slots, a power of two of at least 8. None where there is no memory for it.
    pub fn new(slots: usize) -> Option<Owned<S>> {
        debug_assert!(slots.is_power_of_two() && slots >= 8);
        Some(Owned {
            slots: Cell::new(table(slots)?),
            mask: Cell::new(slots - 1),
            byte_shift: Cell::new(64 - slots.trailing_zeros() - Finder::<S>::BITS),
            taken: Cell::new(0),
        })
    }

    pub fn len(&self) -> usize {
        self.taken.get()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many slots there are.
    pub fn capacity(&self) -> usize {
        self.mask.get() + 1
    }

    #[inline(always)]
    fn home(&self, hash: u64) -> usize {
        (hash >> self.byte_shift.get()) as usize >> Finder::<S>::BITS
    }

    /// The address of a slot.
    ///
    /// # Safety
    /// The place was found in this table, which has no fewer slots since.
    #[inline(always)]
    pub unsafe fn at(&self, place: usize) -> *mut S {
        // SAFETY: as demanded.
        unsafe { self.slots.get().add(place) }
    }

    /// Where the slot is of which `is_it` is true. A place stays what it is until something is put in or removed.
    #[inline(always)]
    pub fn find(&self, hash: u64, is_it: impl Fn(&S) -> bool) -> Option<usize> {
        let slot = self.finder().find(hash, is_it)?;
        // SAFETY: both lie in the table.
        Some(unsafe { slot.offset_from_unsigned(self.slots.get()) })
    }

    /// What it takes to find slots, for a loop that keeps it in registers. It holds until something is put in or removed.
    #[inline(always)]
    pub fn finder(&self) -> Finder<'_, S> {
        Finder { slots: self.slots.get(), mask: self.mask.get(), byte_shift: self.byte_shift.get(), table: PhantomData }
    }

    /// The same, or else the place where such a slot belongs: [`Owned::put`].
    #[inline(always)]
    pub fn find_or_vacant(&self, hash: u64, is_it: impl Fn(&S) -> bool) -> Result<usize, usize> {
        let slots = self.slots.get();
        let mut place = self.home(hash);
        loop {
            // SAFETY: as in `find`.
            let slot = unsafe { &*slots.add(place) };
            if slot.is_empty() {
                return Err(place);
            }
            if is_it(slot) {
                return Ok(place);
            }
            place = (place + 1) & self.mask.get();
        }
    }

    /// Makes room for one more, if there is memory for it or room left. `hash_of` tells the hash that a slot was put in under.
    pub fn reserve(&self, hash_of: impl Fn(&S) -> u64) -> bool {
        let (taken, slots) = (self.taken.get() + 1, self.capacity());
        taken <= filled(slots) || self.enlarge(&hash_of) || taken * 8 <= slots * 7
    }

    /// Puts a slot in of whose key there is none.
    pub fn insert(&self, hash: u64, slot: S) {
        // First, so that it is never less than there are, and one stays empty.
        self.taken.set(self.taken.get() + 1);
        compiler_fence(Ordering::AcqRel);
        // SAFETY: as in `find`.
        unsafe { insert(self.slots.get(), self.mask.get(), self.home(hash), slot) };
    }

    /// Puts a slot where [`Owned::find_or_vacant`] found a vacant place. True where the table is fuller now than it should be: then
    /// [`Owned::keeps`] comes next.
    ///
    /// # Safety
    /// The place is that one, and nothing was put in or removed since.
    #[inline(always)]
    pub unsafe fn put(&self, vacant: usize, slot: S) -> bool {
        let taken = self.taken.get() + 1;
        self.taken.set(taken);
        compiler_fence(Ordering::AcqRel);
        // SAFETY: as demanded.
        unsafe { self.slots.get().add(vacant).write(slot) };
        taken * 2 > self.mask.get()
    }

    /// Makes room for more behind what was put in last. False where there is neither memory nor room: that is taken out again.
    ///
    /// # Safety
    /// The place is where it was put, and nothing was put in or removed since.
    #[cold]
    #[inline(never)]
    pub unsafe fn keeps(&self, latest: usize, hash_of: impl Fn(&S) -> u64) -> bool {
        if self.enlarge(&hash_of) || self.taken.get() * 8 <= self.capacity() * 7 {
            return true;
        }
        // Some slots must stay empty, or looking for a key would not end.
        // SAFETY: a slot was put there just now.
        unsafe { self.remove(latest, hash_of) };
        false
    }

    /// Takes a slot out. The gap is closed by moving back what follows.
    ///
    /// # Safety
    /// The place is that of a slot which [`Owned::find`] found, and nothing was put in or removed since.
    #[inline(always)]
    pub unsafe fn remove(&self, place: usize, hash_of: impl Fn(&S) -> u64) {
        let (slots, mask) = (self.slots.get(), self.mask.get());
        let (mut hole, mut next) = (place, (place + 1) & mask);
        // SAFETY: as in `find`.
        unsafe {
            loop {
                let slot = slots.add(next);
                if (*slot).is_empty() {
                    break;
                }
                let home = self.home(hash_of(&*slot));
                if next.wrapping_sub(home) & mask >= next.wrapping_sub(hole) & mask {
                    *slots.add(hole) = *slot;
                    hole = next;
                }
                next = (next + 1) & mask;
            }
            (*slots.add(hole)).clear();
        }
        self.taken.set(self.taken.get() - 1);
    }

    /// Takes out all slots that are not needed any more.
    #[cold]
    #[inline(never)]
    pub fn sweep(&self, is_idle: impl Fn(&S) -> bool, hash_of: impl Fn(&S) -> u64) {
        let mut place = 0;
        while place < self.capacity() {
            // SAFETY: below the number of slots.
            let slot = unsafe { &*self.at(place) };
            if !slot.is_empty() && is_idle(slot) {
                // What comes here instead is looked at next.
                // SAFETY: there is a slot, and nothing was put in or removed since.
                unsafe { self.remove(place, &hash_of) };
            } else {
                place += 1;
            }
        }
    }

    /// Doubles the slots. False where there is no memory for it.
    #[cold]
    #[inline(never)]
    pub fn enlarge(&self, hash_of: &impl Fn(&S) -> u64) -> bool {
        let (old, old_slots) = (self.slots.get(), self.capacity());
        let Some(new) = table(old_slots * 2) else { return false };
        let (mask, byte_shift) = (old_slots * 2 - 1, self.byte_shift.get() - 1);
        let mut taken = 0;
        for place in 0..old_slots {
            // SAFETY: the old table has so many slots, and the new one twice as many.
            unsafe {
                let slot = *old.add(place);
                if !slot.is_empty() {
                    insert(new, mask, (hash_of(&slot) >> byte_shift) as usize >> Finder::<S>::BITS, slot);
                    taken += 1;
                }
            }
        }
        // What a handler of a signal finds that comes between these lies within the table, and looks as if it were not there.
        self.slots.set(new);
        compiler_fence(Ordering::AcqRel);
        self.mask.set(mask);
        self.byte_shift.set(byte_shift);
        self.taken.set(taken);
        // SAFETY: it came from `table` with this length, and nobody refers to it any more.
        unsafe { memory::free(old, old_slots) };
        true
    }
}

/// Finds the slots of a table.
#[derive(Clone, Copy)]
pub struct Finder<'a, S> {
    slots: *mut S,
    mask: usize,
    byte_shift: u32,
    table: PhantomData<&'a Owned<S>>,
}

impl<S> Finder<'_, S> {
    /// Of an address within a slot.
    const BITS: u32 = size_of::<S>().trailing_zeros();
    const SLOT_BYTES: usize = {
        assert!(size_of::<S>().is_power_of_two());
        size_of::<S>()
    };
}

impl<S: Slot> Finder<'_, S> {
    /// The address of the slot of which `is_it` is true.
    #[inline(always)]
    pub fn find(&self, hash: u64, is_it: impl Fn(&S) -> bool) -> Option<*mut S> {
        // SAFETY: so many slots there are, and so many bits a hash has.
        unsafe {
            assert_unchecked(self.byte_shift < u64::BITS);
            let mut at = (hash >> self.byte_shift) as usize & !(Self::SLOT_BYTES - 1);
            loop {
                let slot = self.slots.byte_add(at);
                if S::KEY_FIRST && is_it(&*slot) {
                    return Some(slot);
                }
                if (*slot).is_empty() {
                    return None;
                }
                if !S::KEY_FIRST && is_it(&*slot) {
                    return Some(slot);
                }
                at = (at + Self::SLOT_BYTES) & (self.mask * Self::SLOT_BYTES);
            }
        }
    }

    /// Whether a place is one of the table's, of which the address of a slot was told when the table was perhaps another one.
    #[inline(always)]
    pub fn has(&self, slot: *const S) -> bool {
        slot.addr().wrapping_sub(self.slots.addr()) <= self.mask * size_of::<S>()
    }
}

impl<S> Drop for Owned<S> {
    fn drop(&mut self) {
        // SAFETY: it came from `table` with this length, and slots are plain.
        unsafe { memory::free(self.slots.replace(ptr::null_mut()), self.mask.get() + 1) };
    }
}

/// Puts a slot in at the first empty place from one on.
///
/// # Safety
/// There are `mask + 1` slots, and one of them is empty.
#[inline(always)]
unsafe fn insert<S: Slot>(slots: *mut S, mask: usize, mut place: usize, slot: S) {
    // SAFETY: as demanded.
    unsafe {
        while !(*slots.add(place)).is_empty() {
            place = (place + 1) & mask;
        }
        slots.add(place).write(slot);
    }
}

#[cold]
fn table<S: Slot>(slots: usize) -> Option<*mut S> {
    let table = memory::array::<S>(slots)?.as_ptr();
    for place in 0..slots {
        // SAFETY: there is room for so many.
        unsafe { table.add(place).write(S::EMPTY) };
    }
    Some(table)
}
