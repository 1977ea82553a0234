//! What comes next where calls take turns: a halo exchange sends to one neighbor after the other, and sizes alternate. For each place where
//! calls are counted a thread keeps the one that came after it last: so the next call is found by comparisons, and not looked up. This is but a
//! guess, also because another place may have been put where that one was: whoever takes it asks whether it is what the call needs.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;

use commsee_runtime::table;
use vocabulary::shard::{self as image, Edge, SiteCell};

use crate::guest::latest::in_order;
use crate::shard::memory;

/// Where a call was counted, and which calls are counted there.
#[repr(C)]
pub struct Place {
    /// The bucket of its message: from how many bytes on, how many more it reaches, and its counters.
    pub lowest_bytes: Cell<u64>,
    pub reach_bytes: Cell<u64>,
    pub cell: Cell<*mut image::Cell>,
    /// The counters of its site in that bucket; null if not looked up.
    pub at_site: Cell<*mut SiteCell>,
    /// The rank that its message went to, and the counters of that.
    pub edge: Cell<*mut Edge>,
    pub destination: Cell<u32>,
    /// The place that came after it last, as [`Turns::number_of`] has it; of one that is in no table, what came after an earlier one.
    next: Cell<u32>,
}

/// In the place of a rank, where no message was sent: no family has such a one. (A program that passes it by mistake, to a library that then seems to
/// succeed, is counted as if it sent to nobody.)
pub const NO_DESTINATION: c_int = c_int::MIN;
/// No rank of any family, and not the one above: what stands beside it is being changed.
const NOT_KNOWN: u32 = NO_DESTINATION as u32 + 1;
/// No bucket begins so high: every size is out of its reach. So is that of a negative count which a program passes by mistake.
const NOTHING_BYTES: u64 = i64::MAX as u64 + 2;

impl Place {
    pub const fn none() -> Place {
        Place {
            lowest_bytes: Cell::new(NOTHING_BYTES),
            reach_bytes: Cell::new(0),
            cell: Cell::new(ptr::null_mut()),
            at_site: Cell::new(ptr::null_mut()),
            edge: Cell::new(ptr::null_mut()),
            destination: Cell::new(NO_DESTINATION as u32),
            next: Cell::new(0),
        }
    }

    /// Whether messages of so many bytes are counted there.
    #[inline(always)]
    pub fn reaches(&self, message_bytes: u64) -> bool {
        message_bytes.wrapping_sub(self.lowest_bytes.get()) <= self.reach_bytes.get()
    }

    #[inline(always)]
    pub fn at_site(&self) -> Option<*mut SiteCell> {
        Some(self.at_site.get()).filter(|place| !place.is_null())
    }

    // As in `shortcuts.rs`: nothing reaches it, and nothing goes there, while it changes.

    /// Becomes the same place, before the same next one.
    #[inline(always)]
    pub fn set(&self, other: &Place) {
        self.lowest_bytes.set(NOTHING_BYTES);
        self.destination.set(NOT_KNOWN);
        in_order();
        self.cell.set(other.cell.get());
        self.at_site.set(other.at_site.get());
        in_order();
        self.reach_bytes.set(other.reach_bytes.get());
        self.edge.set(other.edge.get());
        self.next.set(other.next.get());
        in_order();
        self.destination.set(other.destination.get());
        self.lowest_bytes.set(other.lowest_bytes.get());
    }

    /// Calls with so many bytes are counted there: the least, and how many more.
    #[inline(always)]
    pub fn set_cell(&self, (lowest_bytes, reach_bytes): (u64, u64), cell: *mut image::Cell) {
        self.lowest_bytes.set(NOTHING_BYTES);
        in_order();
        self.cell.set(cell);
        self.at_site.set(ptr::null_mut());
        in_order();
        self.reach_bytes.set(reach_bytes);
        in_order();
        self.lowest_bytes.set(lowest_bytes);
    }

    /// Messages to this rank are.
    #[inline(always)]
    pub fn set_edge(&self, destination: u32, edge: *mut Edge) {
        self.destination.set(NOT_KNOWN);
        in_order();
        self.edge.set(edge);
        in_order();
        self.destination.set(destination);
    }

    fn is_same(&self, other: &Place) -> bool {
        self.cell.get() == other.cell.get()
            && self.destination.get() == other.destination.get()
            && self.at_site.get() == other.at_site.get()
    }
}

/// What one thread knows of turns.
pub struct Turns {
    /// `PLACES` of them, each where its number says, until another one comes there. Before there is a table it is [`NONE`].
    table: Cell<*const Place>,
}

/// Never written to.
struct Unwritten(Place);

// SAFETY: see above.
unsafe impl Sync for Unwritten {}

static NONE: Unwritten = Unwritten(Place::none());

/// 48 KiB.
const PLACES: usize = 1024;
/// So many of 256 calls out of turn are learned from: it takes half as long as to look up, and many calls have no order.
const LEARNED: u8 = 64;

impl Turns {
    pub const fn none() -> Turns {
        Turns { table: Cell::new(&raw const NONE.0) }
    }

    /// What is thought to come after the latest place of a shortcut.
    #[inline(always)]
    pub fn next(&self, latest: &Place) -> &Place {
        self.at(latest.next.get())
    }

    #[inline(always)]
    fn at(&self, number: u32) -> &Place {
        // SAFETY: in the table, which is never freed; without one every number is 0.
        unsafe { &*self.table.get().byte_add(number as usize) }
    }

    /// Where a place is kept: as bytes from the first.
    #[inline(always)]
    fn number_of(place: &Place) -> u32 {
        let of_site = (place.at_site.get() as u64).rotate_left(24);
        let key = place.cell.get() as u64 ^ of_site ^ u64::from(place.destination.get()) << 32;
        (table::hash(key) >> (u64::BITS - PLACES.trailing_zeros())) as u32 * size_of::<Place>() as u32
    }

    /// A call is not the one that was thought to be next, as so many before it were not. `look_up` makes its place the latest, and is told
    /// whether it is learned from.
    #[inline(always)]
    pub fn learn<R>(&self, latest: &Place, misses: &Cell<u8>, look_up: impl FnOnce(bool) -> R) -> R {
        let so_far = misses.get();
        misses.set(so_far.wrapping_add(1));
        let (learns, before) = (so_far < LEARNED, Turns::number_of(latest));
        let result = look_up(learns);
        self.come_to(latest, learns.then_some(before));
        result
    }

    /// The latest place is a new one. From now on it comes after the one of the number `before`, if it is learned from.
    #[inline(never)]
    fn come_to(&self, latest: &Place, before: Option<u32>) {
        if ptr::eq(self.table.get(), &raw const NONE.0) && (before.is_none() || !self.make()) {
            return;
        }
        let number = Turns::number_of(latest);
        let kept = self.at(number);
        if kept.is_same(latest) {
            latest.next.set(kept.next.get());
        } else if before.is_some() {
            latest.next.set(0);
            kept.set(latest);
        }
        if let Some(before) = before {
            self.at(before).next.set(number);
        }
    }

    /// Whether there was memory for a table.
    #[cold]
    #[inline(never)]
    fn make(&self) -> bool {
        let Some(table) = memory::array::<Place>(PLACES) else { return false };
        for place in 0..PLACES {
            // SAFETY: there is room for so many.
            unsafe { table.add(place).write(Place::none()) };
        }
        self.table.set(table.as_ptr());
        true
    }
}
