//! Persistent and partitioned requests: what one call says of them is kept, and counted with each start.

use std::ffi::c_int;

use vocabulary::shard::{BUCKET_PENDING, Edge, NO_PHASE, REMOTE_RANK};

use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::{self, Record};
use crate::objects::datatypes;
use crate::objects::requests::{Extra, Kind, Partition, Persistent, Request, Starts};
use crate::record::carriers::Comm;
use crate::record::tally::{self, Done, add_time, failed, key, key_in, plain, with_volume, with_volume_in};
use crate::record::{buckets, phases, sites};
use crate::shard::memory;
use crate::thread::Thread;
use crate::trace;
use crate::volume::{Context, Volume};

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
        return failed::<Comm>(thread, comm, done.operation, done.code, done.ticks);
    }
    let record = communicators::of(&thread.communicators, comm);
    let mut prepared = Prepared { thread, record, comm, messages: Vec::new(), datatypes: Vec::new() };
    let volume = rule(&mut prepared);
    let (messages, datatypes) = (prepared.messages.into(), prepared.datatypes.into());
    if state::is_on() {
        let setup = Volume { message_bytes: volume.message_bytes, ..Volume::default() };
        with_volume_in(thread, record, done, (phases::current(), buckets::mark_of(done.operation)), setup);
    }
    // SAFETY: the call succeeded, so the program passed a place for the handle, and the library filled it.
    let handle = unsafe { abi().load(request) };
    let extra = Extra::Persistent(Persistent {
        sent: volume.sent,
        received: volume.received,
        message_bytes: volume.message_bytes,
        starts,
        mark: buckets::mark_of(done.operation),
        messages,
        datatypes,
        phase: NO_PHASE,
        tag: if trace::is_on() { trace::take_tag() } else { None },
    });
    thread.requests().start_with(
        handle,
        Request::started(record, Kind::Plain, key(record, done.operation, 0), 0),
        extra,
    );
}

/// The start of one persistent request by `MPI_Start`.
pub fn restarted(thread: &Thread, record: Record, done: Done, persistent: &Persistent) {
    match persistent.starts {
        Starts::Sends => {
            replay(thread, record, done.operation, persistent);
            with_volume_in(thread, record, done, (persistent.phase, persistent.mark), persistent.volume());
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

/// `MPI_Startall` as a call, in the bucket of what its requests carry; returns that.
pub fn restarted_all(thread: &Thread, record: Record, done: Done, (sent, received): (u64, u64)) -> u8 {
    let message_bytes = sent.max(received);
    tally::of_record(thread, record, done, |_| Volume { message_bytes, ..Volume::default() });
    if trace::is_on() {
        trace::volume(record, done.operation, message_bytes);
    }
    buckets::mark_of(done.operation) | buckets::of(message_bytes)
}

/// The start of one of several persistent requests by `MPI_Startall`, which is counted as a call elsewhere, in this bucket.
pub fn restarted_among(thread: &Thread, record: Record, operation: u16, bucket: u8, persistent: &Persistent) {
    if persistent.starts == Starts::Partitions {
        return replay_uses(thread, record, operation, persistent);
    }
    let key = key_in(persistent.phase, record, operation, bucket);
    thread.counters.count(key, |cell| {
        cell.bytes_sent += persistent.sent;
        cell.bytes_recv += persistent.received;
    });
    sites::count(thread, key, |cell| {
        cell.bytes_sent = cell.bytes_sent.wrapping_add(persistent.sent);
        cell.bytes_recv = cell.bytes_recv.wrapping_add(persistent.received);
    });
    replay(thread, record, operation, persistent);
}

#[inline(always)]
fn pending(thread: &Thread, record: Record, done: Done, phase: u8) {
    let key = key_in(phase, record, done.operation, BUCKET_PENDING);
    thread.counters.count(key, |cell| add_time(cell, done.ticks));
    thread.counters.add_ticks(done.ticks);
    sites::call(thread, key, done.ticks, (0, 0));
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

impl Persistent {
    fn volume(&self) -> Volume {
        Volume { sent: self.sent, received: self.received, message_bytes: self.message_bytes }
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

/// Puts so many messages with so many bytes into the matrix. The receiver's world rank, which it returns, is asked for when it is new.
#[inline(always)]
fn messages(
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
