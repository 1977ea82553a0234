//! What comes next where calls of one shortcut take turns: a halo exchange sends to one neighbor after the other, and sizes alternate. Each
//! shortcut has a ring of the places where its calls were counted, in the order in which they were: so the next one is found by a
//! comparison, and not looked up. It is but a guess. A call that is elsewhere is looked up, and enters the ring where it came.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;

use vocabulary::shard::{self as image, Edge, SiteCell};

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
    /// The place of the next call, as bytes from the first of [`Turns`]; 0 where none is known.
    next: Cell<u32>,
}

/// In the place of a rank, where no message was sent: no family has such a one.
pub const NO_DESTINATION: c_int = c_int::MIN;
/// No bucket begins so high: every size is out of its reach. So is that of a negative count which a program passes by mistake.
pub const NOTHING_BYTES: u64 = i64::MAX as u64 + 2;

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

    /// Becomes the same place, before the same next one.
    #[inline(always)]
    pub fn set(&self, other: &Place) {
        self.lowest_bytes.set(other.lowest_bytes.get());
        self.reach_bytes.set(other.reach_bytes.get());
        self.cell.set(other.cell.get());
        self.at_site.set(other.at_site.get());
        self.edge.set(other.edge.get());
        self.destination.set(other.destination.get());
        self.next.set(other.next.get());
    }
}

/// The rings of one thread.
pub struct Turns {
    /// As many as `MOST_PLACES`; the first one is none. Before there is a table it is [`NONE`].
    table: Cell<*const Place>,
    /// Where a place lies that was never taken, as [`Place::next`] has it, and the first that is free again.
    untaken: Cell<u32>,
    free: Cell<u32>,
}

/// Never written to.
struct Unwritten(Place);

// SAFETY: see above.
unsafe impl Sync for Unwritten {}

static NONE: Unwritten = Unwritten(Place::none());

const PLACE_BYTES: u32 = size_of::<Place>() as u32;
/// 96 KiB, of which the system gives what is written to.
const MOST_PLACES: u32 = 2048;
/// A ring that has not closed by then knows no order: it is given up. A stencil of all neighbors in three dimensions has 26.
const MOST_MISSES: u8 = 40;

impl Turns {
    pub const fn none() -> Turns {
        Turns { table: Cell::new(&raw const NONE.0), untaken: Cell::new(0), free: Cell::new(0) }
    }

    /// Where the next call is counted, if it takes its turn.
    #[inline(always)]
    pub fn next(&self, latest: &Place) -> &Place {
        self.at(latest.next.get())
    }

    #[inline(always)]
    fn at(&self, place: u32) -> &Place {
        // SAFETY: in the table, which is never freed.
        unsafe { &*self.table.get().byte_add(place as usize) }
    }

    /// The call that was counted in this place did not take its turn, as so many before it did not: from now on its turn is where it came.
    #[inline(always)]
    pub fn learn(&self, latest: &Place, misses: &Cell<u8>) {
        let before = misses.get();
        misses.set(before.wrapping_add(1));
        match before {
            ..MOST_MISSES => self.enter(latest),
            MOST_MISSES => self.forget(latest),
            // It is begun again after some more.
            _ => {}
        }
    }

    #[inline(never)]
    fn enter(&self, latest: &Place) {
        let Some(taken) = self.take() else { return };
        let next = latest.next.replace(taken);
        if next == 0 {
            self.at(taken).set(latest);
        } else {
            // What was thought to be next moves behind it.
            let here = self.at(next);
            self.at(taken).set(here);
            here.set(latest);
        }
    }

    /// A place that no ring has.
    fn take(&self) -> Option<u32> {
        let free = self.free.get();
        if free != 0 {
            self.free.set(self.at(free).next.get());
            return Some(free);
        }
        let untaken = self.untaken.get();
        if untaken == 0 {
            let table = memory::array::<Place>(MOST_PLACES as usize)?.as_ptr();
            // SAFETY: there is room for more than one.
            unsafe { table.write(Place::none()) };
            self.table.set(table);
            self.untaken.set(PLACE_BYTES);
            return self.take();
        }
        if untaken >= MOST_PLACES * PLACE_BYTES {
            return None;
        }
        self.untaken.set(untaken + PLACE_BYTES);
        Some(untaken)
    }

    /// Its places are other rings' from now on.
    #[cold]
    #[inline(never)]
    pub fn forget(&self, latest: &Place) {
        let last = latest.next.replace(0);
        if last != 0 {
            let first = self.at(last).next.replace(self.free.get());
            self.free.set(first);
        }
    }
}
