//! Counters by call site, where `COMMSEE_SITES` asks for them: whatever is counted in a cell is counted in one of its sites as well. The site is
//! that of the call which the thread is in.

use vocabulary::shard::SiteCell;

use crate::objects::requests::site;
use crate::objects::shortcuts::Shortcut;
use crate::sites;
use crate::thread::Thread;

/// Adds to the counters of a key.
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
    thread.counters.count_at_site(key, of_own_call(thread), work);
}

fn of_own_call(thread: &Thread) -> u32 {
    sites::of_call(thread.in_flight.caller() as usize)
}

/// One call that took so many ticks.
#[inline(always)]
pub fn call(thread: &Thread, key: u64, ticks: u64, moved: (u64, u64)) {
    count(thread, key, |cell| add(cell, ticks, moved));
}

pub fn add(cell: &mut SiteCell, ticks: u64, (sent, received): (u64, u64)) {
    cell.calls = cell.calls.wrapping_add(1);
    cell.ticks = cell.ticks.wrapping_add(ticks);
    cell.bytes_sent = cell.bytes_sent.wrapping_add(sent);
    cell.bytes_recv = cell.bytes_recv.wrapping_add(received);
}

/// What a request that is started now keeps of its call: its shortcut, or where calls are counted by call site, that.
#[inline(always)]
pub fn kept_by(thread: &Thread, shortcut: *const Shortcut) -> *const Shortcut {
    if sites::are_counted() { kept(thread) } else { shortcut }
}

#[cold]
#[inline(never)]
fn kept(thread: &Thread) -> *const Shortcut {
    site::as_number(of_own_call(thread))
}
