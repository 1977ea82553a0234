//! What a call is given that tells to which communicator it is charged, and the way from there to its counters.

use std::ffi::c_int;
use std::sync::atomic::{Ordering, fence};

use vocabulary::calls::op;
use vocabulary::shard::{BUCKET_PENDING, Cell, Edge, REMOTE_RANK};

use crate::guest::short_path::Path;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::{self, Record};
use crate::objects::handles::generation;
use crate::objects::shortcuts::{self, Shortcut};
use crate::record::{buckets, phases, windows};
use crate::sites;
use crate::thread::Thread;

pub trait Carrier {
    /// What is known of the one that a successful call was given.
    fn record(thread: &Thread, key: Word) -> Record;

    /// The same where the call failed: it may be none at all.
    fn known(thread: &Thread, key: Word) -> Record;

    /// Whether it means this until the generation ends.
    fn is_lasting(key: Word, record: Record) -> bool;

    /// The world rank of one that a successful call sent to. None where no message is to be recorded.
    fn world_rank_of(record: Record, key: Word, rank: c_int) -> Option<u32>;

    /// The communicator that the call was given, if any.
    fn comm(key: Word) -> Word;

    /// The key of a call that was noted with this handle of a communicator.
    #[inline(always)]
    fn as_noted(key: Word, _comm: Word) -> Word {
        key
    }
}

pub enum Comm {}
pub enum Window {}
/// For calls that are given no handle of one: the key is the record's address.
pub enum Known {}

/// Whether there is one that a message can be sent to. A call with another rank may only seem to have succeeded ([`Context::block`]), and to ask the
/// library for its world rank would be an error, which may end the program.
///
/// [`Context::block`]: crate::volume::Context::block
fn has_peer(record: Record, rank: c_int) -> bool {
    // SAFETY: records are never freed. A copy: other threads may be writing to the rest.
    unsafe { *record }.has_peer(rank)
}

impl Carrier for Comm {
    fn record(thread: &Thread, key: Word) -> Record {
        communicators::of(&thread.communicators, key)
    }

    fn known(_: &Thread, key: Word) -> Record {
        communicators::known(key)
    }

    fn is_lasting(key: Word, record: Record) -> bool {
        communicators::HANDLES.find(key & abi().mask) == Some(record)
    }

    fn world_rank_of(record: Record, key: Word, rank: c_int) -> Option<u32> {
        if !has_peer(record, rank) {
            return None;
        }
        // SAFETY: the call over this communicator has just succeeded.
        Some(unsafe { communicators::world_rank_of(record, key, rank) }.unwrap_or(REMOTE_RANK))
    }

    fn comm(key: Word) -> Word {
        key
    }

    #[inline(always)]
    fn as_noted(_: Word, comm: Word) -> Word {
        comm
    }
}

impl Carrier for Window {
    fn record(thread: &Thread, key: Word) -> Record {
        windows::of(thread, key)
    }

    fn known(thread: &Thread, key: Word) -> Record {
        windows::of(thread, key)
    }

    fn is_lasting(key: Word, record: Record) -> bool {
        windows::HANDLES.find(key & abi().mask) == Some(record)
    }

    fn world_rank_of(record: Record, key: Word, rank: c_int) -> Option<u32> {
        if record == communicators::none() || !has_peer(record, rank) {
            return None;
        }
        // SAFETY: the call over this window has just succeeded.
        Some(unsafe { windows::world_rank_of(key, rank) }.unwrap_or(REMOTE_RANK))
    }

    fn comm(_: Word) -> Word {
        abi().comm_null
    }
}

impl Carrier for Known {
    fn record(_: &Thread, key: Word) -> Record {
        key as Record
    }

    fn known(_: &Thread, key: Word) -> Record {
        key as Record
    }

    fn is_lasting(_: Word, _: Record) -> bool {
        true
    }

    fn world_rank_of(_: Record, _: Word, _: c_int) -> Option<u32> {
        None
    }

    fn comm(_: Word) -> Word {
        abi().comm_null
    }
}

/// The shortcut of a successful call. What it says of the record holds; counters are looked up when they are asked for.
#[inline(always)]
pub fn shortcut<P: Path, C: Carrier>(thread: &Thread, operation: u16, key: Word) -> &Shortcut {
    latest::<P>(thread, operation, key).unwrap_or_else(|| renewed::<P, C>(thread, operation, key))
}

/// The shortcut that the operation's latest call had, if this one has it, too.
#[inline(always)]
pub fn latest<P: Path>(thread: &Thread, operation: u16, key: Word) -> Option<&Shortcut> {
    let shortcut = thread.shortcuts.latest(operation);
    let caller = thread.in_flight.caller_to_tell_apart::<P>();
    if shortcut.is_for_call::<P>(key, caller, generation()) { Some(shortcut) } else { None }
}

/// Another one that calls like this one had, if nothing that it tells has changed since.
#[inline(always)]
fn again<P: Path>(thread: &Thread, operation: u16, key: Word) -> Option<&Shortcut> {
    let caller = thread.in_flight.caller_to_tell_apart::<P>();
    thread.shortcuts.again::<P>(key, operation, caller, generation(), shortcuts::PROBES)
}

/// The shortcut of a call, if it takes no call to find it.
#[inline(always)]
pub fn shortcut_at_once<P: Path>(thread: &Thread, operation: u16, key: Word) -> Option<&Shortcut> {
    let now = generation();
    let caller = thread.in_flight.caller_to_tell_apart::<P>();
    let latest = thread.shortcuts.latest(operation);
    // With so many arguments it finds no register for another place.
    let near = if operation == op::MPI_Sendrecv { 1 } else { shortcuts::NEAR };
    match latest.is_for_call::<P>(key, caller, now) {
        true => Some(latest),
        false => thread.shortcuts.again::<P>(key, operation, caller, now, near),
    }
}

/// What a call is noted under while it is under way: nothing is asked of the library then.
#[inline(always)]
pub fn before<C: Carrier>(thread: &Thread, operation: u16, key: Word) -> Record {
    let shortcut = thread.shortcuts.latest(operation);
    if shortcut.is_for(key, generation()) { shortcut.record.get() } else { C::known(thread, key) }
}

/// The shortcut of an operation whose calls carry nothing: its only counters are known.
#[inline(always)]
pub fn shortcut_without_bytes<P: Path, C: Carrier>(thread: &Thread, operation: u16, key: Word) -> &Shortcut {
    let known = if P::IS_SHORT { shortcut_at_once::<P> } else { latest::<P> };
    known(thread, operation, key).unwrap_or_else(|| renewed_without_bytes::<P, C>(thread, operation, key))
}

/// The same for a receive, whose bytes its completion will tell.
#[inline(always)]
pub fn shortcut_of_receive<P: Path, C: Carrier>(thread: &Thread, operation: u16, key: Word) -> &Shortcut {
    latest::<P>(thread, operation, key).unwrap_or_else(|| renewed_of_receive::<P, C>(thread, operation, key))
}

#[inline(never)]
fn renewed<P: Path, C: Carrier>(thread: &Thread, operation: u16, key: Word) -> &Shortcut {
    if let Some(known) = again::<P>(thread, operation, key) {
        return known;
    }
    first::<P, C>(thread, operation, key)
}

#[cold]
#[inline(never)]
fn first<P: Path, C: Carrier>(thread: &Thread, operation: u16, key: Word) -> &Shortcut {
    renew::<P, C>(thread, operation, key, |_| {})
}

#[inline(never)]
fn renewed_without_bytes<P: Path, C: Carrier>(thread: &Thread, operation: u16, key: Word) -> &Shortcut {
    if let Some(known) = again::<P>(thread, operation, key) {
        return known;
    }
    first_without_bytes::<P, C>(thread, operation, key)
}

#[cold]
#[inline(never)]
fn first_without_bytes<P: Path, C: Carrier>(thread: &Thread, operation: u16, key: Word) -> &Shortcut {
    renew::<P, C>(thread, operation, key, |shortcut| {
        if shortcut.cell(0).is_none() {
            shortcut.forget_completed();
            let (cell, is_kept) = thread.counters.cell(shortcut.cells.get());
            shortcut.set_cell(buckets::bounds(0), cell);
            if !is_kept {
                shortcut.forget();
            }
        }
    })
}

#[inline(never)]
fn renewed_of_receive<P: Path, C: Carrier>(thread: &Thread, operation: u16, key: Word) -> &Shortcut {
    if let Some(known) = again::<P>(thread, operation, key) {
        return known;
    }
    first_of_receive::<P, C>(thread, operation, key)
}

#[cold]
#[inline(never)]
fn first_of_receive<P: Path, C: Carrier>(thread: &Thread, operation: u16, key: Word) -> &Shortcut {
    renew::<P, C>(thread, operation, key, |shortcut| {
        if shortcut.pending.get().is_null() {
            let (pending, is_kept) = thread.counters.cell(shortcut.cells.get() | u64::from(BUCKET_PENDING));
            shortcut.pending.set(pending);
            if !is_kept {
                shortcut.forget();
            }
        }
    })
}

/// `fill_in` looks up what calls that find the shortcut take for granted.
#[inline(always)]
fn renew<P: Path, C: Carrier>(
    thread: &Thread,
    operation: u16,
    key: Word,
    fill_in: impl FnOnce(&Shortcut),
) -> &Shortcut {
    let now = generation();
    // What the generation ended for is seen with it, also on processors that read in another order.
    fence(Ordering::Acquire);
    let phase = phases::current();
    let caller = thread.in_flight.caller_to_tell_apart::<P>();
    let (shortcut, is_known) = thread.shortcuts.find((key, operation, caller), phase);
    let mut is_lasting = true;
    if !(is_known && C::is_lasting(key, shortcut.record.get())) {
        let record = C::record(thread, key);
        // SAFETY: records are never freed.
        let number = unsafe { (*record).number };
        let cells = Cell::key(number, operation, buckets::mark_of(operation)) | Cell::phase_bits(phase);
        shortcut.begin((key, operation, caller), phase, (record, cells), thread.counters.nobody());
        is_lasting = C::is_lasting(key, record);
    }
    if is_lasting {
        communicators::remember(shortcut.record.get());
    }
    if P::IS_SITED {
        let (site, is_of_all) = sites::of_any_call_from(caller as usize);
        if site != shortcut.site.get() {
            shortcut.set_site(site);
        }
        is_lasting &= is_of_all;
    }
    fill_in(shortcut);
    shortcut.renew(if is_lasting { now } else { shortcuts::NEVER });
    shortcut
}

/// The counters of another bucket than the latest one.
#[inline(never)]
pub fn other_cell(thread: &Thread, shortcut: &Shortcut, message_bytes: u64) -> *mut Cell {
    match known_cell(thread, shortcut, message_bytes) {
        Some(cell) => cell,
        None => new_cell(thread, shortcut, message_bytes),
    }
}

#[cold]
#[inline(never)]
fn new_cell(thread: &Thread, shortcut: &Shortcut, message_bytes: u64) -> *mut Cell {
    let bucket = buckets::of(message_bytes);
    let (cell, is_kept) = thread.counters.cell(shortcut.cells.get() | u64::from(bucket));
    if is_kept {
        shortcut.set_cell(buckets::bounds(bucket), cell);
    }
    cell
}

/// The counters of another bucket than the latest one, where there are some: they become the latest.
#[inline(always)]
pub fn known_cell(thread: &Thread, shortcut: &Shortcut, message_bytes: u64) -> Option<*mut Cell> {
    let bucket = buckets::of(message_bytes);
    let cell = thread.counters.known_cell(shortcut.cells.get() | u64::from(bucket))?;
    shortcut.set_cell(buckets::bounds(bucket), cell);
    Some(cell)
}

/// The counters of messages to a rank, where some went there before: they become the latest.
#[inline(always)]
pub fn known_edge(thread: &Thread, shortcut: &Shortcut, destination: c_int) -> Option<*mut Edge> {
    if let Some(edge) = shortcut.edge(destination as u32) {
        return Some(edge);
    }
    let edge = thread.counters.known_edge(edge_key(shortcut, destination))?;
    shortcut.set_edge(destination as u32, edge);
    Some(edge)
}

#[inline(always)]
fn edge_key(shortcut: &Shortcut, destination: c_int) -> u64 {
    let cells = shortcut.cells.get();
    Edge::key((cells >> 32) as u32, Cell::operation_of(cells), destination as u32)
}

/// The counters of messages to another rank than the latest one, if any are recorded.
#[inline(never)]
pub fn other_edge<C: Carrier>(
    thread: &Thread,
    shortcut: &Shortcut,
    key: Word,
    destination: c_int,
) -> Option<*mut Edge> {
    if let Some(edge) = known_edge(thread, shortcut, destination) {
        return Some(edge);
    }
    let world_rank = C::world_rank_of(shortcut.record.get(), key, destination)?;
    let (edge, is_kept) = thread.counters.new_edge(edge_key(shortcut, destination), world_rank);
    if is_kept {
        shortcut.set_edge(destination as u32, edge);
    }
    Some(edge)
}
