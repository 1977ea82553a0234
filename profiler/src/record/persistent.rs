//! Persistent and partitioned requests: what one call says of them is kept, and counted with each start.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use vocabulary::calls::op;
use vocabulary::shard::{BUCKET_PENDING, Cell, Edge, NO_OPERATION, REMOTE_RANK};

use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::{self, Record};
use crate::objects::datatypes;
use crate::objects::requests::{self, Counted, Extra, Kind, Message, Partition, Persistent, Request, Starts};
use crate::objects::shortcuts;
use crate::record::carriers::Comm;
use crate::record::completed::UNKNOWN;
use crate::record::tally::{self, Done, add_time, failed, key, key_in, with_volume, with_volume_marked};
use crate::record::{buckets, nonblocking, phases, sites};
use crate::shard::memory;
use crate::thread::Thread;
use crate::thread::counters::Counters;
use crate::trace;
use crate::volume::{Context, Volume};

/// Whether the program has set up a persistent request that receives.
static MAY_RECEIVE: AtomicBool = AtomicBool::new(false);

#[inline(always)]
pub fn may_receive() -> bool {
    MAY_RECEIVE.load(Ordering::Relaxed)
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
        return failed::<Comm>(thread, comm, done.operation, done.code, done.ticks);
    }
    let record = communicators::of(&thread.communicators, comm);
    let mut prepared = Prepared { thread, record, comm, messages: Vec::new(), datatypes: Vec::new() };
    let volume = rule(&mut prepared);
    keep(prepared, request, done, starts, volume);
}

/// Apart, since there is one for all rules.
#[inline(never)]
fn keep(prepared: Prepared, request: Word, done: Done, starts: Starts, volume: Volume) {
    let Prepared { thread, record, mut messages, datatypes, .. } = prepared;
    let datatypes = datatypes.into();
    // Each partition is a message when it is ready, and none is sent by the start.
    let partitions = if starts == Starts::Partitions { messages.pop() } else { None };
    if state::is_on() {
        let setup = Volume { message_bytes: volume.message_bytes, ..Volume::default() };
        with_volume_marked(thread, record, done, buckets::mark_of(done.operation), setup);
    }
    // SAFETY: the call succeeded, so the library filled the place that the program passed.
    let handle = unsafe { abi().load_made(request, abi().request_null) };
    if handle == abi().request_null {
        return;
    }
    if starts == Starts::Receives {
        MAY_RECEIVE.store(true, Ordering::Relaxed);
    }
    let is_known = starts == Starts::Sends;
    let persistent = Persistent {
        counted: Counted::none(),
        starts,
        mark: buckets::mark_of(done.operation),
        sent: if is_known { volume.sent } else { 0 },
        received: if is_known { volume.received } else { 0 },
        message_bytes: volume.message_bytes,
        messages: messages.into(),
        partitions_to: partitions.map(|message| (message.destination, message.world_rank)),
        datatypes,
        tag: if trace::is_on() { trace::take_tag(thread) } else { None },
    };
    let cells = key(record, done.operation, 0);
    let request = Request { cells, ..Request::new(thread.number, record, Kind::Plain) };
    if let Some(request) = request.with(Extra::Persistent(persistent)) {
        requests::start(handle, || request, nonblocking::is_within(thread));
    }
}

/// Finds the counters of a start by an operation, where they are not those of the latest one.
#[inline(always)]
fn find_counters(thread: &Thread, request: &Request, operation: u16, persistent: &mut Persistent) {
    let record = request.comm;
    let counted = &persistent.counted;
    if request.thread != thread.number || counted.operation != operation || counted.phase != phases::current() {
        look_up(thread, record, operation, persistent);
    }
}

#[cold]
#[inline(never)]
fn look_up(thread: &Thread, record: Record, operation: u16, persistent: &mut Persistent) {
    let phase = phases::current();
    let cells = key_in(Cell::phase_bits(phase), record, operation, 0);
    let mut are_kept = true;
    let mut counters = |bucket: u8| {
        let (cell, is_kept) = thread.counters.cell(cells | u64::from(bucket));
        are_kept &= is_kept;
        cell
    };
    let sized = buckets::of(persistent.message_bytes);
    let start = match persistent.starts {
        // MPI_Startall brings counters of its own with each call.
        _ if operation != op::MPI_Start => ptr::null_mut(),
        Starts::Sends => counters(persistent.mark | sized),
        Starts::Receives => counters(BUCKET_PENDING),
        Starts::Partitions => counters(0),
    };
    let sized = if persistent.starts == Starts::Sends { counters(sized) } else { ptr::null_mut() };
    for message in &mut persistent.messages {
        // SAFETY: records are never freed.
        let key = Edge::key(unsafe { (*record).number }, operation, message.destination as u32);
        let (edge, is_kept) = match thread.counters.known_edge(key) {
            Some(edge) => (edge, true),
            None => thread.counters.new_edge(key, message.world_rank),
        };
        message.edge = edge;
        are_kept &= is_kept;
    }
    let operation = if are_kept { operation } else { NO_OPERATION };
    persistent.counted = Counted { operation, phase, cells, start, sized };
}

/// One persistent request is started by `MPI_Start`, which took so many ticks.
#[inline(always)]
pub fn restarted(thread: &Thread, request: &mut Request, persistent: &mut Persistent, ticks: u64) {
    let record = request.comm;
    find_counters(thread, request, op::MPI_Start, persistent);
    let place = persistent.counted.start;
    restart(thread, request, persistent, (op::MPI_Start, 0), place, ticks);
    count_messages(thread, record, op::MPI_Start, persistent);
    if trace::is_on() && persistent.starts == Starts::Sends {
        trace::volume(thread, record, op::MPI_Start, persistent.sent.max(persistent.received));
    }
    // SAFETY: found just now, this thread's.
    let cell = unsafe { &mut *place };
    sites::call(thread, cell.key, ticks, (persistent.sent, persistent.received));
    cell.bytes_sent = cell.bytes_sent.wrapping_add(persistent.sent);
    cell.bytes_recv = cell.bytes_recv.wrapping_add(persistent.received);
    add_time(cell, ticks);
}

/// A call of `MPI_Startall`: its bucket, and its counters on the communicator that they were needed for last; at first that is what the call
/// itself is counted on.
pub struct Startall {
    record: Record,
    cell: *mut Cell,
    bucket: u8,
}

/// `MPI_Startall` as a call, in the bucket of what its requests carry.
pub fn restarted_all(thread: &Thread, record: Record, done: Done, (sent, received): (u64, u64)) -> Startall {
    let message_bytes = sent.max(received);
    let cell = tally::of_record(thread, record, done, |_| Volume { message_bytes, ..Volume::default() });
    if trace::is_on() {
        trace::volume(thread, record, done.operation, message_bytes);
    }
    // SAFETY: this thread's.
    Startall { record, cell, bucket: unsafe { (*cell).key } as u8 }
}

/// One of several persistent requests is started by `MPI_Startall`, which is counted as a call elsewhere, and took so many ticks.
#[inline(always)]
pub fn restarted_among(
    thread: &Thread,
    request: &mut Request,
    persistent: &mut Persistent,
    call: &mut Startall,
    ticks: u64,
) {
    let record = request.comm;
    if record != call.record {
        (call.record, call.cell) = (record, counters_on(thread, record, call.bucket));
    }
    let place = call.cell;
    find_counters(thread, request, op::MPI_Startall, persistent);
    if persistent.starts == Starts::Sends {
        // SAFETY: found just now, this thread's.
        let cell = unsafe { &mut *place };
        cell.bytes_sent = cell.bytes_sent.wrapping_add(persistent.sent);
        cell.bytes_recv = cell.bytes_recv.wrapping_add(persistent.received);
        sites::count(thread, cell.key, |cell| {
            cell.bytes_sent = cell.bytes_sent.wrapping_add(persistent.sent);
            cell.bytes_recv = cell.bytes_recv.wrapping_add(persistent.received);
        });
    }
    count_messages(thread, record, op::MPI_Startall, persistent);
    restart(thread, request, persistent, (op::MPI_Startall, call.bucket), place, ticks);
}

/// The counters of a call over several communicators, on one of them.
#[inline(never)]
fn counters_on(thread: &Thread, record: Record, bucket: u8) -> *mut Cell {
    thread.counters.cell(key(record, op::MPI_Startall, bucket)).0
}

/// A request becomes an active one, whose start by this operation is counted in `place`; `bucket` is that of the call, if there are several.
fn restart(
    thread: &Thread,
    request: &mut Request,
    persistent: &Persistent,
    (operation, bucket): (u16, u8),
    place: *mut Cell,
    ticks: u64,
) {
    let counted = &persistent.counted;
    let (kind, kept) = match persistent.starts {
        Starts::Sends => (Kind::Plain, counted.sized.cast_const().cast()),
        Starts::Partitions => (Kind::Plain, place.cast_const().cast()),
        Starts::Receives => {
            let kind = if operation == op::MPI_Start { Kind::Receive } else { Kind::ReceiveInto };
            (kind, sites::kept_by(thread, shortcuts::unused()))
        }
    };
    let posted = if trace::is_on() { trace::posted(thread) } else { 0 };
    request.restart(kind, thread.number, posted, counted.cells | u64::from(bucket), ticks, kept);
}

/// While counting pauses, nothing is left to be done when it completes.
pub fn restarted_uncounted(request: &mut Request) {
    request.restart(Kind::Plain, request.thread, 0, 0, 0, UNKNOWN.cast());
}

fn count_messages(thread: &Thread, record: Record, operation: u16, persistent: &Persistent) {
    for message in &persistent.messages {
        // SAFETY: found just now, this thread's.
        unsafe { Counters::add_messages(message.edge, (1, message.bytes)) };
        if trace::is_on() {
            trace::sent(thread, record, operation, persistent.tag, message.world_rank, message.bytes);
        }
    }
    for (datatype, bytes) in &persistent.datatypes {
        // SAFETY: records are never freed.
        thread.counters.count_use(unsafe { (*record).number }, operation, *datatype, *bytes);
    }
}

/// Some partitions of a send have been marked ready by one call: each is a message.
pub fn ready(thread: &Thread, done: Done, partition: Partition, count: u64) {
    let sent = partition.bytes.wrapping_mul(count);
    with_volume(thread, partition.comm, done, Volume { sent, received: 0, message_bytes: partition.bytes });
    if let Some((rank, world_rank)) = partition.destination {
        // SAFETY: records are never freed.
        let key = Edge::key(unsafe { (*partition.comm).number }, done.operation, rank as u32);
        thread.counters.count_messages(key, (count, sent), || world_rank);
    }
}

/// Rules keep the messages of a persistent request for its starts.
pub struct Prepared<'a> {
    thread: &'a Thread,
    record: Record,
    comm: Word,
    messages: Vec<Message>,
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
            Ok(()) => self.messages.push(Message::new(destination, world_rank.unwrap_or(REMOTE_RANK), bytes)),
            Err(_) => memory::lose_call(),
        }
    }

    fn tagged(&self, tag: c_int) {
        if trace::is_on() {
            trace::set_tag(self.thread, tag);
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
