//! Calls that start a request, counted when they return, and what a receive has brought, counted when it has completed.

use vocabulary::shard::{BUCKET_PENDING, Cell, SiteCell};

use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::Record;
use crate::objects::requests::{self, Kind, Request, site};
use crate::objects::shortcuts::Shortcut;
use crate::record::buckets;
use crate::record::carriers::{self, Carrier, Comm, Known};
use crate::record::completed::{Started, UNKNOWN};
use crate::record::context::{Now, Quick};
use crate::record::sites;
use crate::record::tally::{Done, add_pending, add_time, failed, quickly, thoroughly};
use crate::thread::Thread;
use crate::trace;
use crate::volume::Volume;

/// A nonblocking call whose bytes are known when it starts.
#[inline(always)]
pub fn started<C: Carrier>(
    thread: &Thread,
    key: Word,
    request: Word,
    done: Done,
    rule: impl FnOnce(&mut Quick) -> Volume,
    again: impl FnOnce(&mut Now<C>) -> Volume,
) {
    let Done { operation, code, ticks } = done;
    if code != 0 {
        return failed::<C>(thread, key, operation, code, ticks);
    }
    match quickly(thread, key, done, rule) {
        Some((shortcut, cell)) => follow_plain(thread, shortcut.record.get(), request, cell),
        None => started_otherwise(thread, key, request, operation, ticks, again),
    }
}

#[cold]
#[inline(never)]
fn started_otherwise<C: Carrier>(
    thread: &Thread,
    key: Word,
    request: Word,
    operation: u16,
    ticks: u64,
    rule: impl FnOnce(&mut Now<C>) -> Volume,
) {
    if state::is_on() {
        let (shortcut, cell) = thoroughly(thread, key, operation, ticks, rule);
        follow_plain_apart(thread, shortcut.record.get(), request, cell);
    } else {
        follow_uncounted::<C>(thread, key, request);
    }
}

/// While counting pauses, nothing is left to be done.
fn follow_uncounted<C: Carrier>(thread: &Thread, key: Word, request: Word) {
    follow_plain_apart(thread, C::record(thread, key), request, UNKNOWN);
}

/// A nonblocking call that sends, and receives what its completion tells.
pub fn started_both<C: Carrier>(
    thread: &Thread,
    key: Word,
    request: Word,
    done: Done,
    rule: impl FnOnce(&mut Now<C>) -> Volume,
) {
    let Done { operation, code, ticks } = done;
    if code != 0 {
        return failed::<C>(thread, key, operation, code, ticks);
    }
    if !state::is_on() {
        return follow_uncounted::<C>(thread, key, request);
    }
    let (shortcut, cell) = thoroughly(thread, key, operation, ticks, rule);
    // SAFETY: one of this thread's.
    let cells = unsafe { (*cell).key };
    follow(thread, shortcut, request, Kind::ReceiveInto, cells, ticks);
}

/// A nonblocking call of a known record. Of a read from the file `reads`, its completion tells how much.
pub fn started_over(
    thread: &Thread,
    record: Record,
    request: Word,
    done: Done,
    reads: Option<u32>,
    rule: impl FnOnce(&mut Now<Known>) -> Volume,
) {
    if !state::is_on() {
        return follow_plain_apart(thread, record, request, UNKNOWN);
    }
    let (shortcut, cell) = thoroughly(thread, record as Word, done.operation, done.ticks, rule);
    follow_over(thread, shortcut, request, done.ticks, reads, cell);
}

#[inline(never)]
fn follow_over(thread: &Thread, shortcut: &Shortcut, request: Word, ticks: u64, reads: Option<u32>, cell: *mut Cell) {
    match reads {
        // SAFETY: one of this thread's.
        Some(file) => follow_as(thread, shortcut, request, (Kind::Read, file), unsafe { (*cell).key }, ticks),
        None => follow_plain(thread, shortcut.record.get(), request, cell),
    }
}

/// A nonblocking receive: its bucket is known when its message has arrived. Its phase is the one it is posted in.
#[inline(always)]
pub fn receiving<C: Carrier>(
    thread: &Thread,
    key: Word,
    request: Word,
    done: Done,
    rule: impl FnOnce(&mut Now<C>) -> Volume,
) {
    let Done { operation, code, ticks } = done;
    if code != 0 {
        return failed::<C>(thread, key, operation, code, ticks);
    }
    if let Some(shortcut) = carriers::find(thread, operation, key)
        && !shortcut.pending.get().is_null()
    {
        // SAFETY: the counters that a shortcut knows are this thread's.
        add_pending(unsafe { &mut *shortcut.pending.get() }, ticks);
        return follow_as(thread, shortcut, request, (Kind::Receive, 0), shortcut.cells.get(), ticks);
    }
    receiving_otherwise::<C>(thread, key, request, operation, ticks, rule);
}

#[cold]
#[inline(never)]
fn receiving_otherwise<C: Carrier>(
    thread: &Thread,
    key: Word,
    request: Word,
    operation: u16,
    ticks: u64,
    rule: impl FnOnce(&mut Now<C>) -> Volume,
) {
    if !state::is_on() {
        return follow_uncounted::<C>(thread, key, request);
    }
    let shortcut = carriers::shortcut::<C>(thread, operation, key);
    rule(&mut Now::new(thread, shortcut, key, operation));
    // SAFETY: this thread's.
    let pending = unsafe { &mut *carriers::pending_cell(thread, shortcut) };
    add_pending(pending, ticks);
    sites::call(thread, pending.key, ticks, (0, 0));
    follow(thread, shortcut, request, Kind::Receive, shortcut.cells.get(), ticks);
}

/// A nonblocking receive from nobody, which brings nothing, as is known at once. So it waits for nothing under its handle, which Open MPI gives
/// to sends that are complete at once, too: at the edges of a domain both are under way at the same time.
#[inline(always)]
pub fn receiving_nothing(thread: &Thread, comm: Word, request: Word, done: Done) {
    started::<Comm>(thread, comm, request, done, |_| Volume::default(), |_| Volume::default());
}

#[inline(never)]
fn follow(thread: &Thread, shortcut: &Shortcut, request: Word, kind: Kind, cells: u64, ticks: u64) {
    let posted = if trace::is_on() { trace::posted(thread) } else { 0 };
    follow_as(thread, shortcut, request, (kind, posted), cells, ticks);
}

/// `posted`: what [`Request::posted`](crate::objects::requests::Request::posted) is to be.
#[inline(always)]
fn follow_as(thread: &Thread, shortcut: &Shortcut, request: Word, (kind, posted): (Kind, u32), cells: u64, ticks: u64) {
    if request != 0 {
        // SAFETY: the call succeeded, so the library filled the place that the program passed.
        let handle = unsafe { abi().load(request) };
        let kept = sites::kept_by(thread, shortcut);
        let new = || Request::new(thread.number, shortcut.record.get(), kind);
        let request = || Request { ticks, shortcut: kept, cells, posted, ..new() };
        requests::start(handle, request, is_within(thread));
    }
}

/// The same for a request that leaves nothing to be done: it keeps in the place of a shortcut how it was started.
#[inline(always)]
fn follow_plain(thread: &Thread, record: Record, request: Word, started: Started) {
    if request != 0 {
        // SAFETY: as above.
        let handle = unsafe { abi().load(request) };
        let request = || Request { shortcut: started.cast(), ..Request::new(thread.number, record, Kind::Plain) };
        requests::start(handle, request, is_within(thread));
    }
}

/// The same where it is rare: one copy for all rules.
#[inline(never)]
fn follow_plain_apart(thread: &Thread, record: Record, request: Word, started: Started) {
    follow_plain(thread, record, request, started);
}

/// Whether the call was made within another one.
#[inline(always)]
pub fn is_within(thread: &Thread) -> bool {
    thread.in_flight.depth() > 1
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
    arrived_quickly(thread, request, bytes).unwrap_or_else(|| arrived_otherwise(thread, request, bytes))
}

/// The same, if the shortcut of the call that started the receive knows all, and calls are only counted.
#[inline(always)]
pub fn arrived_quickly(thread: &Thread, request: &Request, bytes: u64) -> Option<Started> {
    if request.kind != Kind::Receive || request.thread != thread.number || !state::only_counts() {
        return None;
    }
    // SAFETY: shortcuts are never freed.
    let shortcut = unsafe { &*request.shortcut };
    let cell = shortcut.cell(bytes).filter(|_| shortcut.receives_in(request.cells))?;
    receive(shortcut.pending.get(), cell, request.ticks, bytes);
    Some(cell)
}

#[inline(never)]
fn arrived_otherwise(thread: &Thread, request: &Request, bytes: u64) -> Started {
    let cell_of = |bucket| thread.counters.cell(request.cells | u64::from(bucket)).0;
    // The bytes belong to the bucket of the call: that of what arrived only tells how the request was started.
    let sized = || thread.counters.cell(request.cells & !0xff | u64::from(buckets::of(bytes))).0;
    let site = crate::sites::are_counted().then(|| site::of(request.shortcut));
    let at_site = |cells: u64, work: &dyn Fn(&mut SiteCell)| {
        if let Some(site) = site {
            thread.counters.count_at_site(cells, site, work);
        }
    };
    match request.kind {
        Kind::Receive => {
            let pending = cell_of(BUCKET_PENDING);
            // SAFETY: as above, where it is one; the counters are never freed, and are this thread's.
            let shortcut = site.is_none().then(|| unsafe { &*request.shortcut });
            let cell = match shortcut.filter(|shortcut| shortcut.receives_in(request.cells)) {
                Some(shortcut) => carriers::cell(thread, shortcut, bytes),
                None => cell_of(buckets::of(bytes)),
            };
            receive(pending, cell, request.ticks, bytes);
            // SAFETY: as above.
            let (pending, key) = unsafe { ((*pending).key, (*cell).key) };
            at_site(pending, &|cell| {
                cell.calls = cell.calls.wrapping_sub(1);
                cell.ticks = cell.ticks.wrapping_sub(request.ticks);
            });
            at_site(key, &|cell| sites::add(cell, request.ticks, (0, bytes)));
            cell
        }
        Kind::ReceiveInto | Kind::Read => {
            thread.counters.count(request.cells, |cell| cell.bytes_recv = cell.bytes_recv.wrapping_add(bytes));
            at_site(request.cells, &|cell| cell.bytes_recv = cell.bytes_recv.wrapping_add(bytes));
            sized()
        }
        Kind::Received | Kind::HasReceived => sized(),
        Kind::Plain | Kind::Duplicate => started_as(thread, request),
    }
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
