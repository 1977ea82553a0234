//! The hot path: adds one finished call to the counters.
//!
//! What a blocking call pays, beside the two readings of the clock in its wrapper (docs/explanation/cost.md):
//! - the state and this thread's pointer: two loads, one of them through the thread register (`thread::recording`);
//! - the communicator: a compare with the one used last (`communicators::of`);
//! - the datatype's size and the rule's arithmetic: one probe of a small table (`datatypes::size`, `volume`);
//! - the bucket: a bit scan, a table of 65 bytes, one or two compares (`Buckets::of`);
//! - the phase: one load, one OR (`phases::current`);
//! - the cell: one multiplication, one probe of this thread's index, additions to its 48 bytes (`Thread::cell`);
//! - a send adds the edge to its destination: one more probe, two additions.

use std::ffi::c_int;

use vocabulary::buckets::Buckets;
use vocabulary::shard::{BUCKET_FAILED, BUCKET_PENDING, Bound, Cell, Edge, NO_PHASE, REMOTE_RANK};

use crate::guest::set_once::SetOnce;
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::{self, Record};
use crate::objects::datatypes;
use crate::objects::requests::{Completed, Extra, Kind, Partition, Persistent, Request, Starts};
use crate::record::phases;
use crate::shard::memory;
use crate::thread::Thread;
use crate::trace;
use crate::volume::{Context, Volume};

static BUCKETS: SetOnce<Buckets> = SetOnce::new();

/// SAFETY: called in `MPI_Init`, before recording starts.
pub unsafe fn prepare(buckets: Buckets) {
    // SAFETY: the caller sees to it.
    unsafe { BUCKETS.set(buckets) };
}

/// What is known of a call when it has returned.
#[derive(Clone, Copy)]
pub struct Done {
    pub operation: u16,
    /// What it returned: 0 is `MPI_SUCCESS` in every family.
    pub code: c_int,
    pub ticks: u64,
}

#[inline(always)]
pub fn bucket_of(message_bytes: u64) -> u8 {
    // SAFETY: wrappers get here only while recording is on.
    unsafe { BUCKETS.get() }.of(message_bytes)
}

/// The sizes of the messages that are in one bucket with this one, both included.
pub fn bucket_range(message_bytes: u64) -> (u64, u64) {
    // SAFETY: as above.
    let buckets = unsafe { BUCKETS.get() };
    let bucket = buckets.of(message_bytes);
    let (below, high) = buckets.bounds(bucket);
    (if bucket == 0 { 0 } else { below + 1 }, high.unwrap_or(u64::MAX))
}

#[inline(always)]
fn add_time(cell: &mut Cell, ticks: u64) {
    cell.calls = cell.calls.wrapping_add(1);
    cell.ticks = cell.ticks.wrapping_add(ticks);
    cell.ticks_min = cell.ticks_min.min(Bound::below(ticks));
    cell.ticks_max = cell.ticks_max.max(Bound::above(ticks));
}

/// The key of the cell that a call made now is counted in.
#[inline(always)]
pub fn key(record: Record, operation: u16, bucket: u8) -> u64 {
    key_in(phases::current(), record, operation, bucket)
}

#[inline(always)]
fn key_in(phase: u8, record: Record, operation: u16, bucket: u8) -> u64 {
    // SAFETY: records are never freed.
    let number = unsafe { (*record).number };
    Cell::key(number, operation, bucket) | Cell::phase_bits(phase)
}

/// A call without bytes, charged to a record.
#[inline(always)]
pub fn plain(thread: &Thread, record: Record, done: Done) {
    let bucket = if done.code == 0 { 0 } else { BUCKET_FAILED };
    thread.counters.count(key(record, done.operation, bucket), |cell| add_time(cell, done.ticks));
    thread.counters.add_ticks(done.ticks);
}

/// A call that never returned, since the program left it by an exception or a jump, over the communicator of this number.
#[cold]
pub fn left(thread: &Thread, comm: u32, operation: u16, ticks: u64) {
    if state::is_on() {
        let key = Cell::key(comm, operation, BUCKET_FAILED) | Cell::phase_bits(phases::current());
        thread.counters.count(key, |cell| add_time(cell, ticks));
        thread.counters.add_ticks(ticks);
    }
}

/// A call that returned an error: neither its arguments nor its communicator can be relied on.
#[cold]
#[inline(never)]
pub fn failed(thread: &Thread, comm: Word, done: Done) {
    if state::is_on() {
        plain(thread, communicators::known(comm), done);
    }
}

/// A call with the bytes that its rule tells.
#[inline(always)]
pub fn call(thread: &Thread, comm: Word, done: Done, rule: impl FnOnce(&mut Now) -> Volume) {
    if done.code != 0 {
        return failed(thread, comm, done);
    }
    let record = communicators::of(&thread.communicators, comm);
    add(thread, record, comm, done, phases::current(), rule);
}

/// A call of a known record, for calls that are not given a communicator.
pub fn of_record(thread: &Thread, record: Record, done: Done, rule: impl FnOnce(&mut Now) -> Volume) {
    add(thread, record, abi().comm_null, done, phases::current(), rule);
}

#[inline(always)]
fn add(
    thread: &Thread,
    record: Record,
    comm: Word,
    done: Done,
    phase: u8,
    rule: impl FnOnce(&mut Now) -> Volume,
) -> u8 {
    let volume = rule(&mut Now { thread, record, comm, operation: done.operation });
    with_volume_in(thread, record, done, phase, volume)
}

/// Adds a call whose bytes are known already; returns its bucket.
#[inline(always)]
pub fn with_volume(thread: &Thread, record: Record, done: Done, volume: Volume) -> u8 {
    with_volume_in(thread, record, done, phases::current(), volume)
}

#[inline(always)]
fn with_volume_in(thread: &Thread, record: Record, done: Done, phase: u8, volume: Volume) -> u8 {
    if trace::is_on() {
        trace::volume(record, done.operation, volume.sent.max(volume.received));
    }
    let bucket = bucket_of(volume.message_bytes);
    thread.counters.count(key_in(phase, record, done.operation, bucket), |cell| {
        add_time(cell, done.ticks);
        cell.bytes_sent += volume.sent;
        cell.bytes_recv += volume.received;
    });
    thread.counters.add_ticks(done.ticks);
    bucket
}

/// A nonblocking call whose bytes are known when it starts.
#[inline(always)]
pub fn started(thread: &Thread, comm: Word, request: Word, done: Done, rule: impl FnOnce(&mut Now) -> Volume) {
    if done.code != 0 {
        return failed(thread, comm, done);
    }
    let record = communicators::of(&thread.communicators, comm);
    if state::is_on() {
        add(thread, record, comm, done, phases::current(), rule);
    }
    follow(thread, record, request, done, Kind::Plain, NO_PHASE);
}

/// A nonblocking call that sends, and receives what its completion tells.
#[inline(always)]
pub fn started_both(thread: &Thread, comm: Word, request: Word, done: Done, rule: impl FnOnce(&mut Now) -> Volume) {
    if done.code != 0 {
        return failed(thread, comm, done);
    }
    let record = communicators::of(&thread.communicators, comm);
    if state::is_on() {
        let phase = phases::current();
        let bucket = add(thread, record, comm, done, phase, rule);
        follow(thread, record, request, done, Kind::ReceiveInto(bucket), phase);
    } else {
        follow(thread, record, request, done, Kind::Plain, NO_PHASE);
    }
}

/// A nonblocking call of a known record. Where it `reads`, its completion tells how much.
pub fn started_over(
    thread: &Thread,
    record: Record,
    request: Word,
    done: Done,
    reads: bool,
    volume: impl FnOnce(&Thread) -> Volume,
) {
    let mut kind = Kind::Plain;
    if state::is_on() {
        let volume = volume(thread);
        let bucket = with_volume(thread, record, done, volume);
        if reads {
            kind = Kind::Read(bucket);
        }
    }
    follow(thread, record, request, done, kind, phases::current());
}

/// A nonblocking receive: its bucket is known when its message has arrived. Its phase is the one it is posted in.
#[inline(always)]
pub fn receiving(thread: &Thread, record: Record, request: Word, done: Done, rule: impl FnOnce(&mut Now) -> Volume) {
    if state::is_on() {
        rule(&mut Now { thread, record, comm: abi().comm_null, operation: done.operation });
        let phase = phases::current();
        pending(thread, record, done, phase);
        follow(thread, record, request, done, Kind::Receive, phase);
    } else {
        follow(thread, record, request, done, Kind::Plain, NO_PHASE);
    }
}

#[inline(always)]
fn pending(thread: &Thread, record: Record, done: Done, phase: u8) {
    thread.counters.count(key_in(phase, record, done.operation, BUCKET_PENDING), |cell| add_time(cell, done.ticks));
    thread.counters.add_ticks(done.ticks);
}

#[inline(always)]
fn follow(thread: &Thread, record: Record, request: Word, done: Done, kind: Kind, phase: u8) {
    // SAFETY: the call succeeded, so the program passed a place for the handle, and the library filled it.
    let handle = unsafe { abi().load(request) };
    if handle != abi().request_null {
        let mut request = Request::new(handle, record, done.operation, kind, done.ticks);
        request.phase = phase;
        if trace::is_on() && matches!(kind, Kind::Receive | Kind::ReceiveInto(_)) {
            request.posted = trace::posted();
        }
        thread.requests().start(request);
    }
}

/// The setting up of a persistent request: counted without bytes, in the bucket of the message it will send.
pub fn prepared(
    thread: &Thread,
    comm: Word,
    request: Word,
    done: Done,
    starts: Starts,
    rule: impl FnOnce(&mut Prepared) -> Volume,
) {
    if done.code != 0 {
        return failed(thread, comm, done);
    }
    let record = communicators::of(&thread.communicators, comm);
    let mut prepared = Prepared { thread, record, comm, messages: Vec::new(), datatypes: Vec::new() };
    let volume = rule(&mut prepared);
    let (messages, datatypes) = (prepared.messages.into(), prepared.datatypes.into());
    if state::is_on() {
        let setup = Volume { message_bytes: volume.message_bytes, ..Volume::default() };
        with_volume(thread, record, done, setup);
    }
    // SAFETY: the call succeeded, so the program passed a place for the handle, and the library filled it.
    let handle = unsafe { abi().load(request) };
    let extra = Extra::Persistent(Persistent {
        sent: volume.sent,
        received: volume.received,
        message_bytes: volume.message_bytes,
        starts,
        messages,
        datatypes,
        phase: NO_PHASE,
        tag: if trace::is_on() { trace::take_tag() } else { None },
    });
    thread.requests().start_with(Request::new(handle, record, done.operation, Kind::Plain, 0), extra);
}

/// The start of one persistent request by `MPI_Start`.
pub fn restarted(thread: &Thread, record: Record, done: Done, persistent: &Persistent) {
    match persistent.starts {
        Starts::Sends => {
            replay(thread, record, done.operation, persistent);
            with_volume_in(thread, record, done, persistent.phase, persistent.volume());
        }
        Starts::Receives => {
            replay(thread, record, done.operation, persistent);
            pending(thread, record, done, persistent.phase);
        }
        Starts::Partitions => {
            replay_uses(thread, record, done.operation, persistent);
            plain(thread, record, done);
        }
    }
}

/// The start of one of several persistent requests by `MPI_Startall`, which is counted as a call elsewhere.
pub fn restarted_among(thread: &Thread, record: Record, operation: u16, persistent: &Persistent) {
    if persistent.starts == Starts::Partitions {
        return replay_uses(thread, record, operation, persistent);
    }
    thread.counters.count(key_in(persistent.phase, record, operation, 0), |cell| {
        cell.bytes_sent += persistent.sent;
        cell.bytes_recv += persistent.received;
    });
    replay(thread, record, operation, persistent);
}

fn replay_uses(thread: &Thread, record: Record, operation: u16, persistent: &Persistent) {
    for (datatype, bytes) in persistent.datatypes.iter() {
        // SAFETY: records are never freed.
        thread.counters.count_use(unsafe { (*record).number }, operation, *datatype, *bytes);
    }
}

fn replay(thread: &Thread, record: Record, operation: u16, persistent: &Persistent) {
    replay_uses(thread, record, operation, persistent);
    for (destination, world_rank, bytes) in persistent.messages.iter() {
        messages(thread, record, operation, *destination, (1, *bytes), || Some(*world_rank));
        if trace::is_on() {
            trace::sent(record, operation, persistent.tag, *world_rank, *bytes);
        }
    }
}

/// Some partitions of a send have been marked ready by one call: each is a message.
pub fn ready(thread: &Thread, done: Done, partition: Partition, count: u64) {
    let sent = partition.bytes.wrapping_mul(count);
    with_volume(thread, partition.comm, done, Volume { sent, received: 0, message_bytes: partition.bytes });
    if let Some((rank, world_rank)) = partition.destination {
        messages(thread, partition.comm, done.operation, rank, (count, sent), || Some(world_rank));
    }
}

/// Puts so many messages with so many bytes into the matrix. The receiver's world rank, which it returns, is asked for when it is new.
#[inline(always)]
pub fn messages(
    thread: &Thread,
    record: Record,
    operation: u16,
    destination: c_int,
    (count, bytes): (u64, u64),
    world_rank: impl FnOnce() -> Option<u32>,
) -> u32 {
    // SAFETY: records are never freed.
    let key = Edge::key(unsafe { (*record).number }, operation, destination as u32);
    thread.counters.count_messages(key, (count, bytes), || world_rank().unwrap_or(REMOTE_RANK))
}

impl Persistent {
    fn volume(&self) -> Volume {
        Volume { sent: self.sent, received: self.received, message_bytes: self.message_bytes }
    }
}

/// What a completed receive brought.
#[inline(always)]
pub fn arrived(thread: &Thread, request: &Completed, bytes: u64) {
    let key = |bucket| key_in(request.phase, request.comm, request.operation, bucket);
    match request.kind {
        Kind::Receive => {
            // The call moves from the row of pending receives to its bucket. Its row may be another thread's: counts
            // wrap, and are right when threads are added up.
            thread.counters.count(key(BUCKET_PENDING), |pending| {
                pending.calls = pending.calls.wrapping_sub(1);
                pending.ticks = pending.ticks.wrapping_sub(request.ticks);
            });
            thread.counters.count(key(bucket_of(bytes)), |cell| {
                add_time(cell, request.ticks);
                cell.bytes_recv += bytes;
            });
        }
        Kind::ReceiveInto(bucket) | Kind::Read(bucket) => {
            thread.counters.count(key(bucket), |cell| cell.bytes_recv += bytes);
        }
        Kind::Plain | Kind::Duplicate => {}
    }
}

/// Rules put the messages of a call that has just been made into the matrix.
pub struct Now<'a> {
    thread: &'a Thread,
    record: Record,
    comm: Word,
    operation: u16,
}

impl Now<'_> {
    /// For a call that is not given a communicator, and whose rule has no messages.
    pub fn of_record(thread: &Thread, record: Record, operation: u16) -> Now<'_> {
        Now { thread, record, comm: abi().comm_null, operation }
    }
}

impl Context for Now<'_> {
    #[inline(always)]
    fn record(&self) -> Record {
        self.record
    }

    fn comm(&self) -> Word {
        self.comm
    }

    #[inline(always)]
    fn message(&mut self, destination: c_int, bytes: u64) {
        // SAFETY: the call over this communicator has just succeeded.
        let world_rank = || unsafe { communicators::world_rank_of(self.record, self.comm, destination) };
        let world_rank = messages(self.thread, self.record, self.operation, destination, (1, bytes), world_rank);
        if trace::is_on() {
            trace::sent(self.record, self.operation, trace::take_tag(), world_rank, bytes);
        }
    }

    #[inline(always)]
    unsafe fn arrived(&mut self, status: Word, bytes: u64) {
        if trace::is_on() {
            // SAFETY: the caller passes a status that the library has filled.
            unsafe { trace::received(self.record, self.operation, trace::posted(), status, bytes) };
        }
    }

    #[inline(always)]
    fn describe(&mut self, datatype: Word, elements: u64) {
        add_use(self.thread, self.record, self.operation, datatype, elements);
    }
}

/// Apart, and given no address of what the hot path keeps in registers.
#[cold]
#[inline(never)]
pub fn add_use(thread: &Thread, record: Record, operation: u16, datatype: Word, elements: u64) {
    let size_bytes = datatypes::size(datatype);
    if let Some(number) = thread.counters.datatype(datatype, size_bytes) {
        // SAFETY: records are never freed.
        let comm = unsafe { (*record).number };
        thread.counters.count_use(comm, operation, number, elements.wrapping_mul(size_bytes));
    }
}

/// Rules keep the messages of a persistent request for its starts.
pub struct Prepared<'a> {
    thread: &'a Thread,
    record: Record,
    comm: Word,
    messages: Vec<(c_int, u32, u64)>,
    datatypes: Vec<(u32, u64)>,
}

impl Context for Prepared<'_> {
    fn record(&self) -> Record {
        self.record
    }

    fn comm(&self) -> Word {
        self.comm
    }

    fn message(&mut self, destination: c_int, bytes: u64) {
        // SAFETY: the call over this communicator has just succeeded.
        let world_rank = unsafe { communicators::world_rank_of(self.record, self.comm, destination) };
        match self.messages.try_reserve(1) {
            Ok(()) => self.messages.push((destination, world_rank.unwrap_or(REMOTE_RANK), bytes)),
            Err(_) => memory::lose_call(),
        }
    }

    fn describe(&mut self, datatype: Word, elements: u64) {
        let size_bytes = datatypes::size(datatype);
        if let Some(number) = self.thread.counters.datatype(datatype, size_bytes) {
            match self.datatypes.try_reserve(1) {
                Ok(()) => self.datatypes.push((number, elements.wrapping_mul(size_bytes))),
                Err(_) => memory::lose_call(),
            }
        }
    }
}
