//! What a file handle means: the record of the communicator that the file was opened over, and the file itself. A file handle is a pointer
//! in every family, also where other handles are `int`: it is never masked.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int};

use commsee_runtime::table::{Shared, Writer};
use vocabulary::shard::{BUCKET_FAILED, UNNAMED_FILE};

use crate::guest::guard::guarded;
use crate::guest::probe;
use crate::guest::serial::Serial;
use crate::guest::signals::Undisturbed;
use crate::guest::state;
use crate::mpi::abi::Word;
use crate::mpi::status;
use crate::objects::communicators::{self, Record};
use crate::objects::file_names;
use crate::objects::handles::Handles;
use crate::objects::requests::{Kind, Request};
use crate::record::carriers::Known;
use crate::record::context::Now;
use crate::record::tally::{self, Done};
use crate::record::{buckets, nonblocking};
use crate::shard::memory;
use crate::thread::Thread;
use crate::volume::Volume;

static HANDLES: Handles = Handles::new();

/// Numbers of files, by handle, which change as the handles above do.
static NUMBERS: Shared<u32> = Shared::new();
static WRITER: Serial<Writer> = Serial::new(Writer::new());

/// What the split collective read that is under way on a file asked for: there is at most one (MPI-4.1, 14.4.5).
static ASKED_BYTES: Undisturbed<Option<HashMap<Word, u64>>> = Undisturbed::new(None);

/// No path is longer (`PATH_MAX`).
const PATH_BYTES: usize = 4096;

/// What a handle means.
#[derive(Clone, Copy)]
pub struct Opened {
    pub record: Record,
    /// The file's number in this process.
    pub file: u32,
}

impl Opened {
    /// One that was opened where we could not see it: it belongs to the row `-`.
    pub fn unknown() -> Opened {
        Opened { record: communicators::none(), file: UNNAMED_FILE }
    }

    /// A file over no communicator.
    pub fn alone(file: u32) -> Opened {
        Opened { file, ..Opened::unknown() }
    }
}

/// The record of a file; the row `-` for one that was opened where we could not see it.
pub fn of(file: Word) -> Record {
    HANDLES.find(file).unwrap_or(communicators::none())
}

#[inline(never)]
pub fn opened(file: Word) -> Opened {
    Opened { record: of(file), file: NUMBERS.get(file).unwrap_or(UNNAMED_FILE) }
}

pub fn enter(file: Word, opened: Opened) {
    // One that finds no room has no name, nor has one whose turn it never is.
    _ = WRITER.with(|writer| NUMBERS.set(writer, file, opened.file));
    HANDLES.enter(file, opened.record);
}

/// Takes the handle away before the file is closed: another thread may get the same handle at once.
pub fn leave(file: Word) -> Option<Opened> {
    ASKED_BYTES.with(|asked| asked.as_mut()?.remove(&file));
    let number = WRITER.with(|writer| NUMBERS.remove(writer, file)).flatten();
    let record = HANDLES.leave(file)?;
    Some(Opened { record, file: number.unwrap_or(UNNAMED_FILE) })
}

/// The number of the file that a call was given by its path.
pub unsafe fn named(path: Word, code: c_int) -> u32 {
    let number = guarded(|| {
        if code == 0 && path != 0 {
            // SAFETY: the call has succeeded, so it was given a text that ends with a zero byte.
            return Some(file_names::number(unsafe { CStr::from_ptr(path as *const c_char) }.to_bytes()));
        }
        // What a call has failed with may be no path at all.
        let mut bytes = [0; PATH_BYTES];
        let read = probe::read(path, &mut bytes);
        CStr::from_bytes_until_nul(&bytes[..read]).ok().map(|path| file_names::number(path.to_bytes()))
    });
    number.flatten().unwrap_or(UNNAMED_FILE)
}

/// The handle at a place.
pub unsafe fn load(place: Word) -> Word {
    // SAFETY: the caller passes the address of a file handle.
    unsafe { *(place as *const Word) }
}

/// Counts a call with what it carried on its file; elsewhere it is counted already.
#[inline(never)]
pub fn count(thread: &Thread, opened: Opened, done: Done, volume: Volume) {
    let bucket = if done.code == 0 { buckets::of(volume.message_bytes) } else { BUCKET_FAILED };
    thread.counters.count_on_file(tally::key(opened.record, done.operation, bucket), opened.file, |cell| {
        cell.calls = cell.calls.wrapping_add(1);
        cell.ticks = cell.ticks.wrapping_add(done.ticks);
        cell.bytes_written = cell.bytes_written.wrapping_add(volume.sent);
        cell.bytes_read = cell.bytes_read.wrapping_add(volume.received);
    });
}

/// A call without bytes.
#[inline(never)]
pub fn plain(thread: &Thread, opened: Opened, done: Done) {
    tally::plain(thread, opened.record, done);
    count(thread, opened, done, Volume::default());
}

/// A call with bytes that are known already.
pub fn with_volume(thread: &Thread, opened: Opened, done: Done, volume: Volume) {
    tally::with_volume(thread, opened.record, done, volume);
    count(thread, opened, done, volume);
}

/// A call on a file, with the bytes that its rule tells.
pub fn call(thread: &Thread, file: Word, done: Done, rule: impl FnOnce(&mut Now<Known>) -> Volume) {
    let opened = opened(file);
    if done.code != 0 {
        return plain(thread, opened, done);
    }
    let mut volume = Volume::default();
    tally::of_record(thread, opened.record, done, |context| {
        volume = rule(context);
        volume
    });
    count(thread, opened, done, volume);
}

/// A nonblocking write.
pub fn started(thread: &Thread, file: Word, request: Word, done: Done, rule: impl FnOnce(&mut Now<Known>) -> Volume) {
    nonblocking(thread, file, request, done, false, rule);
}

/// A nonblocking read: what it brought is known when it is complete.
pub fn reading(thread: &Thread, file: Word, request: Word, done: Done, rule: impl FnOnce(&mut Now<Known>) -> Volume) {
    nonblocking(thread, file, request, done, true, rule);
}

fn nonblocking(
    thread: &Thread,
    file: Word,
    request: Word,
    done: Done,
    reads: bool,
    rule: impl FnOnce(&mut Now<Known>) -> Volume,
) {
    let opened = opened(file);
    if done.code == 0 {
        let mut volume = Volume::default();
        let rule = |context: &mut Now<Known>| {
            volume = rule(context);
            volume
        };
        nonblocking::started_over(thread, opened.record, request, done, reads.then_some(opened.file), rule);
        if state::is_on() {
            count(thread, opened, done, volume);
        }
    } else if state::is_on() {
        plain(thread, opened, done);
    }
}

/// What a nonblocking read has brought by the status of its completion.
#[cold]
#[inline(never)]
pub unsafe fn arrived(thread: &Thread, request: &Request, status: Word) -> u64 {
    // SAFETY: the caller passes a status that the library has filled.
    let bytes = unsafe { status::bytes_read(status) };
    if request.kind == Kind::Read {
        thread.counters.count_on_file(request.cells, request.posted, |cell| {
            cell.bytes_read = cell.bytes_read.wrapping_add(bytes);
        });
    }
    bytes
}

/// A split collective read of so many bytes begins.
pub fn asked(file: Word, bytes: u64) {
    let is_kept = ASKED_BYTES.with(|asked| {
        let asked = asked.get_or_insert_default();
        asked.try_reserve(1).map(|()| asked.insert(file, bytes)).is_ok()
    });
    if !is_kept {
        memory::lose_call();
    }
}

/// It ends: what it asked for.
pub fn answered(file: Word) -> u64 {
    ASKED_BYTES.with(|asked| asked.as_mut()?.remove(&file)).unwrap_or(0)
}
