//! The hot path: adds one finished call to the counters.
//!
//! What a blocking call pays on the short path, beside the two readings of the clock in its wrapper (docs/explanation/cost.md):
//! - a jump to that path, where it is open (`short_path::Way`), this thread's pointer, and whether the thread is in a call
//!   (`thread::Here`);
//! - the shortcut of its operation: a load, and two compares, with the handle and the generation (`carriers::shortcut`). It has the
//!   rest: the size of the datatype, the bounds of the bucket and its counters, the counters of messages to one rank, each behind a
//!   compare;
//! - the additions.
//!
//! Where all compares find what they look for, no function is called, so that no register must outlast a call ([`call_at_once`]). Whatever
//! a compare does not find, functions apart look up, and put it into the shortcut.

use std::ffi::c_int;
use std::sync::atomic::{Ordering, compiler_fence};

use vocabulary::shard::{BUCKET_FAILED, Bound, Cell, Edge};

use crate::guest::caller::Caller;
use crate::guest::short_path::Path;
use crate::guest::state;
use crate::mpi::abi::Word;
use crate::objects::communicators::Record;
use crate::objects::shortcuts::Shortcut;
use crate::record::carriers::{
    Carrier, Known, known_cell, known_edge, other_cell, other_edge, shortcut, shortcut_at_once, shortcut_without_bytes,
};
use crate::record::context::{AtOnce, Now};
use crate::record::sites::{self, Site};
use crate::record::{buckets, phases};
use crate::thread::Thread;
use crate::thread::counters::Counters;
use crate::trace;
use crate::volume::Volume;

/// What is known of a call when it has returned.
#[derive(Clone, Copy)]
pub struct Done {
    pub operation: u16,
    /// What it returned: 0 is `MPI_SUCCESS` in every family.
    pub code: c_int,
    pub ticks: u64,
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

/// Notes the time of a call for the one that it may be made in ([`without_nested`]). On the short path there is none.
#[inline(always)]
pub fn charge<P: Path>(thread: &Thread, ticks: u64) {
    if !P::IS_SHORT {
        thread.counters.add_ticks(ticks);
    }
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

/// What a call keeps for [`without_nested`] before it is forwarded. On the short path it is the outermost: there the first call that is made in
/// it keeps that.
#[inline(always)]
pub fn counted_before<P: Path>(thread: &Thread) -> u64 {
    if P::IS_SHORT { 0 } else { thread.counters.counted_ticks.get() }
}

/// The time of a call without that of the calls that the program's callbacks (copy and delete functions of attributes) made
/// in it: those are counted themselves, and a moment is charged once.
#[inline(always)]
pub fn without_nested<P: Path>(thread: &Thread, counted_before: u64, begin_ticks: u64, ticks: u64) -> u64 {
    let has_nested = match P::IS_SHORT {
        true => thread.in_flight.counted_within[0].get().0 == begin_ticks,
        false => thread.counters.counted_ticks.get() != counted_before,
    };
    if has_nested { without::<P>(thread, counted_before, ticks) } else { ticks }
}

/// Apart, since few calls have others made in them.
#[cold]
#[inline(never)]
fn without<P: Path>(thread: &Thread, counted_before: u64, ticks: u64) -> u64 {
    let before = if P::IS_SHORT { thread.in_flight.counted_within[0].get().1 } else { counted_before };
    ticks.saturating_sub(thread.counters.counted_ticks.get().wrapping_sub(before))
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
        let key = Cell::key(comm, operation, BUCKET_FAILED) | phases::current_bits();
        thread.counters.count(key, |cell| add_time(cell, ticks));
        thread.counters.add_ticks(ticks);
        sites::call(thread, key, ticks, (0, 0));
    }
}

/// A call that takes no level of those in flight, made from there: otherwise as [`plain`].
pub fn apart(thread: &Thread, record: Record, done: Done, caller: Caller) {
    thread.in_flight.is_apart(done.operation, caller.address());
    thread.in_flight.is_made_within(thread.in_flight.depth(), thread.counters.counted_ticks.get());
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
    let shortcut = shortcut::<P, C>(thread, done.operation, key);
    add(thread, shortcut, key, done, rule);
}

/// The same for rules that are quickly told. On the short path all of it is tried first with what the shortcut knows: then there is no
/// function to call, and no register to save for one. `rule` and `again` are the same rule.
#[inline(always)]
pub fn call_at_once<P: Path, C: Carrier>(
    thread: &Thread,
    key: Word,
    done: Done,
    rule: impl FnOnce(&mut AtOnce<P>) -> Option<Volume>,
    again: impl FnOnce(&mut Now<P, C>) -> Volume,
) {
    if !P::IS_SHORT {
        return call::<P, C>(thread, key, done, again);
    }
    if let Some(shortcut) = shortcut_at_once::<P>(thread, done.operation, key) {
        let mut known = AtOnce::<P>::new(thread, shortcut);
        if let Some(volume) = rule(&mut known) {
            if known.knows_message()
                && let Some(cell) = shortcut.cell(volume.message_bytes)
                && let Some(site) = Site::known::<P>(shortcut)
            {
                return add_at_once(known, (cell, site), done.ticks, volume);
            }
            if !volume.is_negative() {
                thread.left.set((volume.received, known.destination));
                return call_elsewhere::<P, C>(thread, shortcut, done.ticks, volume.sent, volume.message_bytes);
            }
        }
    }
    call_apart::<P, C>(thread, key, done.operation, done.ticks, again);
}

#[inline(always)]
pub fn add_at_once<P: Path>(known: AtOnce<P>, (cell, site): (*mut Cell, Site), ticks: u64, volume: Volume) {
    known.count_message();
    site.add(ticks, (volume.sent, volume.received));
    add_volume(cell, ticks, volume.sent, volume.received);
}

/// What an addition needs where the message went to another rank than the one before, or is of another size, if it is the next in turn:
/// neighbors take turns in most programs, and sizes do.
#[inline(always)]
pub fn in_turn<P: Path>(thread: &Thread, shortcut: &Shortcut, message_bytes: u64) -> Option<Places> {
    if !thread.shortcuts.take_turn::<P>(shortcut, thread.left.get().1, message_bytes) {
        return None;
    }
    Some(Places { edge: shortcut.latest_edge(), cell: shortcut.only_cell(), site: Site::known::<P>(shortcut)? })
}

/// The call was not the next in turn.
#[inline(always)]
pub fn out_of_turn<R>(thread: &Thread, shortcut: &Shortcut, look_up: impl FnOnce() -> R) -> R {
    thread.shortcuts.learn_turn(shortcut, thread.left.get().1, thread.counters.nobody(), look_up)
}

/// What an addition needs where it is not next. None where it takes more to find that.
#[inline(always)]
pub fn elsewhere<P: Path>(thread: &Thread, shortcut: &Shortcut, message_bytes: u64) -> Option<Places> {
    let destination = thread.left.get().1;
    let edge = match destination {
        0.. => known_edge(thread, shortcut, destination)?,
        _ => thread.counters.nobody(),
    };
    let cell = shortcut.cell(message_bytes).or_else(|| known_cell(thread, shortcut, message_bytes))?;
    Some(Places { edge, cell, site: Site::known::<P>(shortcut)? })
}

#[inline(never)]
fn call_elsewhere<P: Path, C: Carrier>(
    thread: &Thread,
    shortcut: &Shortcut,
    ticks: u64,
    sent: u64,
    message_bytes: u64,
) {
    match in_turn::<P>(thread, shortcut, message_bytes) {
        Some(places) => places.add(thread, ticks, sent, message_bytes),
        None => call_out_of_turn::<P, C>(thread, shortcut, ticks, sent, message_bytes),
    }
}

#[inline(never)]
fn call_out_of_turn<P: Path, C: Carrier>(
    thread: &Thread,
    shortcut: &Shortcut,
    ticks: u64,
    sent: u64,
    message_bytes: u64,
) {
    out_of_turn(thread, shortcut, || match elsewhere::<P>(thread, shortcut, message_bytes) {
        Some(places) => places.add(thread, ticks, sent, message_bytes),
        None => call_anew::<P, C>(thread, shortcut, ticks, sent, message_bytes),
    });
}

#[cold]
#[inline(never)]
fn call_anew<P: Path, C: Carrier>(thread: &Thread, shortcut: &Shortcut, ticks: u64, sent: u64, message_bytes: u64) {
    add_anew::<P, C>(thread, shortcut, ticks, sent, message_bytes);
}

/// Where a call is added, and its message.
pub struct Places {
    edge: *mut Edge,
    pub cell: *mut Cell,
    site: Site,
}

impl Places {
    #[inline(always)]
    pub fn add(self, thread: &Thread, ticks: u64, sent: u64, message_bytes: u64) {
        let received = thread.left.get().0;
        // SAFETY: these counters are this thread's.
        unsafe { Counters::add_messages(self.edge, (1, message_bytes)) };
        self.site.add(ticks, (sent, received));
        add_volume(self.cell, ticks, sent, received);
    }
}

/// Adds a call of the short path where it takes more to find its counters, or where they must be made first. Returns them.
pub fn add_anew<P: Path, C: Carrier>(
    thread: &Thread,
    shortcut: &Shortcut,
    ticks: u64,
    sent: u64,
    message_bytes: u64,
) -> *mut Cell {
    debug_assert!(P::IS_SHORT, "nobody charges the time");
    let (received, destination) = thread.left.get();
    if destination >= 0
        && let Some(edge) = other_edge::<C>(thread, shortcut, shortcut.key(), destination)
    {
        // SAFETY: the counters that a shortcut knows are this thread's.
        unsafe { Counters::add_messages(edge, (1, message_bytes)) };
    }
    let (cell, is_latest) = match shortcut.cell(message_bytes) {
        Some(cell) => (cell, true),
        None => (other_cell(thread, shortcut, message_bytes), false),
    };
    sites::of_shortcut::<P>(thread, shortcut, (cell, is_latest), ticks, (sent, received));
    add_volume(cell, ticks, sent, received);
    cell
}

#[inline(always)]
fn add_volume(cell: *mut Cell, ticks: u64, sent: u64, received: u64) {
    // SAFETY: as above.
    let cell = unsafe { &mut *cell };
    cell.bytes_sent = cell.bytes_sent.wrapping_add(sent);
    // Two additions to memory are two instructions; as a vector they would be five.
    compiler_fence(Ordering::AcqRel);
    cell.bytes_recv = cell.bytes_recv.wrapping_add(received);
    // Which may end in a call, and so comes last.
    add_time(cell, ticks);
}

/// What the hot path leaves to do. It is given words, not a [`Done`], which would lie in memory for it.
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
    let shortcut = shortcut_without_bytes::<P, C>(thread, done.operation, key);
    again_without_bytes::<P>(thread, shortcut, done.operation, done.ticks);
}

/// The same with its shortcut.
#[inline(always)]
pub fn again_without_bytes<P: Path>(thread: &Thread, shortcut: &Shortcut, operation: u16, ticks: u64) {
    if trace::is_on_in::<P>() {
        trace::volume(thread, shortcut.record.get(), operation, 0);
    }
    let cell = shortcut.only_cell();
    sites::of_shortcut::<P>(thread, shortcut, (cell, true), ticks, (0, 0));
    // SAFETY: the counters that a shortcut knows are this thread's.
    add_time(unsafe { &mut *cell }, ticks);
    charge::<P>(thread, ticks);
}

/// A successful call that carries nothing, and that its record sees once: its counters are not looked for, nor found again.
#[inline(always)]
pub fn once<P: Path>(thread: &Thread, record: Record, operation: u16, ticks: u64) {
    if sites::are_counted_on::<P>() || !thread.counters.have_room_apart() {
        return plain_apart(thread, record, operation, ticks);
    }
    charge::<P>(thread, ticks);
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

#[cold]
#[inline(never)]
fn plain_apart(thread: &Thread, record: Record, operation: u16, ticks: u64) {
    plain(thread, record, Done { operation, code: 0, ticks });
}

/// A call that carries nothing, of a record that its wrapper knows. Returns its shortcut.
#[inline(always)]
pub fn of_record_without_bytes<P: Path>(thread: &Thread, record: Record, done: Done) -> &Shortcut {
    if done.code != 0 {
        failed::<Known>(thread, record as Word, done.operation, done.code, done.ticks);
        return shortcut_without_bytes::<P, Known>(thread, done.operation, record as Word);
    }
    let shortcut = shortcut_without_bytes::<P, Known>(thread, done.operation, record as Word);
    let cell = shortcut.only_cell();
    sites::of_shortcut::<P>(thread, shortcut, (cell, true), done.ticks, (0, 0));
    // SAFETY: as above.
    add_time(unsafe { &mut *cell }, done.ticks);
    charge::<P>(thread, done.ticks);
    shortcut
}

/// A call of a known record, for calls that are not given a communicator. Returns the counters that it was added to.
#[inline(always)]
pub fn of_record<P: Path>(
    thread: &Thread,
    record: Record,
    done: Done,
    rule: impl FnOnce(&mut Now<P, Known>) -> Volume,
) -> *mut Cell {
    let shortcut = shortcut::<P, Known>(thread, done.operation, record as Word);
    add(thread, shortcut, record as Word, done, rule)
}

/// Returns the counters that it was added to.
#[inline(always)]
pub fn add<P: Path, C: Carrier>(
    thread: &Thread,
    shortcut: &Shortcut,
    key: Word,
    done: Done,
    rule: impl FnOnce(&mut Now<P, C>) -> Volume,
) -> *mut Cell {
    let volume = rule(&mut Now::new(thread, shortcut, key, done.operation));
    if trace::is_on_in::<P>() {
        trace::volume(thread, shortcut.record.get(), done.operation, volume.sent.max(volume.received));
    }
    let (place, is_latest) = match shortcut.cell(volume.message_bytes) {
        Some(cell) => (cell, true),
        None => (other_cell(thread, shortcut, volume.message_bytes), false),
    };
    sites::of_shortcut::<P>(thread, shortcut, (place, is_latest), done.ticks, (volume.sent, volume.received));
    // SAFETY: the counters that a shortcut knows are this thread's.
    let cell = unsafe { &mut *place };
    add_time(cell, done.ticks);
    cell.bytes_sent = cell.bytes_sent.wrapping_add(volume.sent);
    // As in `add_volume`.
    compiler_fence(Ordering::AcqRel);
    cell.bytes_recv = cell.bytes_recv.wrapping_add(volume.received);
    charge::<P>(thread, done.ticks);
    place
}

/// Adds a call whose bytes are known already.
#[inline(always)]
pub fn with_volume(thread: &Thread, record: Record, done: Done, volume: Volume) {
    with_volume_marked(thread, record, done, 0, volume)
}

/// The same with what is added to the bucket.
#[inline(always)]
pub fn with_volume_marked(thread: &Thread, record: Record, done: Done, mark: u8, volume: Volume) {
    if trace::is_on() {
        trace::volume(thread, record, done.operation, volume.sent.max(volume.received));
    }
    let key = key(record, done.operation, mark | buckets::of(volume.message_bytes));
    thread.counters.count(key, |cell| {
        add_time(cell, done.ticks);
        cell.bytes_sent += volume.sent;
        cell.bytes_recv += volume.received;
    });
    thread.counters.add_ticks(done.ticks);
    sites::call(thread, key, done.ticks, (volume.sent, volume.received));
}
