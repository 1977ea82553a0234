//! The hot path: adds one finished call to the counters.
//!
//! What a blocking call pays on the short path, beside the two readings of the clock in its wrapper (docs/explanation/cost.md):
//! - whether it may take that path: a flag of the function (`short_path::is_open_for`), this thread's pointer, and whether the thread is in
//!   a call (`thread::outside`);
//! - the shortcut of its operation: a load, and two compares, with the handle and the generation (`carriers::shortcut`). It has the
//!   rest: the size of the datatype, the bounds of the bucket and its counters, the counters of messages to one rank, each behind a
//!   compare;
//! - the additions.
//!
//! Where all compares find what they look for, no function is called, so that no register must outlast a call ([`call_at_once`]). Whatever
//! a compare does not find, functions apart look up, and put it into the shortcut.

use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr;

use vocabulary::shard::{BUCKET_FAILED, BUCKET_PENDING, Bound, Cell, Edge, INTER, NO_PHASE, REMOTE_RANK};

use crate::guest::caller::Caller;
use crate::guest::short_path::{Full, Path};
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::mpi::status;
use crate::objects::communicators::{self, Record};
use crate::objects::datatypes;
use crate::objects::handles::generation;
use crate::objects::requests::table::Slot;
use crate::objects::requests::{Completed, Extra, Kind, Partition, Persistent, Request, Starts};
use crate::objects::shortcuts::Shortcut;
use crate::record::carriers::{
    Carrier, Comm, Known, other_cell, other_edge, shortcut, shortcut_of_receive, shortcut_without_bytes,
};
use crate::record::{buckets, phases, sites};
use crate::shard::memory;
use crate::thread::Thread;
use crate::thread::counters::Counters;
use crate::trace;
use crate::volume::{Context, Part, Volume};

/// What is known of a call when it has returned.
#[derive(Clone, Copy)]
pub struct Done {
    pub operation: u16,
    /// What it returned: 0 is `MPI_SUCCESS` in every family.
    pub code: c_int,
    pub ticks: u64,
}

#[inline(always)]
fn add_time(cell: &mut Cell, ticks: u64) {
    cell.calls = cell.calls.wrapping_add(1);
    cell.ticks = cell.ticks.wrapping_add(ticks);
    if !Bound::are_around(cell.ticks_min, cell.ticks_max, ticks) {
        widen(cell, ticks);
    }
}

/// Apart, since most calls are neither the shortest nor the longest.
#[cold]
#[inline(never)]
fn widen(cell: &mut Cell, ticks: u64) {
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
    let key = key(record, done.operation, bucket);
    thread.counters.count(key, |cell| add_time(cell, done.ticks));
    thread.counters.add_ticks(done.ticks);
    sites::call(thread, key, done.ticks, (0, 0));
}

/// A call that never returned, since the program left it by an exception or a jump, over the communicator of this number.
#[cold]
pub fn left(thread: &Thread, comm: u32, operation: u16, ticks: u64) {
    if state::is_on() {
        let key = Cell::key(comm, operation, BUCKET_FAILED) | Cell::phase_bits(phases::current());
        thread.counters.count(key, |cell| add_time(cell, ticks));
        thread.counters.add_ticks(ticks);
        sites::call(thread, key, ticks, (0, 0));
    }
}

/// A call that takes no level of those in flight, made from there: otherwise as [`plain`].
pub fn apart(thread: &Thread, record: Record, done: Done, caller: Caller) {
    thread.in_flight.is_apart(done.operation, caller.address());
    plain(thread, record, done);
}

/// A call that returned an error: neither its arguments nor its communicator can be relied on.
#[cold]
#[inline(never)]
pub fn failed<C: Carrier>(thread: &Thread, key: Word, operation: u16, code: c_int, ticks: u64) {
    if state::is_on() {
        plain(thread, C::known(thread, key), Done { operation, code, ticks });
    }
}

/// A call with the bytes that its rule tells.
#[inline(always)]
pub fn call<P: Path, C: Carrier>(thread: &Thread, key: Word, done: Done, rule: impl FnOnce(&mut Now<P, C>) -> Volume) {
    if done.code != 0 {
        return failed::<C>(thread, key, done.operation, done.code, done.ticks);
    }
    let shortcut = shortcut::<C>(thread, done.operation, key);
    add(thread, shortcut, key, done, rule);
}

/// The same for rules that are quickly told. On the short path all of it is tried first with what the shortcut knows: then there is no
/// function to call, and no register to save for one. `rule` and `again` are the same rule.
#[inline(always)]
pub fn call_at_once<P: Path, C: Carrier>(
    thread: &Thread,
    key: Word,
    done: Done,
    rule: impl FnOnce(&mut AtOnce) -> Option<Volume>,
    again: impl FnOnce(&mut Now<P, C>) -> Volume,
) {
    if !P::IS_SHORT {
        return call::<P, C>(thread, key, done, again);
    }
    if let Some(shortcut) = shortcut_at_once(thread, done.operation, key) {
        let mut known = AtOnce { shortcut, edge: ptr::null_mut(), bytes: 0 };
        if let Some(volume) = rule(&mut known)
            && let Some(cell) = shortcut.cell(volume.message_bytes)
        {
            if !known.edge.is_null() {
                // SAFETY: the counters that a shortcut knows are this thread's.
                unsafe { Counters::add_messages(known.edge, (1, known.bytes)) };
            }
            return add_at_once(thread, cell, done.ticks, volume);
        }
    }
    call_apart::<P, C>(thread, key, done.operation, done.ticks, again);
}

/// The shortcut of a call, if it takes no call to find it.
#[inline(always)]
fn shortcut_at_once(thread: &Thread, operation: u16, key: Word) -> Option<&Shortcut> {
    let now = generation();
    let latest = thread.shortcuts.latest(operation);
    if latest.is_for(key, now) { Some(latest) } else { thread.shortcuts.again_at_home(key, operation, now) }
}

#[inline(always)]
fn add_at_once(thread: &Thread, cell: *mut Cell, ticks: u64, volume: Volume) {
    // SAFETY: as above.
    let cell = unsafe { &mut *cell };
    cell.bytes_sent = cell.bytes_sent.wrapping_add(volume.sent);
    cell.bytes_recv = cell.bytes_recv.wrapping_add(volume.received);
    thread.counters.add_ticks(ticks);
    // Which may end in a call, and so comes last.
    add_time(cell, ticks);
}

#[cold]
#[inline(never)]
fn call_apart<P: Path, C: Carrier>(
    thread: &Thread,
    key: Word,
    operation: u16,
    ticks: u64,
    rule: impl FnOnce(&mut Now<P, C>) -> Volume,
) {
    call::<P, C>(thread, key, Done { operation, code: 0, ticks }, rule);
}

/// A call that carries nothing.
#[inline(always)]
pub fn call_without_bytes<P: Path, C: Carrier>(thread: &Thread, key: Word, done: Done) {
    if done.code != 0 {
        return failed::<C>(thread, key, done.operation, done.code, done.ticks);
    }
    let shortcut = shortcut_without_bytes::<C>(thread, done.operation, key);
    if trace::is_on_in::<P>() {
        trace::volume(shortcut.record.get(), done.operation, 0);
    }
    // SAFETY: the counters that a shortcut knows are this thread's.
    let cell = unsafe { &mut *shortcut.only_cell() };
    add_time(cell, done.ticks);
    thread.counters.add_ticks(done.ticks);
    if !P::IS_SHORT {
        sites::call(thread, shortcut.cells.get(), done.ticks, (0, 0));
    }
}

/// A call that carries nothing, and that its record sees once: its counters are not looked for, nor found again.
#[inline(always)]
pub fn once<P: Path>(thread: &Thread, record: Record, done: Done) {
    if done.code != 0 || record == communicators::none() || !P::IS_SHORT && crate::sites::are_counted() {
        return plain_apart(thread, record, done.operation, done.code, done.ticks);
    }
    thread.counters.add_ticks(done.ticks);
    thread.counters.add_apart(Cell {
        key: key(record, done.operation, 0),
        calls: 1,
        bytes_sent: 0,
        bytes_recv: 0,
        ticks: done.ticks,
        ticks_min: Bound::below(done.ticks),
        ticks_max: Bound::above(done.ticks),
    });
}

#[cold]
#[inline(never)]
fn plain_apart(thread: &Thread, record: Record, operation: u16, code: c_int, ticks: u64) {
    plain(thread, record, Done { operation, code, ticks });
}

/// A call that carries nothing, of a record that its wrapper knows.
#[inline(always)]
pub fn of_record_without_bytes<P: Path>(thread: &Thread, record: Record, done: Done) {
    if done.code != 0 {
        return failed::<Known>(thread, record as Word, done.operation, done.code, done.ticks);
    }
    let shortcut = shortcut_without_bytes::<Known>(thread, done.operation, record as Word);
    // SAFETY: as above.
    add_time(unsafe { &mut *shortcut.only_cell() }, done.ticks);
    thread.counters.add_ticks(done.ticks);
    if !P::IS_SHORT {
        sites::call(thread, shortcut.cells.get(), done.ticks, (0, 0));
    }
}

/// A call of a known record, for calls that are not given a communicator.
pub fn of_record(thread: &Thread, record: Record, done: Done, rule: impl FnOnce(&mut Now<Full, Known>) -> Volume) {
    let shortcut = shortcut::<Known>(thread, done.operation, record as Word);
    add(thread, shortcut, record as Word, done, rule);
}

/// Returns the counters that it was added to.
#[inline(always)]
fn add<P: Path, C: Carrier>(
    thread: &Thread,
    shortcut: &Shortcut,
    key: Word,
    done: Done,
    rule: impl FnOnce(&mut Now<P, C>) -> Volume,
) -> *mut Cell {
    let volume = rule(&mut Now { thread, shortcut, key, operation: done.operation, path: PhantomData });
    if trace::is_on_in::<P>() {
        trace::volume(shortcut.record.get(), done.operation, volume.sent.max(volume.received));
    }
    let place = match shortcut.cell(volume.message_bytes) {
        Some(cell) => cell,
        None => other_cell(thread, shortcut, volume.message_bytes),
    };
    // SAFETY: the counters that a shortcut knows are this thread's.
    let cell = unsafe { &mut *place };
    add_time(cell, done.ticks);
    cell.bytes_sent = cell.bytes_sent.wrapping_add(volume.sent);
    cell.bytes_recv = cell.bytes_recv.wrapping_add(volume.received);
    thread.counters.add_ticks(done.ticks);
    if !P::IS_SHORT {
        let bucket = buckets::of(volume.message_bytes);
        sites::call(thread, shortcut.cells.get() | u64::from(bucket), done.ticks, (volume.sent, volume.received));
    }
    place
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
    let bucket = buckets::of(volume.message_bytes);
    let key = key_in(phase, record, done.operation, bucket);
    thread.counters.count(key, |cell| {
        add_time(cell, done.ticks);
        cell.bytes_sent += volume.sent;
        cell.bytes_recv += volume.received;
    });
    thread.counters.add_ticks(done.ticks);
    sites::call(thread, key, done.ticks, (volume.sent, volume.received));
    bucket
}

/// A nonblocking call whose bytes are known when it starts.
#[inline(always)]
pub fn started<P: Path, C: Carrier>(
    thread: &Thread,
    key: Word,
    request: Word,
    done: Done,
    rule: impl FnOnce(&mut Now<P, C>) -> Volume,
) {
    if done.code != 0 {
        return failed::<C>(thread, key, done.operation, done.code, done.ticks);
    }
    let shortcut = shortcut::<C>(thread, done.operation, key);
    if state::is_on_in::<P>() {
        add(thread, shortcut, key, done, rule);
    }
    follow::<P>(thread, shortcut, request, Kind::Plain, 0, done.ticks);
}

/// The same for rules that are quickly told, as [`call_at_once`].
#[inline(always)]
pub fn started_at_once<P: Path, C: Carrier>(
    thread: &Thread,
    key: Word,
    request: Word,
    done: Done,
    rule: impl FnOnce(&mut AtOnce) -> Option<Volume>,
    again: impl FnOnce(&mut Now<P, C>) -> Volume,
) {
    if !P::IS_SHORT {
        return started::<P, C>(thread, key, request, done, again);
    }
    if let Some(shortcut) = shortcut_at_once(thread, done.operation, key) {
        let mut known = AtOnce { shortcut, edge: ptr::null_mut(), bytes: 0 };
        if let Some(volume) = rule(&mut known)
            && let Some(cell) = shortcut.cell(volume.message_bytes)
        {
            if !known.edge.is_null() {
                // SAFETY: the counters that a shortcut knows are this thread's.
                unsafe { Counters::add_messages(known.edge, (1, known.bytes)) };
            }
            add_at_once(thread, cell, done.ticks, volume);
            return follow::<P>(thread, shortcut, request, Kind::Plain, 0, done.ticks);
        }
    }
    started_apart::<P, C>(thread, key, request, done.operation, done.ticks, again);
}

#[cold]
#[inline(never)]
fn started_apart<P: Path, C: Carrier>(
    thread: &Thread,
    key: Word,
    request: Word,
    operation: u16,
    ticks: u64,
    rule: impl FnOnce(&mut Now<P, C>) -> Volume,
) {
    started::<P, C>(thread, key, request, Done { operation, code: 0, ticks }, rule);
}

/// A nonblocking call that sends, and receives what its completion tells.
#[inline(always)]
pub fn started_both<P: Path, C: Carrier>(
    thread: &Thread,
    key: Word,
    request: Word,
    done: Done,
    rule: impl FnOnce(&mut Now<P, C>) -> Volume,
) {
    if done.code != 0 {
        return failed::<C>(thread, key, done.operation, done.code, done.ticks);
    }
    let shortcut = shortcut::<C>(thread, done.operation, key);
    if state::is_on_in::<P>() {
        let cell = add(thread, shortcut, key, done, rule);
        // SAFETY: one of this thread's.
        let cells = unsafe { (*cell).key };
        follow::<P>(thread, shortcut, request, Kind::ReceiveInto, cells, done.ticks);
    } else {
        follow::<P>(thread, shortcut, request, Kind::Plain, 0, done.ticks);
    }
}

/// A nonblocking call of a known record. Where it `reads`, its completion tells how much.
pub fn started_over(
    thread: &Thread,
    record: Record,
    request: Word,
    done: Done,
    reads: bool,
    rule: impl FnOnce(&mut Now<Full, Known>) -> Volume,
) {
    let (mut kind, mut cells) = (Kind::Plain, 0);
    let shortcut = shortcut::<Known>(thread, done.operation, record as Word);
    if state::is_on() {
        let cell = add(thread, shortcut, record as Word, done, rule);
        if reads {
            kind = Kind::Read;
            // SAFETY: one of this thread's.
            cells = unsafe { (*cell).key };
        }
    }
    follow::<Full>(thread, shortcut, request, kind, cells, done.ticks);
}

/// A nonblocking receive: its bucket is known when its message has arrived. Its phase is the one it is posted in.
#[inline(always)]
pub fn receiving<P: Path, C: Carrier>(
    thread: &Thread,
    key: Word,
    request: Word,
    done: Done,
    rule: impl FnOnce(&mut Now<P, C>) -> Volume,
) {
    if done.code != 0 {
        return failed::<C>(thread, key, done.operation, done.code, done.ticks);
    }
    // On the short path the rule has nothing to tell.
    if P::IS_SHORT
        && let Some(shortcut) = shortcut_at_once(thread, done.operation, key)
    {
        thread.counters.add_ticks(done.ticks);
        // SAFETY: the counters that a shortcut knows are this thread's.
        add_time(unsafe { &mut *shortcut.pending.get() }, done.ticks);
        return follow::<P>(thread, shortcut, request, Kind::Receive, shortcut.cells.get(), done.ticks);
    }
    if P::IS_SHORT {
        return receiving_apart::<P, C>(thread, key, request, done.operation, done.ticks, rule);
    }
    receiving_otherwise::<P, C>(thread, key, request, done, rule);
}

#[cold]
#[inline(never)]
fn receiving_apart<P: Path, C: Carrier>(
    thread: &Thread,
    key: Word,
    request: Word,
    operation: u16,
    ticks: u64,
    rule: impl FnOnce(&mut Now<P, C>) -> Volume,
) {
    receiving_otherwise::<P, C>(thread, key, request, Done { operation, code: 0, ticks }, rule);
}

#[inline(always)]
fn receiving_otherwise<P: Path, C: Carrier>(
    thread: &Thread,
    key: Word,
    request: Word,
    done: Done,
    rule: impl FnOnce(&mut Now<P, C>) -> Volume,
) {
    let shortcut = shortcut_of_receive::<C>(thread, done.operation, key);
    if state::is_on_in::<P>() {
        rule(&mut Now { thread, shortcut, key, operation: done.operation, path: PhantomData });
        // SAFETY: the counters that a shortcut knows are this thread's.
        add_time(unsafe { &mut *shortcut.pending.get() }, done.ticks);
        thread.counters.add_ticks(done.ticks);
        if !P::IS_SHORT {
            sites::call(thread, shortcut.cells.get() | u64::from(BUCKET_PENDING), done.ticks, (0, 0));
        }
        follow::<P>(thread, shortcut, request, Kind::Receive, shortcut.cells.get(), done.ticks);
    } else {
        follow::<P>(thread, shortcut, request, Kind::Plain, 0, done.ticks);
    }
}

#[inline(always)]
fn pending(thread: &Thread, record: Record, done: Done, phase: u8) {
    let key = key_in(phase, record, done.operation, BUCKET_PENDING);
    thread.counters.count(key, |cell| add_time(cell, done.ticks));
    thread.counters.add_ticks(done.ticks);
    sites::call(thread, key, done.ticks, (0, 0));
}

#[inline(always)]
fn follow<P: Path>(thread: &Thread, shortcut: &Shortcut, request: Word, kind: Kind, cells: u64, ticks: u64) {
    // SAFETY: the call succeeded, so the program passed a place for the handle, and the library filled it.
    let handle = unsafe { abi().load(request) };
    if handle != abi().request_null {
        let posted = match kind {
            Kind::Receive | Kind::ReceiveInto if trace::is_on_in::<P>() => trace::posted(),
            _ => 0,
        };
        let kept = match !P::IS_SHORT && crate::sites::are_counted() {
            true => sites::kept(thread, Cell::operation_of(shortcut.cells.get())),
            false => shortcut,
        };
        thread.requests().start(handle, shortcut.record.get(), kind, posted, cells, ticks, kept);
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
        return failed::<Comm>(thread, comm, done.operation, done.code, done.ticks);
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
    let key = key_in(persistent.phase, record, operation, 0);
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

/// What a completed receive brought, by what is left of it in its slot.
#[inline(always)]
pub fn arrived_where(thread: &Thread, slot: &Slot, bytes: u64) {
    // SAFETY: shortcuts are never freed.
    let shortcut = unsafe { &*slot.shortcut };
    match shortcut.cell(bytes) {
        Some(cell) if shortcut.is_of(slot.cells) => {
            receive(shortcut.pending.get(), cell, slot.ticks, bytes);
        }
        _ => arrived(thread, &slot.completed(), bytes),
    }
}

/// The call moves from the row of pending receives to its bucket. Its row may be another thread's: counts wrap, and are right when
/// threads are added up.
#[inline(always)]
fn receive(pending: *mut Cell, cell: *mut Cell, ticks: u64, bytes: u64) {
    // SAFETY: both are this thread's.
    unsafe {
        (*pending).calls = (*pending).calls.wrapping_sub(1);
        (*pending).ticks = (*pending).ticks.wrapping_sub(ticks);
        add_time(&mut *cell, ticks);
        (*cell).bytes_recv = (*cell).bytes_recv.wrapping_add(bytes);
    }
}

/// What a completed receive brought.
#[inline(never)]
pub fn arrived(thread: &Thread, request: &Completed, bytes: u64) {
    if crate::sites::are_counted() {
        return arrived_at_site(thread, request, bytes);
    }
    match request.kind {
        Kind::Receive => {
            // SAFETY: shortcuts are never freed, nor the counters that they know, which are this thread's.
            let shortcut = unsafe { &*request.shortcut };
            let (pending, cell) = match shortcut.is_of(request.cells) {
                true => (
                    shortcut.pending.get(),
                    shortcut.cell(bytes).unwrap_or_else(|| other_cell(thread, shortcut, bytes)),
                ),
                false => cells_of(thread, request.cells, bytes),
            };
            receive(pending, cell, request.ticks, bytes);
        }
        Kind::ReceiveInto | Kind::Read => {
            thread.counters.count(request.cells, |cell| cell.bytes_recv += bytes);
        }
        Kind::Plain | Kind::Duplicate => {}
    }
}

/// The same where the request has kept the site of its call.
#[cold]
#[inline(never)]
fn arrived_at_site(thread: &Thread, request: &Completed, bytes: u64) {
    let site = sites::of_kept(request.shortcut);
    match request.kind {
        Kind::Receive => {
            let (pending, cell) = cells_of(thread, request.cells, bytes);
            receive(pending, cell, request.ticks, bytes);
            thread.counters.count_at_site(request.cells | u64::from(BUCKET_PENDING), site, |cell| {
                cell.calls = cell.calls.wrapping_sub(1);
                cell.ticks = cell.ticks.wrapping_sub(request.ticks);
            });
            thread.counters.count_at_site(request.cells | u64::from(buckets::of(bytes)), site, |cell| {
                sites::add(cell, request.ticks, (0, bytes));
            });
        }
        Kind::ReceiveInto | Kind::Read => {
            thread.counters.count(request.cells, |cell| cell.bytes_recv += bytes);
            thread.counters.count_at_site(request.cells, site, |cell| {
                cell.bytes_recv = cell.bytes_recv.wrapping_add(bytes);
            });
        }
        Kind::Plain | Kind::Duplicate => {}
    }
}

/// The counters of a pending receive, and of its message when that has come.
#[inline(never)]
fn cells_of(thread: &Thread, cells: u64, bytes: u64) -> (*mut Cell, *mut Cell) {
    let cell = |bucket| thread.counters.cell(cells | u64::from(bucket)).0;
    (cell(BUCKET_PENDING), cell(buckets::of(bytes)))
}

/// Rules put the messages of a call that has just been made into the matrix.
pub struct Now<'a, P: Path, C: Carrier> {
    thread: &'a Thread,
    shortcut: &'a Shortcut,
    key: Word,
    operation: u16,
    path: PhantomData<(P, C)>,
}

/// What a rule is told by the shortcut alone.
pub struct AtOnce<'a> {
    shortcut: &'a Shortcut,
    /// Of the one message that the call sent.
    edge: *mut Edge,
    bytes: u64,
}

impl Context for AtOnce<'_> {
    #[inline(always)]
    fn record(&self) -> Record {
        self.shortcut.record.get()
    }

    fn comm(&self) -> Word {
        abi().comm_null
    }

    fn message(&mut self, _: c_int, _: u64) {}

    fn describe(&mut self, _: Word, _: u64) {}

    #[inline(always)]
    fn records_datatypes(&self) -> bool {
        false
    }

    /// The usual datatype is one whatever the count is.
    #[inline(always)]
    fn known_block(&self, count: i64, datatype: Word) -> Option<u64> {
        Some((count as u64).wrapping_mul(self.shortcut.datatype_bytes(datatype)?))
    }

    #[inline(always)]
    fn known_message(&mut self, destination: c_int, bytes: u64) -> Option<()> {
        (self.edge, self.bytes) = (self.shortcut.edge(destination as u32)?, bytes);
        Some(())
    }

    #[inline(always)]
    unsafe fn brought(&self, status: Word) -> Option<u64> {
        // SAFETY: the caller passes a status that the library has filled.
        unsafe { status::usual_bytes(status) }
    }

    /// In an intercommunicator it is not so simple.
    #[inline(always)]
    fn known_part(&self, root: c_int) -> Option<Part> {
        let communicator = self.communicator();
        if communicator.flags & INTER != 0 {
            return None;
        }
        Some(if communicator.rank == root as u32 { Part::Root { is_inter: false } } else { Part::Other })
    }
}

impl Now<'_, Full, Known> {
    /// For a call whose rule has no messages.
    pub fn of_record(thread: &Thread, record: Record, operation: u16) -> Now<'_, Full, Known> {
        let shortcut = shortcut::<Known>(thread, operation, record as Word);
        Now { thread, shortcut, key: record as Word, operation, path: PhantomData }
    }
}

impl<P: Path, C: Carrier> Context for Now<'_, P, C> {
    #[inline(always)]
    fn record(&self) -> Record {
        self.shortcut.record.get()
    }

    fn comm(&self) -> Word {
        C::comm(self.key)
    }

    #[inline(always)]
    fn size(&self, datatype: Word) -> u64 {
        match self.shortcut.datatype_bytes(datatype) {
            Some(bytes) => bytes,
            None => other_size(self.shortcut, datatype),
        }
    }

    /// The usual datatype is one whatever the count is.
    #[inline(always)]
    fn block(&self, count: i64, datatype: Word) -> u64 {
        match self.shortcut.datatype_bytes(datatype) {
            Some(bytes) => (count as u64).wrapping_mul(bytes),
            None => other_block(self.shortcut, count, datatype),
        }
    }

    #[inline(always)]
    fn message(&mut self, destination: c_int, bytes: u64) {
        let edge = match self.shortcut.edge(destination as u32) {
            Some(edge) => edge,
            None => match other_edge::<C>(self.thread, self.shortcut, self.key, destination) {
                Some(edge) => edge,
                None => return,
            },
        };
        // SAFETY: the counters that a shortcut knows are this thread's.
        let world_rank = unsafe { Counters::add_messages(edge, (1, bytes)) };
        if trace::is_on_in::<P>() {
            trace::sent(self.record(), self.operation, trace::take_tag(), world_rank, bytes);
        }
    }

    #[inline(always)]
    unsafe fn arrived(&mut self, status: Word, bytes: u64) {
        if trace::is_on_in::<P>() {
            // SAFETY: the caller passes a status that the library has filled.
            unsafe { trace::received(self.record(), self.operation, trace::posted(), status, bytes) };
        }
    }

    #[inline(always)]
    fn records_datatypes(&self) -> bool {
        !P::IS_SHORT && datatypes::are_recorded()
    }

    #[inline(always)]
    fn describe(&mut self, datatype: Word, elements: u64) {
        add_use(self.thread, self.record(), self.operation, datatype, elements);
    }
}

#[inline(never)]
fn other_block(shortcut: &Shortcut, count: i64, datatype: Word) -> u64 {
    if count == 0 { 0 } else { (count as u64).wrapping_mul(other_size(shortcut, datatype)) }
}

/// The size of another datatype than the one that the operation's latest call was given.
#[inline(never)]
fn other_size(shortcut: &Shortcut, datatype: Word) -> u64 {
    match datatypes::predefined(datatype) {
        Some(bytes) => {
            shortcut.set_datatype(datatype, bytes);
            bytes
        }
        None => datatypes::size(datatype),
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
