//! The hot path: adds one finished call to the counters.
//!
//! A call pays for two readings of the clock and for the note of where its thread stands (`record/call.rs`), for its shortcut, which lies
//! where a hash of its handle and operation says, and for the additions. Where the shortcut knows all that the rule for its bytes asks, no
//! function is called ([`quickly`]); otherwise [`thoroughly`] looks up what is missing, puts it into the shortcut, and does what is
//! seldom wanted besides: timeline, datatypes, call sites.

use std::ffi::c_int;
use std::sync::atomic::{Ordering, compiler_fence};

use vocabulary::shard::{BUCKET_FAILED, Bound, Cell};

use crate::guest::state;
use crate::mpi::abi::Word;
use crate::objects::communicators::Record;
use crate::objects::shortcuts::Shortcut;
use crate::record::carriers::{self, Carrier, Known};
use crate::record::context::{Now, Quick};
use crate::record::sites;
use crate::record::{buckets, phases};
use crate::thread::Thread;
use crate::trace;
use crate::volume::Volume;

/// What is known of a call when it has returned.
#[derive(Clone, Copy)]
pub struct Done {
    pub operation: u16,
    /// What it returned: 0 is `MPI_SUCCESS` in every family.
    pub code: c_int,
    /// Without the time of calls that were made within it.
    pub ticks: u64,
}

impl Done {
    /// A call that has succeeded without an entry of its own.
    pub fn well(operation: u16, ticks: u64) -> Done {
        Done { operation, code: 0, ticks }
    }
}

#[inline(always)]
pub fn add_time(cell: &mut Cell, ticks: u64) {
    cell.calls = cell.calls.wrapping_add(1);
    cell.ticks = cell.ticks.wrapping_add(ticks);
    if !Bound::are_around(cell.ticks_min, cell.ticks_max, ticks) {
        widen(cell, ticks);
    }
}

/// The same of a receive whose message has not come, which is taken out again when it has. Which was the shortest nobody asks: that is
/// of those that are left in the end.
#[inline(always)]
pub fn add_pending(cell: &mut Cell, ticks: u64) {
    cell.calls = cell.calls.wrapping_add(1);
    // As below.
    compiler_fence(Ordering::AcqRel);
    cell.ticks = cell.ticks.wrapping_add(ticks);
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
    key_in(phases::current_bits(), record, operation, bucket)
}

#[inline(always)]
pub fn key_in(phase_bits: u64, record: Record, operation: u16, bucket: u8) -> u64 {
    // SAFETY: records are never freed.
    let number = unsafe { (*record).number };
    Cell::key(number, operation, bucket) | phase_bits
}

/// A call without bytes, charged to a record.
pub fn plain(thread: &Thread, record: Record, done: Done) {
    let bucket = if done.code == 0 { 0 } else { BUCKET_FAILED };
    let key = key(record, done.operation, bucket);
    thread.counters.count(key, |cell| add_time(cell, done.ticks));
    sites::call(thread, key, done.ticks, (0, 0));
}

/// A call that never returned, since the program left it by an exception, over the communicator of this number.
#[cold]
pub fn left(thread: &Thread, comm: u32, operation: u16, ticks: u64) {
    if state::is_on() {
        let key = Cell::key(comm, operation, BUCKET_FAILED) | phases::current_bits();
        thread.counters.count(key, |cell| add_time(cell, ticks));
        sites::call(thread, key, ticks, (0, 0));
    }
}

/// A call that returned an error: neither its arguments nor its communicator can be relied on.
#[cold]
#[inline(never)]
pub fn failed<C: Carrier>(thread: &Thread, key: Word, operation: u16, code: c_int, ticks: u64) {
    if state::is_on() {
        plain(thread, C::known(thread, key), Done { code, ..Done::well(operation, ticks) });
    }
}

/// A call with the bytes that its rule tells. It is asked at first what the shortcut knows by heart; `again` is the same rule ([`twice`]).
#[inline(always)]
pub fn call<C: Carrier>(
    thread: &Thread,
    key: Word,
    done: Done,
    rule: impl FnOnce(&mut Quick) -> Volume,
    again: impl FnOnce(&mut Now<C>) -> Volume,
) {
    let Done { operation, code, ticks } = done;
    if code != 0 {
        return failed::<C>(thread, key, operation, code, ticks);
    }
    if quickly(thread, key, done, rule).is_none() {
        thoroughly(thread, key, operation, ticks, again);
    }
}

/// Gives a rule to a function that asks it twice, of two kinds of contexts.
macro_rules! twice {
    ($function:path, ($($argument:expr),*), |$context:ident| $rule:expr) => {
        $function($($argument),*, move |$context| $rule, move |$context| $rule)
    };
}
pub(crate) use twice;

/// Adds a call of which the shortcut knows all, and tells that and the counters. None where it does not.
#[inline(always)]
pub fn quickly(
    thread: &Thread,
    key: Word,
    Done { operation, ticks, .. }: Done,
    rule: impl FnOnce(&mut Quick) -> Volume,
) -> Option<(&Shortcut, *mut Cell)> {
    let shortcut = carriers::find(thread, operation, key)?;
    let mut now = Quick::new(shortcut);
    let volume = rule(&mut now);
    if !now.knows_all() {
        return None;
    }
    let cell = shortcut.cell(volume.message_bytes)?;
    now.count_message();
    add(cell, ticks, volume);
    Some((shortcut, cell))
}

/// Adds a call, whatever it takes to find its counters.
#[cold]
#[inline(never)]
pub fn thoroughly<C: Carrier>(
    thread: &Thread,
    key: Word,
    operation: u16,
    ticks: u64,
    rule: impl FnOnce(&mut Now<C>) -> Volume,
) -> (&Shortcut, *mut Cell) {
    let shortcut = carriers::shortcut::<C>(thread, operation, key);
    let volume = rule(&mut Now::new(thread, shortcut, key, operation));
    if trace::is_on() {
        trace::volume(thread, shortcut.record.get(), operation, volume.sent.max(volume.received));
    }
    let cell = carriers::cell(thread, shortcut, volume.message_bytes);
    // SAFETY: counters are never freed.
    sites::call(thread, unsafe { (*cell).key }, ticks, (volume.sent, volume.received));
    add(cell, ticks, volume);
    (shortcut, cell)
}

#[inline(always)]
fn add(cell: *mut Cell, ticks: u64, volume: Volume) {
    // SAFETY: the counters that a shortcut knows are this thread's.
    let cell = unsafe { &mut *cell };
    cell.bytes_sent = cell.bytes_sent.wrapping_add(volume.sent);
    // Two additions to memory are two instructions; as a vector they would be five.
    compiler_fence(Ordering::AcqRel);
    cell.bytes_recv = cell.bytes_recv.wrapping_add(volume.received);
    // Which may end in a call, and so comes last.
    add_time(cell, ticks);
}

/// A call of a known record that carries nothing. Returns the key of its counters, without a bucket.
#[inline(always)]
pub fn of_record_without_bytes(thread: &Thread, record: Record, done: Done) -> u64 {
    if done.code == 0
        && let Some((shortcut, _)) = quickly(thread, record as Word, done, |_| Volume::default())
    {
        return shortcut.cells.get();
    }
    without_bytes(thread, record, done.operation, done.code, done.ticks)
}

#[cold]
#[inline(never)]
fn without_bytes(thread: &Thread, record: Record, operation: u16, code: c_int, ticks: u64) -> u64 {
    if code != 0 {
        plain(thread, record, Done { operation, code, ticks });
        return key(record, operation, 0);
    }
    let shortcut = carriers::shortcut::<Known>(thread, operation, record as Word);
    let cell = carriers::cell(thread, shortcut, 0);
    // SAFETY: counters are never freed.
    unsafe {
        sites::call(thread, (*cell).key, ticks, (0, 0));
        add_time(&mut *cell, ticks);
    }
    shortcut.cells.get()
}

/// A call of a known record, for calls that are not given a communicator. Returns the counters that it was added to.
pub fn of_record(
    thread: &Thread,
    record: Record,
    done: Done,
    rule: impl FnOnce(&mut Now<Known>) -> Volume,
) -> *mut Cell {
    thoroughly(thread, record as Word, done.operation, done.ticks, rule).1
}

/// A successful call that carries nothing, and that its record sees once: its counters are not looked for, nor found again.
#[inline(always)]
pub fn once(thread: &Thread, record: Record, operation: u16, ticks: u64) {
    if !state::only_counts() || !thread.counters.have_room_apart() {
        return plain(thread, record, Done::well(operation, ticks));
    }
    thread.counters.add_apart(Cell {
        key: key(record, operation, 0),
        calls: 1,
        bytes_sent: 0,
        bytes_recv: 0,
        ticks,
        ticks_min: Bound::below(ticks),
        ticks_max: Bound::above(ticks),
    });
}

/// Adds a call whose bytes are known already.
pub fn with_volume(thread: &Thread, record: Record, done: Done, volume: Volume) {
    with_volume_marked(thread, record, done, 0, volume)
}

/// The same with what is added to the bucket.
pub fn with_volume_marked(thread: &Thread, record: Record, done: Done, mark: u8, volume: Volume) {
    if trace::is_on() {
        trace::volume(thread, record, done.operation, volume.sent.max(volume.received));
    }
    let key = key(record, done.operation, mark | buckets::of(volume.message_bytes));
    thread.counters.count(key, |cell| add(cell, done.ticks, volume));
    sites::call(thread, key, done.ticks, (volume.sent, volume.received));
}
