//! Counters by call site, where `COMMSEE_SITES` asks for them: whatever is counted in a cell is counted in one of its sites as well.

use std::ptr;

use vocabulary::shard::{Cell, SiteCell};

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

/// One call that took so many ticks.
#[inline(always)]
pub fn call(thread: &Thread, key: u64, ticks: u64, (sent, received): (u64, u64)) {
    count(thread, key, |cell| add(cell, ticks, (sent, received)));
}

pub fn add(cell: &mut SiteCell, ticks: u64, (sent, received): (u64, u64)) {
    cell.calls = cell.calls.wrapping_add(1);
    cell.ticks = cell.ticks.wrapping_add(ticks);
    cell.bytes_sent = cell.bytes_sent.wrapping_add(sent);
    cell.bytes_recv = cell.bytes_recv.wrapping_add(received);
}

/// What a request that is started now keeps in the place of a shortcut, which is for the short path alone: the site of its call, by the
/// operation.
pub fn kept(thread: &Thread, operation: u16) -> *const Shortcut {
    ptr::without_provenance(sites::of_call(thread.in_flight.caller_of(operation) as usize) as usize)
}

/// The site that a request has kept.
pub fn of_kept(kept: *const Shortcut) -> u32 {
    kept.addr() as u32
}
