//! What a call is given that tells to which communicator it is charged, and the way from there to its counters.

use std::ffi::c_int;
use std::sync::atomic::{Ordering, fence};

use vocabulary::shard::{BUCKET_PENDING, Cell, Edge, REMOTE_RANK};

use crate::guest::generation::generation;
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::{self, Record};
use crate::objects::shortcuts::{self, Shortcut};
use crate::record::{buckets, phases, windows};
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

/// The shortcut of a successful call, if there is one, and calls are only counted.
#[inline(always)]
pub fn find(thread: &Thread, operation: u16, key: Word) -> Option<&Shortcut> {
    thread.shortcuts.find(key, operation, generation())
}

/// The shortcut of a successful call. What it says of the record holds; counters are looked up when they are asked for.
#[inline(never)]
pub fn shortcut<C: Carrier>(thread: &Thread, operation: u16, key: Word) -> &Shortcut {
    let now = generation();
    // What the generation ended for is seen with it, also on processors that read in another order.
    fence(Ordering::Acquire);
    // Where more is wanted of calls than to be counted, [`find`] finds nothing.
    let now = now | if state::only_counts() { 0 } else { shortcuts::NOT_QUICK };
    if let Some(found) = thread.shortcuts.find(key, operation, now) {
        return found;
    }
    let record = C::record(thread, key);
    // SAFETY: records are never freed.
    let number = unsafe { (*record).number };
    let cells = Cell::key(number, operation, buckets::mark_of(operation)) | phases::current_bits();
    let is_lasting = C::is_lasting(key, record);
    if is_lasting {
        communicators::remember(record);
    }
    let free = thread.shortcuts.free(key, operation, now);
    free.begin(key, operation, record, cells, if is_lasting { now } else { shortcuts::NEVER });
    free
}

/// The counters of a call with so many bytes.
#[inline(always)]
pub fn cell(thread: &Thread, shortcut: &Shortcut, message_bytes: u64) -> *mut Cell {
    shortcut.cell(message_bytes).unwrap_or_else(|| other_cell(thread, shortcut, message_bytes))
}

#[inline(never)]
fn other_cell(thread: &Thread, shortcut: &Shortcut, message_bytes: u64) -> *mut Cell {
    let bucket = buckets::of(message_bytes);
    let (cell, is_kept) = thread.counters.cell(shortcut.cells.get() | u64::from(bucket));
    if is_kept {
        shortcut.set_cell(buckets::bounds(bucket), cell);
    }
    cell
}

/// The counters of receives whose message has not arrived.
pub fn pending_cell(thread: &Thread, shortcut: &Shortcut) -> *mut Cell {
    if shortcut.pending.get().is_null() {
        let (cell, is_kept) = thread.counters.cell(shortcut.cells.get() | u64::from(BUCKET_PENDING));
        if !is_kept {
            return cell;
        }
        shortcut.pending.set(cell);
    }
    shortcut.pending.get()
}

/// The counters of messages to another rank than the latest one, if any are recorded.
#[inline(never)]
pub fn other_edge<C: Carrier>(
    thread: &Thread,
    shortcut: &Shortcut,
    key: Word,
    operation: u16,
    destination: c_int,
) -> Option<*mut Edge> {
    let edge_key = Edge::key((shortcut.cells.get() >> 32) as u32, operation, destination as u32);
    let (edge, is_kept) = match thread.counters.known_edge(edge_key) {
        Some(edge) => (edge, true),
        None => {
            let world_rank = C::world_rank_of(shortcut.record.get(), key, destination)?;
            thread.counters.new_edge(edge_key, world_rank)
        }
    };
    if is_kept {
        shortcut.set_edge(destination as u32, edge);
    }
    Some(edge)
}
