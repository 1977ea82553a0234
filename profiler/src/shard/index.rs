//! How a thread finds its counters in the shard.

use std::cell::{Cell as Interior, UnsafeCell};
use std::ptr::{self, NonNull};
use std::sync::atomic::{Ordering, fence};

use vocabulary::shard::{BLOCK_HEADER_BYTES, BlockHeader, CELLS, Cell, EDGES, Edge, TRANSFERS, Transfer, USES, Use};

use bytemuck::Zeroable;

use crate::shard::{self, memory};

/// Size of a thread's first block of counters; each further one is twice as large, up to the second number.
const BLOCK_BYTES: (usize, usize) = (4 << 10, 64 << 10);

/// Entries of one kind in the shard, found by key: open addressing with at most half of the slots taken. A slot has half of the
/// key's hash, so that strangers are passed by without a look at them, and the entry's distance from the shard's begin in words: half
/// of a pointer and a key. It is one thread's own, and none of its functions calls what could come back to it.
pub struct Index<T> {
    slots: Interior<*mut Slot>,
    mask: Interior<usize>,
    shift: Interior<u32>,
    taken: Interior<usize>,
    /// Where the shard begins.
    base: usize,
    block: Interior<*mut BlockHeader>,
    capacity: Interior<usize>,
    next_bytes: Interior<usize>,
    /// Takes what finds no room, so that counting goes on without a test.
    overflow: UnsafeCell<T>,
}

/// What an index finds.
pub trait Keyed: Copy + Zeroable {
    type Key: Key;
    const KIND: u32;
    fn key(&self) -> Self::Key;
}

pub trait Key: Copy + Eq {
    fn hash(self) -> u64;
}

impl Key for u64 {
    #[inline(always)]
    fn hash(self) -> u64 {
        self.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

impl Key for [u64; 2] {
    #[inline(always)]
    fn hash(self) -> u64 {
        (self[0].wrapping_mul(0xff51_afd7_ed55_8ccd) ^ self[1]).hash()
    }
}

/// Entries whose field `key` is their key.
macro_rules! keyed {
    ($($entry:ty, $key:ty, $kind:expr;)*) => {
        $(impl Keyed for $entry {
            type Key = $key;
            const KIND: u32 = $kind;
            #[inline(always)]
            fn key(&self) -> $key {
                self.key
            }
        })*
    };
}

keyed! {
    Cell, u64, CELLS;
    Edge, u64, EDGES;
    Use, u64, USES;
    Transfer, [u64; 2], TRANSFERS;
}

#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Slot {
    /// 0 is no entry: the shard begins with its header.
    place: u32,
    hash: u32,
}

const EMPTY: Slot = Slot { place: 0, hash: 0 };
const PLACE_BYTES: usize = 8;

/// The digits in the middle: below they do not depend on the communicator, and those above have led to the slot.
#[inline(always)]
fn half(hash: u64) -> u32 {
    (hash >> 16) as u32
}

const FIRST_SLOTS: usize = 64;

impl<T: Keyed> Index<T> {
    /// None where there is no memory for it.
    pub fn new() -> Option<Index<T>> {
        let slots = table(FIRST_SLOTS)?;
        Some(Index {
            slots: Interior::new(slots),
            mask: Interior::new(FIRST_SLOTS - 1),
            shift: Interior::new(64 - FIRST_SLOTS.trailing_zeros()),
            taken: Interior::new(0),
            base: shard::base(),
            block: Interior::new(ptr::null_mut()),
            capacity: Interior::new(0),
            next_bytes: Interior::new(BLOCK_BYTES.0),
            overflow: UnsafeCell::new(T::zeroed()),
        })
    }

    #[inline(always)]
    pub fn find(&self, key: T::Key) -> Option<*mut T> {
        let hash = key.hash();
        let (slots, mask) = (self.slots.get(), self.mask.get());
        let mut at = (hash >> self.shift.get()) as usize;
        loop {
            // SAFETY: `at` is masked, and the table has `mask + 1` slots, not all of them taken.
            let slot = unsafe { *slots.add(at) };
            if slot.place == EMPTY.place {
                return None;
            }
            let entry = (self.base + slot.place as usize * PLACE_BYTES) as *mut T;
            // SAFETY: places are those of live entries of this thread.
            if slot.hash == half(hash) && unsafe { (*entry).key() } == key {
                return Some(entry);
            }
            at = (at + 1) & mask;
        }
    }

    #[inline(always)]
    pub fn expect(&self, key: T::Key) {
        let slot = self.slots.get().wrapping_add((key.hash() >> self.shift.get()) as usize);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint, whatever the address.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(slot.cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = slot;
    }

    /// A new entry. What finds no room is lost: its place is then one that nobody reads.
    #[cold]
    #[inline(never)]
    pub fn add(&self, key: T::Key, entry: T) -> *mut T {
        let Some(place) = self.has_slot().then(|| self.place()).flatten() else {
            memory::lose_call();
            // SAFETY: this thread's own, and large enough for any entry.
            unsafe { self.overflow.get().write(entry) };
            return self.overflow.get();
        };
        // SAFETY: `place` found room for one entry behind the used ones.
        unsafe {
            place.as_ptr().write(entry);
            fence(Ordering::Release);
            (*self.block.get()).used += 1;
        }
        self.insert(key.hash(), ((place.as_ptr() as usize - self.base) / PLACE_BYTES) as u32);
        place.as_ptr()
    }

    /// Whether the table takes one more entry. Half of it stays empty, less where there is no memory for a larger one.
    fn has_slot(&self) -> bool {
        let (taken, slots) = (self.taken.get() + 1, self.mask.get() + 1);
        taken * 2 <= slots || self.enlarge() || taken * 8 <= slots * 7
    }

    fn insert(&self, hash: u64, place: u32) {
        let mut at = (hash >> self.shift.get()) as usize;
        // SAFETY: as in `find`.
        unsafe {
            while (*self.slots.get().add(at)).place != EMPTY.place {
                at = (at + 1) & self.mask.get();
            }
            *self.slots.get().add(at) = Slot { place, hash: half(hash) };
        }
        self.taken.set(self.taken.get() + 1);
    }

    fn enlarge(&self) -> bool {
        let (old, old_slots) = (self.slots.get(), self.mask.get() + 1);
        let Some(new) = table(old_slots * 2) else { return false };
        self.slots.set(new);
        self.mask.set(old_slots * 2 - 1);
        self.shift.set(self.shift.get() - 1);
        self.taken.set(0);
        for at in 0..old_slots {
            // SAFETY: the old table has so many slots.
            let slot = unsafe { *old.add(at) };
            if slot.place != EMPTY.place {
                // SAFETY: as in `find`.
                let key = unsafe { (*((self.base + slot.place as usize * PLACE_BYTES) as *const T)).key() };
                self.insert(key.hash(), slot.place);
            }
        }
        // SAFETY: it came from `table` with this length, and nobody else refers to it.
        unsafe { memory::free(old, old_slots) };
        true
    }

    /// Room for one more entry in this thread's current block, or in a new one.
    fn place(&self) -> Option<NonNull<T>> {
        // SAFETY: `block` is null or one of this thread's live blocks.
        let used = || unsafe { self.block.get().as_ref() }.map_or(0, |block| block.used as usize);
        if used() >= self.capacity.get() {
            let bytes = self.next_bytes.get();
            self.block.set(shard::block(T::KIND, bytes)?.as_ptr());
            self.capacity.set((bytes - BLOCK_HEADER_BYTES) / size_of::<T>());
            self.next_bytes.set((bytes * 2).min(BLOCK_BYTES.1));
        }
        let entries = self.block.get() as usize + BLOCK_HEADER_BYTES;
        NonNull::new((entries + used() * size_of::<T>()) as *mut T)
    }
}

fn table(slots: usize) -> Option<*mut Slot> {
    let table = memory::array::<Slot>(slots)?.as_ptr();
    // SAFETY: room for so many. Slots of zeros are empty.
    unsafe { table.write_bytes(0, slots) };
    Some(table)
}
