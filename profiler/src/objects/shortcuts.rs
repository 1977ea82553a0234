//! What a thread's calls of one operation over one communicator need, found by a few comparisons: their counters, the size of their datatype, the
//! messages to their destination. All of it is kept elsewhere too, and found there by what it means; so a shortcut may be
//! forgotten at any time. It spares a call four searches.

use std::cell::Cell;
use std::ptr::{self, NonNull};

use commsee_runtime::table;
use vocabulary::shard::{self as image, Edge};

use crate::mpi::abi::Word;
use crate::objects::records::Record;
use crate::shard::memory;

/// Two cache lines. All zeros are one that is for no call.
#[repr(C, align(64))]
pub struct Shortcut {
    /// The handle as the program passed it; for calls that complete requests, the address of the record.
    key: Cell<Word>,
    /// [`generation`](crate::guest::generation) when the record was looked up; [`NEVER`] where it holds for no further call.
    generation: Cell<u64>,
    /// The counters of the latest call's bucket: from how many bytes on, and how many more.
    lowest_bytes: Cell<u64>,
    reach_bytes: Cell<u64>,
    cell: Cell<*mut image::Cell>,
    /// The counters of messages to the rank that the latest one went to, one above it; 0 is none.
    edge: Cell<*mut Edge>,
    destination: Cell<u32>,
    operation: Cell<u16>,
    pub record: Cell<Record>,
    /// A predefined datatype, and the bytes of one element.
    datatype: Cell<Word>,
    datatype_bytes: Cell<u64>,
    /// The key of the counters, without a bucket.
    pub cells: Cell<u64>,
    /// The counters of receives whose message has not arrived, or null.
    pub pending: Cell<*mut image::Cell>,
}

const _: () = assert!(size_of::<Shortcut>() == 128);

/// The generation of what holds for no further call.
pub const NEVER: u64 = 0;
/// Added to the generation: calls that are only counted do not find it.
pub const NOT_QUICK: u64 = 1 << 63;
/// No handle of any family.
const NO_KEY: Word = Word::MAX;

/// Never written to.
struct Unused(Shortcut);

// SAFETY: see above.
unsafe impl Sync for Unused {}

/// One that is for no call, for whoever must point to one.
pub const fn unused() -> *const Shortcut {
    static UNUSED: Unused = Unused(Shortcut::none());
    &raw const UNUSED.0
}

impl Shortcut {
    const fn none() -> Shortcut {
        // SAFETY: it is made of numbers and addresses.
        unsafe { std::mem::zeroed() }
    }

    /// Whether it is for calls of this operation over this handle, and nothing that it tells has changed since.
    #[inline(always)]
    fn is_for(&self, key: Word, operation: u16, generation: u64) -> bool {
        self.key.get() == key && self.generation.get() == generation && self.operation.get() == operation
    }

    /// Makes it one for other calls, of which nothing else is known yet.
    pub fn begin(&self, key: Word, operation: u16, record: Record, cells: u64, generation: u64) {
        self.key.set(key);
        self.generation.set(generation);
        self.operation.set(operation);
        self.record.set(record);
        self.cells.set(cells);
        self.pending.set(ptr::null_mut());
        self.destination.set(0);
        self.datatype.set(NO_KEY);
        // No bucket begins so high: every size is out of its reach. So is that of a negative count which a program passes by mistake.
        self.lowest_bytes.set(i64::MAX as u64 + 2);
        self.reach_bytes.set(0);
    }

    /// Whether its counters are those of this key, which has no bucket, and those of receives that have not arrived are known.
    #[inline(always)]
    pub fn receives_in(&self, cells: u64) -> bool {
        self.cells.get() == cells && !self.pending.get().is_null()
    }

    /// The counters of a call with so many bytes, if they are those of the latest one.
    #[inline(always)]
    pub fn cell(&self, message_bytes: u64) -> Option<*mut image::Cell> {
        let is_reached = message_bytes.wrapping_sub(self.lowest_bytes.get()) <= self.reach_bytes.get();
        if is_reached { Some(self.cell.get()) } else { None }
    }

    /// `bounds`: the least and the most bytes of the bucket.
    pub fn set_cell(&self, (least, most): (u64, u64), cell: *mut image::Cell) {
        self.lowest_bytes.set(least);
        self.reach_bytes.set(most - least);
        self.cell.set(cell);
    }

    #[inline(always)]
    pub fn datatype_bytes(&self, datatype: Word) -> Option<u64> {
        if self.datatype.get() == datatype { Some(self.datatype_bytes.get()) } else { None }
    }

    /// Only of predefined datatypes, whose handles never mean anything else.
    pub fn set_datatype(&self, datatype: Word, bytes: u64) {
        self.datatype.set(datatype);
        self.datatype_bytes.set(bytes);
    }

    /// The counters of messages to a rank, which is not negative, if they are those of the latest one.
    #[inline(always)]
    pub fn edge(&self, destination: u32) -> Option<*mut Edge> {
        if self.destination.get() == destination.wrapping_add(1) { Some(self.edge.get()) } else { None }
    }

    pub fn set_edge(&self, destination: u32, edge: *mut Edge) {
        self.destination.set(destination.wrapping_add(1));
        self.edge.set(edge);
    }
}

/// The shortcuts of one thread: each in one of two places side by side. 128 KiB, of which few are touched.
pub struct Shortcuts(NonNull<Shortcut>);

const SLOTS: usize = 1024;

impl Shortcuts {
    /// None where there is no memory for them.
    pub fn new() -> Option<Shortcuts> {
        // In words: what is aligned further would be touched as a whole.
        const BYTES: usize = (SLOTS + 1) * size_of::<Shortcut>();
        let place = NonNull::new(memory::zeroed::<u64>(BYTES / size_of::<u64>()))?.cast::<u8>();
        // SAFETY: there is one more than is needed.
        Some(Shortcuts(unsafe { place.add(place.align_offset(align_of::<Shortcut>())) }.cast()))
    }

    #[inline(always)]
    fn home(key: Word, operation: u16) -> usize {
        let of_key = table::hash(key as u64) >> (u64::BITS - SLOTS.trailing_zeros());
        of_key as usize ^ (usize::from(operation).wrapping_mul(0x9e37) % SLOTS)
    }

    #[inline(always)]
    fn at(&self, place: usize) -> &Shortcut {
        // SAFETY: there are `SLOTS` of them, which are never freed.
        unsafe { &*self.0.as_ptr().add(place) }
    }

    /// That of calls of an operation over a handle.
    #[inline(always)]
    pub fn find(&self, key: Word, operation: u16, generation: u64) -> Option<&Shortcut> {
        let home = Shortcuts::home(key, operation);
        let places = [home, home ^ 1].into_iter().map(|place| self.at(place));
        places.into_iter().find(|shortcut| shortcut.is_for(key, operation, generation))
    }

    /// One that may become it.
    pub fn free(&self, key: Word, operation: u16, generation: u64) -> &Shortcut {
        let home = Shortcuts::home(key, operation);
        let is_busy = self.at(home).generation.get() == generation;
        self.at(if is_busy { home ^ 1 } else { home })
    }
}
