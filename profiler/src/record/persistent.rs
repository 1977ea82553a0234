//! Persistent and partitioned requests: what one call says of them is kept, and counted with each start.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use vocabulary::calls::op;
use vocabulary::shard::{BUCKET_PENDING, Cell, Edge, REMOTE_RANK};

use crate::guest::short_path::Path;
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::{self, Record};
use crate::objects::datatypes;
use crate::objects::requests::{self, Extra, Kind, Message, Partition, Persistent, Request, Starts};
use crate::objects::shortcuts::Shortcut;
use crate::record::carriers::Comm;
use crate::record::completed::UNKNOWN;
use crate::record::tally::{self, Done, add_time, charge, failed, key, key_in, with_volume, with_volume_marked};
use crate::record::{buckets, phases, sites};
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
    let (mut messages, datatypes) = (prepared.messages, prepared.datatypes.into());
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
        counted: Shortcut::none(),
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
        requests::start(handle, || request, !thread.is_outside());
    }
}

/// Finds the counters of a start by an operation, where they are not those of the latest one.
#[inline(always)]
fn find_counters(thread: &Thread, request: &Request, operation: u16, persistent: &mut Persistent) {
    let record = request.comm;
    if request.thread != thread.number || !persistent.counts(operation, phases::current()) {
        look_up(thread, record, operation, persistent);
    }
}

#[cold]
#[inline(never)]
fn look_up(thread: &Thread, record: Record, operation: u16, persistent: &mut Persistent) {
    let phase = phases::current();
    let cells = key_in(Cell::phase_bits(phase), record, operation, 0);
    persistent.counted.begin_starts(phase, record, cells);
    let mut are_kept = true;
    let mut counters = |bucket: u8| {
        let (cell, is_kept) = thread.counters.cell(cells | u64::from(bucket));
        are_kept &= is_kept;
        cell
    };
    // MPI_Startall brings counters of its own with each call.
    if operation == op::MPI_Start {
        persistent.counted.pending.set(counters(match persistent.starts {
            Starts::Sends => persistent.mark | buckets::of(persistent.message_bytes),
            Starts::Receives => BUCKET_PENDING,
            Starts::Partitions => 0,
        }));
    }
    if persistent.starts == Starts::Sends {
        let bucket = buckets::of(persistent.message_bytes);
        persistent.counted.set_cell(buckets::bounds(bucket), counters(bucket));
    }
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
    if are_kept {
        persistent.counted.end_starts(operation);
    }
}

/// One persistent request is started by `MPI_Start`, which took so many ticks.
#[inline(always)]
pub fn restarted<P: Path>(thread: &Thread, request: &mut Request, persistent: &mut Persistent, ticks: u64) {
    let record = request.comm;
    find_counters(thread, request, op::MPI_Start, persistent);
    // SAFETY: found just now, this thread's.
    let cell = unsafe { &mut *persistent.counted.pending.get() };
    let (counted_in, starts) = (persistent.counted.pending.get(), persistent.starts);
    restart::<P>(thread, request, (persistent, starts), (op::MPI_Start, 0), counted_in, ticks);
    count_messages::<P>(thread, record, op::MPI_Start, persistent);
    if !P::IS_SHORT {
        if trace::is_on() && persistent.starts == Starts::Sends {
            trace::volume(thread, record, op::MPI_Start, persistent.sent.max(persistent.received));
        }
        sites::call(thread, cell.key, ticks, (persistent.sent, persistent.received));
    }
    cell.bytes_sent = cell.bytes_sent.wrapping_add(persistent.sent);
    cell.bytes_recv = cell.bytes_recv.wrapping_add(persistent.received);
    charge::<P>(thread, ticks);
    // Which may end in a call, and so comes last.
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
#[inline(always)]
pub fn restarted_all<P: Path>(thread: &Thread, record: Record, done: Done, (sent, received): (u64, u64)) -> Startall {
    let message_bytes = sent.max(received);
    let cell = tally::of_record::<P>(thread, record, done, |_| Volume { message_bytes, ..Volume::default() });
    if trace::is_on_in::<P>() {
        trace::volume(thread, record, done.operation, message_bytes);
    }
    // SAFETY: this thread's.
    Startall { record, cell, bucket: unsafe { (*cell).key } as u8 }
}

/// One of several persistent requests is started by `MPI_Startall`, which is counted as a call elsewhere, and took so many ticks.
#[inline(always)]
pub fn restarted_among<P: Path>(
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
    let starts = persistent.starts;
    if starts == Starts::Sends {
        // SAFETY: found just now, this thread's.
        let cell = unsafe { &mut *place };
        cell.bytes_sent = cell.bytes_sent.wrapping_add(persistent.sent);
        cell.bytes_recv = cell.bytes_recv.wrapping_add(persistent.received);
        if !P::IS_SHORT {
            sites::count(thread, cell.key, |cell| {
                cell.bytes_sent = cell.bytes_sent.wrapping_add(persistent.sent);
                cell.bytes_recv = cell.bytes_recv.wrapping_add(persistent.received);
            });
        }
    }
    if starts == Starts::Sends || !P::IS_SHORT {
        count_messages::<P>(thread, record, op::MPI_Startall, persistent);
    }
    restart::<P>(thread, request, (persistent, starts), (op::MPI_Startall, call.bucket), place, ticks);
}

/// The counters of a call over several communicators, on one of them.
#[inline(never)]
fn counters_on(thread: &Thread, record: Record, bucket: u8) -> *mut Cell {
    thread.counters.cell(key(record, op::MPI_Startall, bucket)).0
}

/// A request becomes an active one, whose start by this operation is counted in `place`; `bucket` is that of the call, if there are several.
#[inline(always)]
fn restart<P: Path>(
    thread: &Thread,
    request: &mut Request,
    (persistent, starts): (&Persistent, Starts),
    (operation, bucket): (u16, u8),
    place: *mut Cell,
    ticks: u64,
) {
    let counted = &persistent.counted;
    let posted = if trace::is_on_in::<P>() { trace::posted(thread) } else { 0 };
    let kept = || match !P::IS_SHORT && crate::sites::are_counted() {
        true => sites::kept(thread, operation),
        false => ptr::from_ref(counted),
    };
    let cells = counted.cells.get() | u64::from(bucket);
    match starts {
        Starts::Sends => {
            request.restart(Kind::Plain, thread.number, posted, cells, ticks, counted.only_cell().cast_const().cast())
        }
        Starts::Partitions => {
            request.restart(Kind::Plain, thread.number, posted, cells, ticks, place.cast_const().cast())
        }
        Starts::Receives if operation == op::MPI_Start => {
            request.restart(Kind::Receive, thread.number, posted, cells, ticks, kept())
        }
        Starts::Receives => {
            counted.pending.set(place);
            request.restart(Kind::ReceiveInto, thread.number, posted, cells, ticks, kept());
        }
    }
}

/// While counting pauses, nothing is left to be done when it completes.
pub fn restarted_uncounted(request: &mut Request) {
    request.restart(Kind::Plain, request.thread, 0, 0, 0, UNKNOWN.cast());
}

#[inline(always)]
fn count_messages<P: Path>(thread: &Thread, record: Record, operation: u16, persistent: &Persistent) {
    match &*persistent.messages {
        [] => {}
        [message] if P::IS_SHORT => count_message(message),
        messages => count_several_messages(thread, record, operation, persistent.tag, messages),
    }
    if !P::IS_SHORT {
        for (datatype, bytes) in &persistent.datatypes {
            // SAFETY: records are never freed.
            thread.counters.count_use(unsafe { (*record).number }, operation, *datatype, *bytes);
        }
    }
}

#[inline(always)]
fn count_message(message: &Message) {
    // SAFETY: found just now, this thread's.
    unsafe { Counters::add_messages(message.edge, (1, message.bytes)) };
}

#[inline(never)]
fn count_several_messages(thread: &Thread, record: Record, operation: u16, tag: Option<c_int>, messages: &[Message]) {
    for message in messages {
        count_message(message);
        if trace::is_on() {
            trace::sent(thread, record, operation, tag, message.world_rank, message.bytes);
        }
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
