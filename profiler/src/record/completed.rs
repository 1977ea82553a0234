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
use crate::objects::shortcuts;
use crate::thread::Thread;
use crate::thread::counters::{Alike, LatelyCompleted};

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

/// A call that completes requests: the communicator that it is counted on, and the key of its counters, without a bucket.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub thread: &'a Thread,
    record: Record,
    key: u64,
}

impl<'a> Call<'a> {
    #[inline(always)]
    pub fn new(thread: &'a Thread, record: Record, key: u64) -> Call<'a> {
        Call { thread, record, key }
    }

    /// It completed this request alone.
    #[inline(always)]
    pub fn single(self, one: One, ticks: u64, peer: impl FnOnce() -> u64) {
        let entry = self.entry(one.started, if one.kind.receives() { peer() } else { NO_PEER });
        count(entry, one.bytes);
        // SAFETY: one of this thread's.
        unsafe { (*entry).ticks = (*entry).ticks.wrapping_add(ticks) };
    }

    /// The counters of requests that were started like this, and received from a peer.
    #[inline(always)]
    fn entry(self, started: Started, peer: u64) -> *mut Completed {
        let lately = self.thread.counters.completed_lately(self.key, started, peer);
        lately.unwrap_or_else(|| self.look_up(started, peer))
    }

    #[cold]
    #[inline(never)]
    fn look_up(self, started: Started, peer: u64) -> *mut Completed {
        let (operation, bucket) = match started == UNKNOWN {
            true => (NO_OPERATION, 0),
            false => {
                // SAFETY: counters are never freed, and their keys never change.
                let key = unsafe { (*started).key };
                let bucket = key as u8;
                (Cell::operation_of(key), if bucket < BUCKET_FAILED { bucket & !OWN_SIZE } else { 0 })
            }
        };
        let counters = &self.thread.counters;
        let with = |peer: u64| Completed::started(operation, bucket, peer as u32);
        if let Some(known) = counters.completed([self.key, with(peer)]) {
            counters.keep_completed(self.key, started, peer, known);
            return known;
        }
        match world_rank(self.record, peer) {
            Some(world_rank) => counters.new_completed(Completed::new(self.key, with(peer), world_rank)),
            None => counters
                .completed([self.key, with(NO_PEER)])
                .unwrap_or_else(|| counters.new_completed(Completed::new(self.key, with(NO_PEER), REMOTE_RANK))),
        }
    }
}

/// What a call has completed that may complete several. Most often they are like those that the thread's latest such call had, whose counters are known.
pub struct Completions<'a> {
    call: Call<'a>,
    alike: LatelyCompleted,
    received: Seen,
    others: Seen,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    None,
    /// They were all started in the same way.
    Alike,
    Mixed,
}

#[inline(always)]
fn add_to(alike: &mut Alike, call: Call, one: One, seen: &mut Seen) {
    if alike.started != one.started {
        *alike = Alike { started: one.started, entry: call.entry(one.started, NO_PEER) };
        *seen = if *seen == Seen::None { Seen::Alike } else { Seen::Mixed };
    } else if *seen == Seen::None {
        *seen = Seen::Alike;
    }
    count(alike.entry, one.bytes);
}

impl<'a> Completions<'a> {
    #[inline(always)]
    pub fn of(call: Call<'a>) -> Completions<'a> {
        let latest = call.thread.counters.latest_completed.get();
        let alike = if latest.key == call.key { latest } else { LatelyCompleted::of(call.key) };
        Completions { call, alike, received: Seen::None, others: Seen::None }
    }

    #[inline(always)]
    pub fn add(&mut self, one: One) {
        if one.kind.receives() {
            add_to(&mut self.alike.received, self.call, one, &mut self.received);
        } else {
            add_to(&mut self.alike.others, self.call, one, &mut self.others);
        }
    }

    /// The call took so many ticks: those that received were waited for, or else the others, if they were alike.
    #[inline(always)]
    pub fn end(self, ticks: u64) {
        let (seen, waited_for) = match self.received {
            Seen::None => (self.others, self.alike.others),
            seen => (seen, self.alike.received),
        };
        if seen == Seen::Alike {
            // SAFETY: one of this thread's.
            unsafe { (*waited_for.entry).ticks = (*waited_for.entry).ticks.wrapping_add(ticks) };
        }
        self.call.thread.counters.latest_completed.set(self.alike);
    }
}

/// One more has completed.
#[inline(always)]
fn count(entry: *mut Completed, bytes: u64) {
    // SAFETY: one of this thread's.
    unsafe {
        (*entry).requests = (*entry).requests.wrapping_add(1);
        // Two additions to memory are two instructions; as a vector they would be seven.
        compiler_fence(Ordering::AcqRel);
        (*entry).bytes = (*entry).bytes.wrapping_add(bytes);
    }
}

/// Requests of a call that may have completed several, or one, from a peer.
pub struct Ones<'a> {
    /// None where it is not counted.
    call: Option<Call<'a>>,
    first: Option<(One, u64)>,
    all: Option<Completions<'a>>,
}

impl<'a> Ones<'a> {
    #[inline(always)]
    pub fn of(call: Option<Call<'a>>) -> Ones<'a> {
        Ones { call, first: None, all: None }
    }

    #[inline(always)]
    pub fn add(&mut self, one: One, peer: impl FnOnce() -> u64) {
        let Some(call) = self.call else { return };
        match (&mut self.all, self.first) {
            (Some(all), _) => all.add(one),
            (None, None) => self.first = Some((one, if one.kind.receives() { peer() } else { NO_PEER })),
            (None, Some((first, _))) => {
                let mut all = Completions::of(call);
                all.add(first);
                all.add(one);
                self.all = Some(all);
            }
        }
    }

    #[inline(always)]
    pub fn end(self, ticks: u64) {
        match (self.call, self.all, self.first) {
            (_, Some(all), _) => all.end(ticks),
            (Some(call), None, Some((one, peer))) => call.single(one, ticks, || peer),
            _ => {}
        }
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
