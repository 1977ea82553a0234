//! What a file handle means: the record of the communicator that the file was opened over. A file handle is a pointer in
//! every family, also where other handles are `int`: it is never masked.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::guest::short_path::Full;
use crate::guest::state;
use crate::mpi::abi::Word;
use crate::objects::communicators::{self, Record};
use crate::objects::handles::Handles;
use crate::record::carriers::Known;
use crate::record::context::Now;
use crate::record::nonblocking;
use crate::record::tally::{self, Done};
use crate::shard::memory;
use crate::thread::Thread;
use crate::volume::Volume;

static HANDLES: Handles = Handles::new();

/// What the split collective read that is under way on a file asked for: there is at most one (MPI-4.1, 14.4.5).
static ASKED_BYTES: Mutex<Option<HashMap<Word, u64>>> = parking_lot::const_mutex(None);

/// The record of a file; the row `-` for one that was opened where we could not see it.
pub fn of(file: Word) -> Record {
    HANDLES.find(file).unwrap_or(communicators::none())
}

pub fn enter(file: Word, record: Record) {
    HANDLES.enter(file, record);
}

/// Takes the handle away before the file is closed: another thread may get the same handle at once.
pub fn leave(file: Word) -> Option<Record> {
    ASKED_BYTES.lock().get_or_insert_default().remove(&file);
    HANDLES.leave(file)
}

/// The handle at a place.
pub unsafe fn load(place: Word) -> Word {
    // SAFETY: the caller passes the address of a file handle.
    unsafe { *(place as *const Word) }
}

/// A call on a file, with the bytes that its rule tells.
pub fn call(thread: &Thread, file: Word, done: Done, rule: impl FnOnce(&mut Now<Full, Known>) -> Volume) {
    let record = of(file);
    match done.code {
        0 => tally::of_record(thread, record, done, rule),
        _ => tally::plain(thread, record, done),
    }
}

/// A nonblocking write.
pub fn started(
    thread: &Thread,
    file: Word,
    request: Word,
    done: Done,
    rule: impl FnOnce(&mut Now<Full, Known>) -> Volume,
) {
    nonblocking(thread, file, request, done, false, rule);
}

/// A nonblocking read: what it brought is known when it is complete.
pub fn reading(
    thread: &Thread,
    file: Word,
    request: Word,
    done: Done,
    rule: impl FnOnce(&mut Now<Full, Known>) -> Volume,
) {
    nonblocking(thread, file, request, done, true, rule);
}

fn nonblocking(
    thread: &Thread,
    file: Word,
    request: Word,
    done: Done,
    reads: bool,
    rule: impl FnOnce(&mut Now<Full, Known>) -> Volume,
) {
    let record = of(file);
    if done.code == 0 {
        nonblocking::started_over(thread, record, request, done, reads, rule);
    } else if state::is_on() {
        tally::plain(thread, record, done);
    }
}

/// A split collective read of so many bytes begins.
pub fn asked(file: Word, bytes: u64) {
    let mut asked = ASKED_BYTES.lock();
    let asked = asked.get_or_insert_default();
    match asked.try_reserve(1) {
        Ok(()) => _ = asked.insert(file, bytes),
        Err(_) => memory::lose_call(),
    }
}

/// It ends: what it asked for.
pub fn answered(file: Word) -> u64 {
    ASKED_BYTES.lock().get_or_insert_default().remove(&file).unwrap_or(0)
}
