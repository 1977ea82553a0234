//! How a thread finds its counters in the shard.

use std::ptr::{self, NonNull};
use std::sync::atomic::{Ordering, fence};

use vocabulary::shard::{BLOCK_HEADER_BYTES, BlockHeader, CELLS, Cell, EDGES, Edge, TRANSFERS, Transfer, USES, Use};

use crate::shard;

/// Size of a thread's first block of counters; each further one is twice as large, up to the second number.
const BLOCK_BYTES: (usize, usize) = (4 << 10, 64 << 10);

/// Entries of one kind in the shard, found by key: open addressing with at most half of the slots taken. A slot has half of the
/// key's hash, so that strangers are passed by without a look at them, and the entry's distance from the shard's begin in words: half
/// of a pointer and a key.
pub struct Index<T> {
    slots: *mut Slot,
    mask: usize,
    shift: u32,
    taken: usize,
    /// Where the shard begins.
    base: usize,
    block: *mut BlockHeader,
    capacity: usize,
    next_bytes: usize,
    /// Takes what finds no room in the shard, so that counting goes on without a test.
    overflow: Option<Box<T>>,
}

/// What an index finds.
pub trait Keyed: Copy {
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

impl<T: Keyed> Index<T> {
    pub fn new() -> Index<T> {
        let (slots, mask, shift) = table(64);
        Index {
            slots,
            mask,
            shift,
            taken: 0,
            base: shard::base(),
            block: ptr::null_mut(),
            capacity: 0,
            next_bytes: BLOCK_BYTES.0,
            overflow: None,
        }
    }

    #[inline(always)]
    pub fn find(&self, key: T::Key) -> Option<*mut T> {
        let hash = key.hash();
        let mut at = (hash >> self.shift) as usize;
        loop {
            // SAFETY: `at` is masked, and the table has `mask + 1` slots, at least half of them empty.
            let slot = unsafe { *self.slots.add(at) };
            if slot.place == EMPTY.place {
                return None;
            }
            let entry = (self.base + slot.place as usize * PLACE_BYTES) as *mut T;
            // SAFETY: places are those of live entries of this thread.
            if slot.hash == half(hash) && unsafe { (*entry).key() } == key {
                return Some(entry);
            }
            at = (at + 1) & self.mask;
        }
    }

    #[inline(always)]
    pub fn expect(&self, key: T::Key) {
        let slot = self.slots.wrapping_add((key.hash() >> self.shift) as usize);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint, whatever the address.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(slot.cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = slot;
    }

    #[cold]
    #[inline(never)]
    pub fn add(&mut self, key: T::Key, entry: T) -> *mut T {
        let Some(place) = self.place() else {
            if let Some(header) = shard::header() {
                header.lost_calls += 1;
            }
            return &mut **self.overflow.get_or_insert_with(|| Box::new(entry));
        };
        // SAFETY: `place` found room for one entry behind the used ones.
        unsafe {
            place.as_ptr().write(entry);
            fence(Ordering::Release);
            (*self.block).used += 1;
        }
        if self.taken * 2 > self.mask {
            self.enlarge();
        }
        self.insert(key.hash(), ((place.as_ptr() as usize - self.base) / PLACE_BYTES) as u32);
        place.as_ptr()
    }

    fn insert(&mut self, hash: u64, place: u32) {
        let mut at = (hash >> self.shift) as usize;
        // SAFETY: as in `find`.
        unsafe {
            while (*self.slots.add(at)).place != EMPTY.place {
                at = (at + 1) & self.mask;
            }
            *self.slots.add(at) = Slot { place, hash: half(hash) };
        }
        self.taken += 1;
    }

    fn enlarge(&mut self) {
        let (old, old_slots) = (self.slots, self.mask + 1);
        (self.slots, self.mask, self.shift) = table(old_slots * 2);
        self.taken = 0;
        // SAFETY: the old table came from `table` with this length, and nobody else refers to it.
        let old = unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(old, old_slots)) };
        for slot in old.iter().filter(|slot| slot.place != EMPTY.place) {
            // SAFETY: as in `find`.
            let key = unsafe { (*((self.base + slot.place as usize * PLACE_BYTES) as *const T)).key() };
            self.insert(key.hash(), slot.place);
        }
    }

    /// Room for one more entry in this thread's current block, or in a new one.
    fn place(&mut self) -> Option<NonNull<T>> {
        // SAFETY: `block` is null or one of this thread's live blocks.
        let used = unsafe { self.block.as_ref() }.map_or(0, |block| block.used as usize);
        if used >= self.capacity {
            self.block = shard::block(T::KIND, self.next_bytes)?.as_ptr();
            self.capacity = (self.next_bytes - BLOCK_HEADER_BYTES) / size_of::<T>();
            self.next_bytes = (self.next_bytes * 2).min(BLOCK_BYTES.1);
            return self.place();
        }
        let entries = self.block as usize + BLOCK_HEADER_BYTES;
        NonNull::new((entries + used * size_of::<T>()) as *mut T)
    }
}

fn table(slots: usize) -> (*mut Slot, usize, u32) {
    let table: Box<[Slot]> = vec![EMPTY; slots].into();
    (Box::into_raw(table).cast(), slots - 1, 64 - slots.trailing_zeros())
}
