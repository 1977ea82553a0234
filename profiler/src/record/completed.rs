//! What calls that complete requests have completed, and what they waited for: a call that completed one request waited for it, one that
//! completed several for those that received. Which of these was the last one the library does not tell, so that the call is charged
//! to all of them if they were alike, and to none otherwise.

use std::ptr;
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

/// A call that completes requests, and the key of its counters, without a bucket.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub thread: &'a Thread,
    key: u64,
}

/// The rank that a message came from, on the communicator of the call.
#[derive(Clone, Copy)]
pub struct Peer {
    pub record: Record,
    /// One above it, or [`NO_PEER`].
    pub rank: u64,
}

impl Peer {
    pub const NONE: Peer = Peer { record: ptr::null_mut(), rank: NO_PEER };
}

impl<'a> Call<'a> {
    #[inline(always)]
    pub fn new(thread: &'a Thread, key: u64) -> Call<'a> {
        Call { thread, key }
    }

    /// It completed this request alone.
    #[inline(always)]
    pub fn single(self, one: One, ticks: u64, peer: impl FnOnce() -> Peer) {
        let entry = self.entry(one.started, if one.kind.receives() { peer() } else { Peer::NONE });
        count(entry, one.bytes);
        // SAFETY: one of this thread's.
        unsafe { (*entry).ticks = (*entry).ticks.wrapping_add(ticks) };
    }

    /// The counters of requests that were started like this, and received from a peer.
    #[inline(always)]
    fn entry(self, started: Started, peer: Peer) -> *mut Completed {
        let lately = self.thread.counters.completed_lately(self.key, started, peer.rank);
        lately.unwrap_or_else(|| self.look_up(started, peer))
    }

    #[cold]
    #[inline(never)]
    fn look_up(self, started: Started, peer: Peer) -> *mut Completed {
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
        if let Some(known) = counters.completed([self.key, with(peer.rank)]) {
            counters.keep_completed(self.key, started, peer.rank, known);
            return known;
        }
        match world_rank(peer) {
            Some(world_rank) => counters.new_completed(Completed::new(self.key, with(peer.rank), world_rank)),
            None => counters
                .completed([self.key, with(NO_PEER)])
                .unwrap_or_else(|| counters.new_completed(Completed::new(self.key, with(NO_PEER), REMOTE_RANK))),
        }
    }
}

/// What a call has completed that may complete several. Most often they are like those that the thread's latest such call had, whose
/// counters are known.
pub struct Completions<'a> {
    call: Call<'a>,
    /// Those that received, and the others.
    received: Waited,
    others: Waited,
}

/// The counters that a call may be charged to: those of all its requests, if these were alike.
type Waited = *mut Completed;

const NOTHING: Waited = ptr::null_mut();
/// They were not alike.
const MIXED: Waited = ptr::dangling_mut();

impl<'a> Completions<'a> {
    #[inline(always)]
    pub fn of(call: Call<'a>) -> Completions<'a> {
        let latest = &call.thread.counters.latest_completed;
        if latest.get().key != call.key {
            latest.set(LatelyCompleted::of(call.key));
        }
        Completions { call, received: NOTHING, others: NOTHING }
    }

    #[inline(always)]
    pub fn add(&mut self, one: One) {
        // SAFETY: this thread's, and nothing comes back here.
        let latest = unsafe { &mut *self.call.thread.counters.latest_completed.as_ptr() };
        if one.kind.receives() {
            self.received = add_to(self.call, &mut latest.received, self.received, one);
        } else {
            self.others = add_to(self.call, &mut latest.others, self.others, one);
        }
    }

    /// The call took so many ticks: those that received were waited for, or else the others, if they were alike.
    #[inline(always)]
    pub fn end(self, ticks: u64) {
        let waited = if self.received == NOTHING { self.others } else { self.received };
        if waited != NOTHING && waited != MIXED {
            // SAFETY: one of this thread's.
            unsafe { (*waited).ticks = (*waited).ticks.wrapping_add(ticks) };
        }
    }
}

/// Counts one with those like it, and tells what the call has waited for with it.
#[inline(always)]
fn add_to(call: Call, alike: &mut Alike, waited: Waited, one: One) -> Waited {
    if alike.started != one.started {
        *alike = Alike { started: one.started, entry: look_up_lately(call, one.started) };
    }
    count(alike.entry, one.bytes);
    if waited == alike.entry {
        return waited;
    }
    if waited.is_null() { alike.entry } else { MIXED }
}

/// The counters of one of several, whose peers are not asked for.
#[inline(never)]
fn look_up_lately(call: Call, started: Started) -> *mut Completed {
    call.entry(started, Peer::NONE)
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
    first: Option<(One, Peer)>,
    all: Option<Completions<'a>>,
}

impl<'a> Ones<'a> {
    #[inline(always)]
    pub fn of(call: Option<Call<'a>>) -> Ones<'a> {
        Ones { call, first: None, all: None }
    }

    #[inline(always)]
    pub fn add(&mut self, one: One, peer: impl FnOnce() -> Peer) {
        let Some(call) = self.call else { return };
        match (&mut self.all, self.first) {
            (Some(all), _) => all.add(one),
            (None, None) => self.first = Some((one, if one.kind.receives() { peer() } else { Peer::NONE })),
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
fn world_rank(Peer { record, rank }: Peer) -> Option<u32> {
    let rank = i32::try_from(rank.checked_sub(1)?).ok()?;
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

/// From whom a message of a completed receive came, as [`Completed::started`] takes the rank. The status of one without bytes may be of
/// `MPI_PROC_NULL` or of a cancelled one, of which libraries leave anything in it.
#[inline(always)]
pub unsafe fn peer_rank(status: Word) -> u64 {
    if status == 0 || status == abi().status_ignore {
        return NO_PEER;
    }
    // SAFETY: the caller passes a status that the library has filled.
    let (source, _) = unsafe { status::source_and_tag(status) };
    if source < 0 { NO_PEER } else { source as u64 + 1 }
}
