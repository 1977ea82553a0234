//! Counters by call site, where `COMMSEE_SITES` asks for them: whatever is counted in a cell is counted in one of its sites as well.
//!
//! On the short path the shortcut of the call knows them ([`of_shortcut`], [`receiving`]). Otherwise they are looked up by the address
//! that the call returns to, or by its stack ([`call`]).

use std::ptr;

use vocabulary::shard::{BUCKET_PENDING, Cell, SiteCell};

use crate::guest::short_path::{Path, Sited};
use crate::objects::requests::site;
use crate::objects::shortcuts::Shortcut;
use crate::sites;
use crate::thread::Thread;

/// Adds to the counters of a key, which bears the operation of the call that is being counted.
#[inline(always)]
pub fn count(thread: &Thread, key: u64, work: impl FnOnce(&mut SiteCell)) {
    if sites::are_counted() {
        count_now(thread, key, work);
    }
}

/// Apart, since most runs count no call sites.
#[cold]
#[inline(never)]
fn count_now(thread: &Thread, key: u64, work: impl FnOnce(&mut SiteCell)) {
    let caller = thread.in_flight.caller_of(Cell::operation_of(key));
    thread.counters.count_at_site(key, sites::of_call(caller as usize), work);
}

/// Whether calls of the path are counted by call site.
#[inline(always)]
pub fn are_counted_on<P: Path>() -> bool {
    P::IS_SITED || !P::IS_SHORT && sites::are_counted()
}

/// One call that took so many ticks.
#[inline(always)]
pub fn call(thread: &Thread, key: u64, ticks: u64, (sent, received): (u64, u64)) {
    count(thread, key, |cell| add(cell, ticks, (sent, received)));
}

/// The same for a call with a shortcut, which is counted in `cell`. `is_latest`: its bucket is that of the shortcut's latest call.
#[inline(always)]
pub fn of_shortcut<P: Path>(
    thread: &Thread,
    shortcut: &Shortcut,
    (cell, is_latest): (*const Cell, bool),
    ticks: u64,
    moved: (u64, u64),
) {
    if P::IS_SITED {
        match shortcut.at_site().filter(|_| is_latest) {
            // SAFETY: the counters that a shortcut knows are this thread's.
            Some(place) => add(unsafe { &mut *place }, ticks, moved),
            None => look_up(thread, shortcut, cell, ticks, moved),
        }
    } else if !P::IS_SHORT {
        // SAFETY: counters are never freed.
        call(thread, unsafe { (*cell).key }, ticks, moved);
    }
}

#[cold]
#[inline(never)]
fn look_up(thread: &Thread, shortcut: &Shortcut, cell: *const Cell, ticks: u64, moved: (u64, u64)) {
    // SAFETY: as above.
    let key = unsafe { (*cell).key };
    let Some((place, is_kept)) = thread.counters.at_site(key, shortcut.site.get()) else { return };
    // Without memory the shortcut may still be that of another bucket.
    if is_kept && ptr::eq(shortcut.only_cell(), cell) {
        shortcut.set_at_site(place);
    }
    // SAFETY: one of this thread's.
    add(unsafe { &mut *place }, ticks, moved);
}

/// The counters that a shortcut knows of its site; none on paths that count no sites.
#[derive(Clone, Copy)]
pub struct Site(*mut SiteCell);

impl Site {
    /// None where they have to be looked up.
    #[inline(always)]
    pub fn known<P: Path>(shortcut: &Shortcut) -> Option<Site> {
        if P::IS_SITED { shortcut.at_site().map(Site) } else { Some(Site(ptr::null_mut())) }
    }

    #[inline(always)]
    pub fn add(self, ticks: u64, moved: (u64, u64)) {
        if !self.0.is_null() {
            // SAFETY: the counters that a shortcut knows are this thread's.
            add(unsafe { &mut *self.0 }, ticks, moved);
        }
    }
}

/// A receive whose message has not arrived.
#[inline(always)]
pub fn receiving<P: Path>(thread: &Thread, shortcut: &Shortcut, ticks: u64) {
    if P::IS_SITED {
        match shortcut.pending_at_site() {
            // SAFETY: the counters that a shortcut knows are this thread's.
            Some(place) => add(unsafe { &mut *place }, ticks, (0, 0)),
            None => look_up_pending(thread, shortcut, ticks),
        }
    } else if !P::IS_SHORT {
        call(thread, shortcut.cells.get() | u64::from(BUCKET_PENDING), ticks, (0, 0));
    }
}

#[cold]
#[inline(never)]
fn look_up_pending(thread: &Thread, shortcut: &Shortcut, ticks: u64) {
    let key = shortcut.cells.get() | u64::from(BUCKET_PENDING);
    let Some((place, is_kept)) = thread.counters.at_site(key, shortcut.site.get()) else { return };
    if is_kept {
        shortcut.set_pending_at_site(place);
    }
    // SAFETY: one of this thread's.
    add(unsafe { &mut *place }, ticks, (0, 0));
}

#[inline(always)]
pub fn add(cell: &mut SiteCell, ticks: u64, (sent, received): (u64, u64)) {
    cell.calls = cell.calls.wrapping_add(1);
    cell.ticks = cell.ticks.wrapping_add(ticks);
    cell.bytes_sent = cell.bytes_sent.wrapping_add(sent);
    cell.bytes_recv = cell.bytes_recv.wrapping_add(received);
}

/// What a request that is started now keeps of its call, in the places of `shortcut` and `posted`: as `objects/requests/site.rs` reads them.
#[inline(always)]
pub fn kept_by<P: Path>(thread: &Thread, shortcut: &Shortcut, posted: impl FnOnce() -> u32) -> (*const Shortcut, u32) {
    if P::IS_SITED {
        // Without a timeline nothing else is kept there.
        (shortcut, shortcut.site.get())
    } else if !P::IS_SHORT && sites::are_counted() {
        (kept(thread, Cell::operation_of(shortcut.cells.get())), posted())
    } else {
        (shortcut, posted())
    }
}

/// The site of the latest call of an operation, as a request keeps it.
pub fn kept(thread: &Thread, operation: u16) -> *const Shortcut {
    site::as_number(sites::of_call(thread.in_flight.caller_of(operation) as usize))
}

/// A message has arrived, and its call is no pending one any more: of a shortcut that has just counted it in the bucket of its latest
/// call.
#[inline(always)]
pub fn arrived(thread: &Thread, shortcut: &Shortcut, ticks: u64, bytes: u64) {
    let subtract = |cell: &mut SiteCell| {
        cell.calls = cell.calls.wrapping_sub(1);
        cell.ticks = cell.ticks.wrapping_sub(ticks);
    };
    match shortcut.pending_at_site() {
        // SAFETY: the counters that a shortcut knows are this thread's.
        Some(place) => subtract(unsafe { &mut *place }),
        None => {
            let pending = shortcut.cells.get() | u64::from(BUCKET_PENDING);
            thread.counters.count_at_site(pending, shortcut.site.get(), subtract);
        }
    }
    of_shortcut::<Sited>(thread, shortcut, (shortcut.only_cell(), true), ticks, (0, bytes));
}
