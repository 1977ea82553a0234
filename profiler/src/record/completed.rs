//! What calls that complete requests have completed, and what they waited for: a call that completed one request waited for it, one that
//! completed several for those that received. Which of these was the last one the library does not tell, so that the call is charged
//! to all of them if they were alike, and to none otherwise.

use std::sync::atomic::{Ordering, compiler_fence};

use vocabulary::shard::{BUCKET_FAILED, Cell, Completed, FREED, NO_OPERATION, OWN_SIZE, REMOTE_RANK};

use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::mpi::status;
use crate::objects::communicators::{self, Record};
use crate::objects::requests::Kind;
use crate::objects::shortcuts::{self, Shortcut};
use crate::thread::Thread;

/// The counters that tell how a request was started, and by which size. Nobody's, where that is not known.
pub type Started = *const Cell;

pub const UNKNOWN: Started = shortcuts::unused().cast();

/// Not known, or none.
pub const NO_PEER: u64 = 0;

/// A request that has completed.
#[derive(Clone, Copy)]
pub struct One {
    pub kind: Kind,
    pub started: Started,
    pub bytes: u64,
}

/// What a call over several requests has completed so far. It looks where such calls counted last, and keeps no more than it must, since
/// little more finds room in registers.
#[derive(Clone, Copy)]
pub struct Completions<'a> {
    thread: &'a Thread,
    /// That of the call.
    shortcut: &'a Shortcut,
    /// Of the bits below.
    seen: u32,
}

const RECEIVED: u32 = 1;
const OTHER: u32 = 2;
/// They were started in several ways.
const MIXED_RECEIVED: u32 = 4;
const MIXED_OTHERS: u32 = 8;

impl<'a> Completions<'a> {
    #[inline(always)]
    pub fn of(thread: &'a Thread, shortcut: &'a Shortcut) -> Completions<'a> {
        shortcut.forget_peer();
        Completions { thread, shortcut, seen: 0 }
    }

    #[inline(always)]
    pub fn add(&mut self, one: One) {
        if one.kind.receives() { self.received(one.started, one.bytes) } else { self.other(one.started) }
    }

    #[inline(always)]
    pub fn received(&mut self, started: Started, bytes: u64) {
        let entry = match self.shortcut.completed_by_all(started) {
            Some(entry) => entry,
            None => {
                self.seen |= if self.seen & RECEIVED != 0 { MIXED_RECEIVED } else { 0 };
                found(self.thread, self.shortcut, started, NO_PEER)
            }
        };
        self.seen |= RECEIVED;
        count_received(entry, bytes);
    }

    #[inline(always)]
    pub fn other(&mut self, started: Started) {
        let entry = match self.shortcut.completed_other(started) {
            Some(entry) => entry,
            None => {
                self.seen |= if self.seen & OTHER != 0 { MIXED_OTHERS } else { 0 };
                found_of_other(self.thread, self.shortcut, started)
            }
        };
        self.seen |= OTHER;
        count_other(entry);
    }

    /// The call took so many ticks.
    #[inline(always)]
    pub fn end(self, ticks: u64) {
        let entry = match self.seen {
            seen if seen & (RECEIVED | MIXED_RECEIVED) == RECEIVED => self.shortcut.latest_completed(),
            seen if seen & (RECEIVED | OTHER | MIXED_OTHERS) == OTHER => self.shortcut.latest_completed_other(),
            _ => return,
        };
        // SAFETY: as above.
        unsafe { (*entry).ticks = (*entry).ticks.wrapping_add(ticks) };
    }
}

/// One is counted that received.
#[inline(always)]
fn count_received(entry: *mut Completed, bytes: u64) {
    // SAFETY: one of this thread's.
    unsafe {
        (*entry).requests = (*entry).requests.wrapping_add(1);
        // Two additions to memory are two instructions; as a vector they would be seven.
        compiler_fence(Ordering::AcqRel);
        (*entry).bytes = (*entry).bytes.wrapping_add(bytes);
    }
}

/// One is that did not.
#[inline(always)]
fn count_other(entry: *mut Completed) {
    // SAFETY: as above.
    unsafe { (*entry).requests = (*entry).requests.wrapping_add(1) };
}

/// Requests of a call that may have completed several, or one, from a peer.
pub struct Ones<'a> {
    thread: &'a Thread,
    /// That of the call; none where it is not counted.
    shortcut: Option<&'a Shortcut>,
    first: Option<(One, u64)>,
    all: Option<Completions<'a>>,
}

impl<'a> Ones<'a> {
    #[inline(always)]
    pub fn of(thread: &'a Thread, shortcut: Option<&'a Shortcut>) -> Ones<'a> {
        Ones { thread, shortcut, first: None, all: None }
    }

    #[inline(always)]
    pub fn add(&mut self, one: One, peer: impl FnOnce() -> u64) {
        let Some(shortcut) = self.shortcut else { return };
        match (&mut self.all, self.first) {
            (Some(all), _) => all.add(one),
            (None, None) => self.first = Some((one, if one.kind.receives() { peer() } else { NO_PEER })),
            (None, Some((first, _))) => {
                let mut all = Completions::of(self.thread, shortcut);
                all.add(first);
                all.add(one);
                self.all = Some(all);
            }
        }
    }

    #[inline(always)]
    pub fn end(self, ticks: u64) {
        let Some(shortcut) = self.shortcut else { return };
        match (self.all, self.first) {
            (Some(all), _) => all.end(ticks),
            (None, Some((one, peer))) => single(self.thread, shortcut, one, ticks, || peer),
            (None, None) => {}
        }
    }
}

/// A call that completed one request.
#[inline(always)]
pub fn single(thread: &Thread, shortcut: &Shortcut, one: One, ticks: u64, peer: impl FnOnce() -> u64) {
    match one.kind.receives() {
        true => single_received(thread, shortcut, one.started, (one.bytes, peer()), ticks),
        false => single_other(thread, shortcut, one.started, ticks),
    }
}

/// The same of one that received, from a peer.
#[inline(always)]
pub fn single_received(thread: &Thread, shortcut: &Shortcut, started: Started, (bytes, peer): (u64, u64), ticks: u64) {
    add(entry(thread, shortcut, started, peer), 1, bytes, ticks);
}

/// The same of one that did not.
#[inline(always)]
pub fn single_other(thread: &Thread, shortcut: &Shortcut, started: Started, ticks: u64) {
    add(entry_of_other(thread, shortcut, started), 1, 0, ticks);
}

#[inline(always)]
fn add(entry: *mut Completed, requests: u64, bytes: u64, ticks: u64) {
    // SAFETY: one of this thread's.
    let entry = unsafe { &mut *entry };
    entry.requests = entry.requests.wrapping_add(requests);
    // As above.
    compiler_fence(Ordering::AcqRel);
    entry.bytes = entry.bytes.wrapping_add(bytes);
    entry.ticks = entry.ticks.wrapping_add(ticks);
}

#[inline(always)]
fn entry(thread: &Thread, shortcut: &Shortcut, started: Started, peer: u64) -> *mut Completed {
    shortcut.completed(started, peer).unwrap_or_else(|| found(thread, shortcut, started, peer))
}

#[inline(always)]
fn entry_of_other(thread: &Thread, shortcut: &Shortcut, started: Started) -> *mut Completed {
    shortcut.completed_other(started).unwrap_or_else(|| found_of_other(thread, shortcut, started))
}

#[inline(never)]
fn found(thread: &Thread, shortcut: &Shortcut, started: Started, peer: u64) -> *mut Completed {
    let entry = counted(thread, shortcut, started, peer);
    shortcut.set_completed(started, peer, entry);
    entry
}

#[inline(never)]
fn found_of_other(thread: &Thread, shortcut: &Shortcut, started: Started) -> *mut Completed {
    let entry = counted(thread, shortcut, started, NO_PEER);
    shortcut.set_completed_other(started, entry);
    entry
}

fn counted(thread: &Thread, shortcut: &Shortcut, started: Started, peer: u64) -> *mut Completed {
    let calls = shortcut.cells.get();
    thread.counters.completed_lately(calls, started, peer).unwrap_or_else(|| looked_up(thread, shortcut, started, peer))
}

#[cold]
#[inline(never)]
fn looked_up(thread: &Thread, shortcut: &Shortcut, started: Started, peer: u64) -> *mut Completed {
    let (operation, bucket) = match started == UNKNOWN {
        true => (NO_OPERATION, 0),
        false => {
            // SAFETY: counters are never freed, and their keys never change.
            let key = unsafe { (*started).key };
            let bucket = key as u8;
            (Cell::operation_of(key), if bucket < BUCKET_FAILED { bucket & !OWN_SIZE } else { 0 })
        }
    };
    let calls = shortcut.cells.get();
    let with = |peer: u64| Completed::started(operation, bucket, peer as u32);
    if let Some(known) = thread.counters.completed([calls, with(peer)]) {
        thread.counters.keep_completed(calls, started, peer, known);
        return known;
    }
    match world_rank(shortcut.record.get(), peer) {
        Some(world_rank) => thread.counters.new_completed(Completed::new(calls, with(peer), world_rank)),
        None => thread
            .counters
            .completed([calls, with(NO_PEER)])
            .unwrap_or_else(|| thread.counters.new_completed(Completed::new(calls, with(NO_PEER), REMOTE_RANK))),
    }
}

/// Asked for the first message from each rank.
fn world_rank(record: Record, peer: u64) -> Option<u32> {
    let rank = i32::try_from(peer.checked_sub(1)?).ok()?;
    // SAFETY: records are never freed.
    let communicator = unsafe { *record };
    // Another thread may free it at any time, while its last messages arrive.
    let may_be_freed = communicator.flags & FREED != 0 || state::is_threaded() && communicator.letter != b'W';
    if may_be_freed || communicator.handle == 0 {
        return None;
    }
    // A status that the library did not fill may name a rank that is none: MPICH's of MPI_Isendrecv, or that of a request which was
    // completed and started again where nobody could see it. To ask for it would end the program.
    if !communicator.has_peer(rank) {
        return None;
    }
    // SAFETY: the communicator is there.
    Some(unsafe { communicators::world_rank_of(record, communicator.handle as Word, rank) }.unwrap_or(REMOTE_RANK))
}

/// From whom a message of a completed receive came, as [`Completed::started`] takes it. The status of one without bytes may be of
/// `MPI_PROC_NULL` or of a cancelled one, of which libraries leave anything in it.
#[inline(always)]
pub unsafe fn peer(status: Word) -> u64 {
    if status == 0 || status == abi().status_ignore {
        return NO_PEER;
    }
    // SAFETY: the caller passes a status that the library has filled.
    let (source, _) = unsafe { status::source_and_tag(status) };
    if source < 0 { NO_PEER } else { source as u64 + 1 }
}
