//! How a thread finds its counters in the shard.

use std::cell::{Cell as Interior, UnsafeCell};
use std::ptr::{self, NonNull};
use std::sync::atomic::{Ordering, fence};

use vocabulary::shard::{
    BLOCK_HEADER_BYTES, BlockHeader, CELLS, COMPLETED, Cell, Completed, EDGES, Edge, FILE_CELLS, FileCell, SITE_CELLS,
    SiteCell, TRANSFERS, Transfer, USES, Use,
};

use bytemuck::Zeroable;
use commsee_runtime::table::{self, Owned};

use crate::shard::{self, memory};

/// Size of a thread's first block of counters; each further one is twice as large, up to the second number.
const BLOCK_BYTES: (usize, usize) = (4 << 10, 64 << 10);

/// Entries of one kind in the shard, found by key. A slot has half of the
/// key's hash, so that strangers are passed by without a look at them, and the entry's distance from the shard's begin in words: half
/// of a pointer and a key. It is one thread's own, and none of its functions calls what could come back to it.
pub struct Index<T> {
    table: Owned<Slot>,
    /// Where the shard begins.
    base: usize,
    /// It knows how many of its entries are used, and nobody else does: a handler of a signal may leave by a jump at any time.
    block: Interior<*mut BlockHeader>,
    /// How many entries it has room for.
    capacity: Interior<u32>,
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
        table::hash(self)
    }
}

impl Key for [u64; 2] {
    #[inline(always)]
    fn hash(self) -> u64 {
        table::hash_pair(self)
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
    Completed, [u64; 2], COMPLETED;
}

impl Keyed for FileCell {
    type Key = [u64; 2];
    const KIND: u32 = FILE_CELLS;
    #[inline(always)]
    fn key(&self) -> [u64; 2] {
        self.key()
    }
}

impl Keyed for SiteCell {
    type Key = [u64; 2];
    const KIND: u32 = SITE_CELLS;
    #[inline(always)]
    fn key(&self) -> [u64; 2] {
        self.key()
    }
}

#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Slot {
    /// 0 is no entry: the shard begins with its header.
    place: u32,
    hash: u32,
}

impl table::Slot for Slot {
    const EMPTY: Slot = Slot { place: 0, hash: 0 };

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.place == 0
    }

    fn clear(&mut self) {
        self.place = 0;
    }
}

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
        Some(Index {
            table: Owned::new(FIRST_SLOTS)?,
            base: shard::base(),
            block: Interior::new((&raw const NO_BLOCK).cast_mut()),
            capacity: Interior::new(0),
            next_bytes: Interior::new(BLOCK_BYTES.0),
            overflow: UnsafeCell::new(T::zeroed()),
        })
    }

    #[inline(always)]
    fn entry(&self, slot: &Slot) -> *mut T {
        (self.base + slot.place as usize * PLACE_BYTES) as *mut T
    }

    #[inline(always)]
    pub fn find(&self, key: T::Key) -> Option<*mut T> {
        let hash = key.hash();
        // SAFETY: places are those of live entries of this thread.
        let is_it = |slot: &Slot| slot.hash == half(hash) && unsafe { (*self.entry(slot)).key() } == key;
        let slot = self.table.finder().find(hash, is_it)?;
        // SAFETY: it was found there.
        Some(self.entry(unsafe { &*slot }))
    }

    /// Whether an entry has a place of its own, and not that of all that find no room.
    pub fn is_kept(&self, entry: *mut T) -> bool {
        !ptr::eq(entry, self.overflow.get())
    }

    /// A new entry. What finds no room is lost: its place is then one that nobody reads.
    #[cold]
    #[inline(never)]
    pub fn add(&self, key: T::Key, entry: T) -> *mut T {
        // SAFETY: places are those of live entries of this thread.
        let hash_of = |slot: &Slot| unsafe { (*self.entry(slot)).key() }.hash();
        let place = self.put(self.table.reserve(hash_of).then(|| self.place()).flatten(), entry);
        if self.is_kept(place) {
            let hash = key.hash();
            let place_in_shard = ((place as usize - self.base) / PLACE_BYTES) as u32;
            self.table.insert(hash, Slot { place: place_in_shard, hash: half(hash) });
        }
        place
    }

    /// A new entry that is not looked for again.
    #[inline(always)]
    pub fn add_apart(&self, entry: T) {
        self.put(self.place(), entry);
    }

    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.used() < self.capacity.get()
    }

    /// Puts an entry where `place` has found room for it, if it has.
    #[inline(always)]
    fn put(&self, place: Option<NonNull<T>>, entry: T) -> *mut T {
        let Some(place) = place else {
            memory::lose_call();
            // SAFETY: this thread's own, and large enough for any entry.
            unsafe { self.overflow.get().write(entry) };
            return self.overflow.get();
        };
        // SAFETY: there is room for one entry behind the used ones.
        unsafe {
            place.as_ptr().write(entry);
            fence(Ordering::Release);
            (*self.block.get()).used += 1;
        }
        place.as_ptr()
    }

    #[inline(always)]
    fn used(&self) -> u32 {
        // SAFETY: this thread's own, or the one that nobody writes to.
        unsafe { (*self.block.get()).used }
    }

    /// Room for one more entry in this thread's current block, or in a new one.
    #[inline(always)]
    fn place(&self) -> Option<NonNull<T>> {
        if !self.has_room() {
            self.next_block()?;
        }
        // SAFETY: within a block.
        unsafe {
            let first = self.block.get().byte_add(BLOCK_HEADER_BYTES).cast::<T>();
            Some(NonNull::new_unchecked(first.add(self.used() as usize)))
        }
    }

    #[cold]
    #[inline(never)]
    fn next_block(&self) -> Option<()> {
        let bytes = self.next_bytes.get();
        self.block.set(shard::block(T::KIND, bytes)?.as_ptr());
        // It has no less room than the one before.
        // SAFETY: this thread's own, of which its header tells how large it is.
        let bytes_there = unsafe { (*self.block.get()).bytes } as usize;
        self.capacity.set(((bytes_there - BLOCK_HEADER_BYTES) / size_of::<T>()) as u32);
        self.next_bytes.set((bytes * 2).min(BLOCK_BYTES.1));
        Some(())
    }
}

/// Before there is one. Never written to, since it has no room.
static NO_BLOCK: BlockHeader = BlockHeader { magic: 0, kind: 0, bytes: 0, used: 0, reserved: [0; 12] };
