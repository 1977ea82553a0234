//! Calls that start a request, counted when they return, and what a receive has brought, counted when it has completed.

use vocabulary::shard::{BUCKET_PENDING, Cell};

use crate::guest::short_path::{Full, Path, Short};
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::Record;
use crate::objects::requests::{self, Kind, Request, site};
use crate::objects::shortcuts::Shortcut;
use crate::objects::turns::NO_DESTINATION;
use crate::record::buckets;
use crate::record::carriers::{Carrier, Known, other_cell, shortcut, shortcut_at_once, shortcut_of_receive};
use crate::record::completed::{Started, UNKNOWN};
use crate::record::context::{AtOnce, Now};
use crate::record::sites::{self, Site};
use crate::record::tally::{
    Done, add, add_anew, add_at_once, add_pending, add_time, charge, elsewhere, failed, in_turn, out_of_turn,
};
use crate::thread::Thread;
use crate::trace;
use crate::volume::Volume;

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
    let shortcut = shortcut::<P, C>(thread, done.operation, key);
    let place = if state::is_on_in::<P>() { add(thread, shortcut, key, done, rule).cast_const() } else { UNKNOWN };
    follow_plain::<P>(thread, shortcut, request, place);
}

/// The same for rules that are quickly told, as [`call_at_once`].
#[inline(always)]
pub fn started_at_once<P: Path, C: Carrier>(
    thread: &Thread,
    key: Word,
    request: Word,
    done: Done,
    rule: impl FnOnce(&mut AtOnce<P>) -> Option<Volume>,
    again: impl FnOnce(&mut Now<P, C>) -> Volume,
) {
    if !P::IS_SHORT {
        return started::<P, C>(thread, key, request, done, again);
    }
    if let Some(shortcut) = shortcut_at_once::<P>(thread, done.operation, key) {
        let mut known = AtOnce::<P>::new(thread, shortcut);
        if let Some(volume) = rule(&mut known) {
            if known.knows_message()
                && let Some(cell) = shortcut.cell(volume.message_bytes)
                && let Some(site) = Site::known::<P>(shortcut)
            {
                add_at_once(known, (cell, site), done.ticks, volume);
                // The same counters, but in no register while they are added to.
                return follow_plain::<P>(thread, shortcut, request, shortcut.only_cell());
            }
            if !volume.is_negative() {
                thread.left.set((volume.received, known.destination));
                let Volume { sent, message_bytes, .. } = volume;
                return started_elsewhere::<P, C>(thread, shortcut, request, done.ticks, sent, message_bytes);
            }
        }
    }
    started_apart::<P, C>(thread, key, request, done.operation, done.ticks, again);
}

#[inline(never)]
fn started_elsewhere<P: Path, C: Carrier>(
    thread: &Thread,
    shortcut: &Shortcut,
    request: Word,
    ticks: u64,
    sent: u64,
    message_bytes: u64,
) {
    match in_turn::<P>(thread, shortcut, message_bytes) {
        Some(places) => {
            places.add(thread, ticks, sent, message_bytes);
            follow_plain::<P>(thread, shortcut, request, shortcut.only_cell());
        }
        None => started_out_of_turn::<P, C>(thread, shortcut, request, ticks, sent, message_bytes),
    }
}

#[inline(never)]
fn started_out_of_turn<P: Path, C: Carrier>(
    thread: &Thread,
    shortcut: &Shortcut,
    request: Word,
    ticks: u64,
    sent: u64,
    message_bytes: u64,
) {
    let cell = out_of_turn(thread, shortcut, || match elsewhere::<P>(thread, shortcut, message_bytes) {
        Some(places) => {
            let cell = places.cell;
            places.add(thread, ticks, sent, message_bytes);
            cell
        }
        None => add_anew::<P, C>(thread, shortcut, ticks, sent, message_bytes),
    });
    follow_plain::<P>(thread, shortcut, request, cell);
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
    let shortcut = shortcut::<P, C>(thread, done.operation, key);
    if state::is_on_in::<P>() {
        let cell = add(thread, shortcut, key, done, rule);
        // SAFETY: one of this thread's.
        let cells = unsafe { (*cell).key };
        follow::<P>(thread, shortcut, request, Kind::ReceiveInto, cells, done.ticks);
    } else {
        follow_plain::<P>(thread, shortcut, request, UNKNOWN);
    }
}

/// A nonblocking call of a known record. Of a read from the file `reads`, its completion tells how much.
pub fn started_over(
    thread: &Thread,
    record: Record,
    request: Word,
    done: Done,
    reads: Option<u32>,
    rule: impl FnOnce(&mut Now<Full, Known>) -> Volume,
) {
    let mut place = UNKNOWN;
    let shortcut = shortcut::<Full, Known>(thread, done.operation, record as Word);
    if state::is_on() {
        let cell = add(thread, shortcut, record as Word, done, rule);
        if let Some(file) = reads {
            // SAFETY: one of this thread's.
            let cells = unsafe { (*cell).key };
            return follow_as::<Full>(thread, shortcut, request, (Kind::Read, || file), cells, done.ticks);
        }
        place = cell.cast_const();
    }
    follow_plain::<Full>(thread, shortcut, request, place);
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
        && let Some(shortcut) = shortcut_at_once::<P>(thread, done.operation, key)
    {
        sites::receiving::<P>(thread, shortcut, done.ticks);
        // SAFETY: the counters that a shortcut knows are this thread's.
        add_pending(unsafe { &mut *shortcut.pending.get() }, done.ticks);
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
    let shortcut = shortcut_of_receive::<P, C>(thread, done.operation, key);
    if state::is_on_in::<P>() {
        rule(&mut Now::new(thread, shortcut, key, done.operation));
        // SAFETY: the counters that a shortcut knows are this thread's.
        add_pending(unsafe { &mut *shortcut.pending.get() }, done.ticks);
        charge::<P>(thread, done.ticks);
        sites::receiving::<P>(thread, shortcut, done.ticks);
        follow::<P>(thread, shortcut, request, Kind::Receive, shortcut.cells.get(), done.ticks);
    } else {
        follow_plain::<P>(thread, shortcut, request, UNKNOWN);
    }
}

/// A nonblocking receive from nobody, which brings nothing, as is known at once. So it waits for nothing under its handle, which Open MPI gives
/// to sends that are complete at once, too: at the edges of a domain both are under way at the same time.
#[inline(always)]
pub fn receiving_nothing<P: Path, C: Carrier>(thread: &Thread, key: Word, request: Word, done: Done) {
    let Done { operation, code, ticks } = done;
    if code != 0 {
        return failed::<C>(thread, key, operation, code, ticks);
    }
    let shortcut = shortcut_of_receive::<P, C>(thread, operation, key);
    if !state::is_on_in::<P>() {
        return follow_plain::<P>(thread, shortcut, request, UNKNOWN);
    }
    let (cell, is_latest) = match shortcut.cell(0) {
        Some(cell) => (cell, true),
        // The shortcut keeps the size of messages that bring something.
        None => (thread.counters.cell(shortcut.cells.get() | u64::from(buckets::of(0))).0, false),
    };
    sites::of_shortcut::<P>(thread, shortcut, (cell, is_latest), ticks, (0, 0));
    charge::<P>(thread, ticks);
    // SAFETY: the counters that a shortcut knows are this thread's.
    add_time(unsafe { &mut *cell }, ticks);
    follow_plain::<P>(thread, shortcut, request, cell);
}

#[inline(always)]
fn follow<P: Path>(thread: &Thread, shortcut: &Shortcut, request: Word, kind: Kind, cells: u64, ticks: u64) {
    let posted = || match kind {
        Kind::Receive | Kind::ReceiveInto if trace::is_on_in::<P>() => trace::posted(thread),
        _ => 0,
    };
    follow_as::<P>(thread, shortcut, request, (kind, posted), cells, ticks);
}

/// `posted`: what [`Request::posted`](crate::objects::requests::Request::posted) is to be.
#[inline(always)]
fn follow_as<P: Path>(
    thread: &Thread,
    shortcut: &Shortcut,
    request: Word,
    (kind, posted): (Kind, impl FnOnce() -> u32),
    cells: u64,
    ticks: u64,
) {
    let comm = shortcut.record.get();
    if request != 0 {
        // SAFETY: the call succeeded, so the library filled the place that the program passed.
        let handle = unsafe { abi().load_on::<P>(request) };
        let (shortcut, posted) = sites::kept_by::<P>(thread, shortcut, posted);
        let request = || Request { ticks, shortcut, cells, posted, ..Request::new(thread.number, comm, kind) };
        // The call has been left: another one is there where it was made in that.
        requests::start(handle, request, !P::IS_SHORT && !thread.is_outside());
    }
}

/// The same for a request that leaves nothing to be done: it keeps in the place of a shortcut how it was started.
#[inline(always)]
fn follow_plain<P: Path>(thread: &Thread, shortcut: &Shortcut, request: Word, started: Started) {
    if request != 0 {
        // SAFETY: as above.
        let handle = unsafe { abi().load_on::<P>(request) };
        let plain = || Request::new(thread.number, shortcut.record.get(), Kind::Plain);
        let request = || Request { shortcut: started.cast(), ..plain() };
        requests::start(handle, request, !P::IS_SHORT && !thread.is_outside());
    }
}

/// The same by a shortcut of the request's call, whose counters these are.
#[inline(always)]
fn arrived_at_known_site(thread: &Thread, shortcut: &Shortcut, cell: *mut Cell, ticks: u64, bytes: u64) -> Started {
    receive(shortcut.pending.get(), cell, ticks, bytes);
    sites::arrived(thread, shortcut, ticks, bytes);
    cell
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

/// What a completed receive brought. Returns the counters that tell its operation and size.
#[inline(always)]
pub fn arrived(thread: &Thread, request: &Request, bytes: u64) -> Started {
    if request.kind == Kind::Receive && !crate::sites::are_counted() {
        // SAFETY: shortcuts are never freed, but that of a persistent request, which lives as long as it is started.
        let shortcut = unsafe { &*request.shortcut };
        if shortcut.receives_in(request.cells)
            && let Some(cell) = shortcut.cell(bytes)
        {
            receive(shortcut.pending.get(), cell, request.ticks, bytes);
            return cell;
        }
    }
    arrived_otherwise(thread, request, bytes)
}

#[inline(never)]
fn arrived_otherwise(thread: &Thread, request: &Request, bytes: u64) -> Started {
    if crate::sites::are_counted() {
        return arrived_at_site(thread, request, bytes);
    }
    match request.kind {
        Kind::Receive => {
            // SAFETY: as in `arrived_where`; the counters that they know are never freed, and are this thread's.
            let shortcut = unsafe { &*request.shortcut };
            let (pending, cell) = match shortcut.receives_in(request.cells) {
                true => (
                    shortcut.pending.get(),
                    shortcut.cell(bytes).unwrap_or_else(|| cell_in_turn(thread, shortcut, bytes)),
                ),
                false => cells_of(thread, request.cells, bytes),
            };
            receive(pending, cell, request.ticks, bytes);
            cell
        }
        Kind::ReceiveInto | Kind::Read => {
            thread.counters.count(request.cells, |cell| cell.bytes_recv += bytes);
            sized(thread, request.cells, bytes)
        }
        Kind::Received | Kind::HasReceived => sized(thread, request.cells, bytes),
        Kind::Plain | Kind::Duplicate => started_as(thread, request),
    }
}

/// The counters of what arrived, where it is of another size than what arrived before.
#[inline(always)]
fn cell_in_turn(thread: &Thread, shortcut: &Shortcut, bytes: u64) -> *mut Cell {
    if thread.shortcuts.take_turn::<Short>(shortcut, NO_DESTINATION, bytes) {
        return shortcut.only_cell();
    }
    cell_out_of_turn(thread, shortcut, bytes)
}

/// Apart, so that what is in turn saves no register for it.
#[inline(never)]
fn cell_out_of_turn(thread: &Thread, shortcut: &Shortcut, bytes: u64) -> *mut Cell {
    let nobody = thread.counters.nobody();
    thread.shortcuts.learn_turn(shortcut, NO_DESTINATION, nobody, || other_cell(thread, shortcut, bytes))
}

/// The same where the request has kept the site of its call.
#[cold]
#[inline(never)]
fn arrived_at_site(thread: &Thread, request: &Request, bytes: u64) -> Started {
    let kept = site::of(request.shortcut, request.posted);
    match request.kind {
        Kind::Receive => {
            if let Some(shortcut) = site::shortcut(request.shortcut, request.posted, request.cells) {
                if let Some(cell) = shortcut.cell(bytes) {
                    return arrived_at_known_site(thread, shortcut, cell, request.ticks, bytes);
                }
                // The next one of its size finds them there.
                other_cell(thread, shortcut, bytes);
            }
            let (pending, cell) = cells_of(thread, request.cells, bytes);
            receive(pending, cell, request.ticks, bytes);
            thread.counters.count_at_site(request.cells | u64::from(BUCKET_PENDING), kept, |cell| {
                cell.calls = cell.calls.wrapping_sub(1);
                cell.ticks = cell.ticks.wrapping_sub(request.ticks);
            });
            thread.counters.count_at_site(request.cells | u64::from(buckets::of(bytes)), kept, |cell| {
                sites::add(cell, request.ticks, (0, bytes));
            });
            cell
        }
        Kind::ReceiveInto | Kind::Read => {
            thread.counters.count(request.cells, |cell| cell.bytes_recv += bytes);
            thread.counters.count_at_site(request.cells, kept, |cell| {
                cell.bytes_recv = cell.bytes_recv.wrapping_add(bytes);
            });
            sized(thread, request.cells, bytes)
        }
        Kind::Received | Kind::HasReceived => sized(thread, request.cells, bytes),
        Kind::Plain | Kind::Duplicate => started_as(thread, request),
    }
}

/// Counters of an operation in the bucket of what arrived, where nothing is added to them: the bytes are counted already, or belong to the bucket of the
/// call.
fn sized(thread: &Thread, cells: u64, bytes: u64) -> Started {
    thread.counters.cell(cells & !0xff | u64::from(buckets::of(bytes))).0
}

/// How a request was started that left nothing to be done but for its communicator.
#[inline(always)]
pub fn started_as(thread: &Thread, request: &Request) -> Started {
    let started: Started = request.shortcut.cast();
    if started == UNKNOWN { by_key(thread, request.cells) } else { started }
}

/// The same by its key, which duplications have.
#[inline(never)]
fn by_key(thread: &Thread, cells: u64) -> Started {
    if cells >> 32 == 0 { UNKNOWN } else { thread.counters.cell(cells).0 }
}

/// The counters of a pending receive, and of its message when that has come.
#[inline(never)]
fn cells_of(thread: &Thread, cells: u64, bytes: u64) -> (*mut Cell, *mut Cell) {
    let cell = |bucket| thread.counters.cell(cells | u64::from(bucket)).0;
    (cell(BUCKET_PENDING), cell(buckets::of(bytes)))
}
