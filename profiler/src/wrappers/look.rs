//! The requests of a call, looked at before it and finished after it: afterwards their handles are null, or another's.

use std::ffi::c_int;

use vocabulary::shard::BUCKET_INVOLVED;

use super::creators;
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::mpi::status;
use crate::objects::communicators::{self, Record};
use crate::objects::requests::{self, Kind};
use crate::record::tally::{self, Done};
use crate::shard::memory;
use crate::thread::Thread;
use crate::trace;

/// The communicator that a call over one request belongs to, and whether the request is a receive.
#[inline(always)]
pub unsafe fn look(thread: &Thread, request: Word) -> (Word, Record, bool) {
    // SAFETY: a null address is the program's mistake, which the library will report.
    let handle = if request == 0 { abi().request_null } else { unsafe { abi().load(request) } };
    let stamp = thread.stamp();
    let (record, receives) = of_handle(thread, handle, stamp);
    (handle, record, receives)
}

#[inline(always)]
pub fn of_handle(thread: &Thread, handle: Word, stamp: u64) -> (Record, bool) {
    if handle == abi().request_null {
        return (communicators::none(), false);
    }
    match requests::seen(thread.requests(), &thread.unknown, handle, stamp) {
        Some(seen) if seen.active => (seen.comm, seen.receives),
        _ => (communicators::none(), false),
    }
}

/// Counts a call that carries no bytes, unless counting pauses.
#[inline(always)]
pub fn count(thread: &Thread, record: Record, done: Done) {
    if state::is_on() {
        tally::plain(thread, record, done);
    }
}

/// What is left to do for a request that has completed. An error keeps the message away.
#[inline(always)]
pub unsafe fn finish(thread: &Thread, handle: Word, code: c_int, receives: bool, status: Word) {
    let Some(completed) = thread.requests().complete(handle) else { return };
    match completed.kind {
        Kind::Plain => {}
        Kind::Receive | Kind::ReceiveInto(_) | Kind::Read(_) => {
            let arrived = match code == 0 && receives {
                // SAFETY: the call has filled the status.
                true if matches!(completed.kind, Kind::Read(_)) => unsafe { status::bytes_read(status) },
                // SAFETY: as above.
                true => unsafe { status::bytes(status) },
                false => 0,
            };
            tally::arrived(thread, &completed, arrived);
            if trace::is_on() && code == 0 && receives && !matches!(completed.kind, Kind::Read(_)) {
                // SAFETY: as above.
                unsafe { trace::received(completed.comm, completed.operation, completed.posted, status, arrived) };
            }
        }
        Kind::Duplicate => {
            let (place, record) = completed.duplicate;
            // SAFETY: the request has completed.
            let comm = unsafe { creators::made(place) };
            if comm != abi().comm_null {
                communicators::enter(comm, record);
            }
        }
    }
}

/// Whether a call has nothing to be followed while counting pauses.
#[inline(always)]
pub unsafe fn passes_by(request: Word) -> bool {
    // SAFETY: a null address is the program's mistake, which the library will report.
    !state::is_on() && (request == 0 || unsafe { abi().load(request) } == abi().request_null)
}

/// The requests of one call: their handles before it, and to whom they belong.
pub struct Several {
    pub handles: Vec<Word>,
    statuses: Vec<u64>,
    pub record: Record,
    receives: bool,
}

impl Several {
    /// Looks at all requests of a call. Only active ones count; with `inactive`, which is for starts, all do.
    pub unsafe fn look(thread: &Thread, operation: u16, length: c_int, array: Word, inactive: bool) -> Several {
        let mut several = Several {
            handles: thread.handles.take(),
            statuses: thread.statuses.take(),
            record: communicators::none(),
            receives: false,
        };
        several.handles.clear();
        let mut length = if array == 0 { 0 } else { usize::try_from(length).unwrap_or(0) };
        if length > several.handles.capacity() && several.handles.try_reserve_exact(length).is_err() {
            // What completes is not seen then.
            memory::lose_call();
            length = 0;
        }
        let stamp = thread.stamp();
        let mut is_mixed = false;
        for index in 0..length {
            // SAFETY: the program passes an array of so many handles, and there is room for as many.
            let handle = unsafe {
                let handle = abi().load_at(array, index);
                several.handles.as_mut_ptr().add(index).write(handle);
                handle
            };
            if handle == abi().request_null {
                continue;
            }
            let Some(seen) = requests::seen(thread.requests(), &thread.unknown, handle, stamp) else { continue };
            if !seen.active && !inactive {
                continue;
            }
            several.receives |= seen.receives;
            if several.record == communicators::none() {
                several.record = seen.comm;
            }
            is_mixed |= several.record != seen.comm;
        }
        // SAFETY: so many were written.
        unsafe { several.handles.set_len(length) };
        if is_mixed {
            several.record = communicators::several();
            several.note_involved(thread, operation, inactive);
        }
        several
    }

    /// Notes each communicator that takes part in a call over several, once per call.
    #[cold]
    fn note_involved(&self, thread: &Thread, operation: u16, inactive: bool) {
        if !state::is_on() {
            return;
        }
        let stamp = thread.stamp();
        for handle in self.handles.iter().filter(|handle| **handle != abi().request_null) {
            let Some(seen) = requests::seen(thread.requests(), &thread.unknown, *handle, stamp) else { continue };
            if seen.active || inactive {
                thread.counters.count(tally::key(seen.comm, operation, BUCKET_INVOLVED), |cell| {
                    // These counters have no times: their place keeps the call that was noted last.
                    if cell.ticks != stamp {
                        cell.ticks = stamp;
                        cell.calls += 1;
                    }
                });
            }
        }
    }

    /// The statuses to pass on: the program's, or ours where it ignores them and messages may arrive.
    pub unsafe fn statuses(&mut self, statuses: Word, count: usize) -> Word {
        if !self.receives || statuses != abi().status_ignore {
            return statuses;
        }
        let words = count * abi().status.bytes / 8 + 1;
        if self.statuses.len() < words {
            if self.statuses.try_reserve_exact(words - self.statuses.len()).is_err() {
                memory::lose_call();
                self.receives = false;
                return statuses;
            }
            self.statuses.resize(words, 0);
        }
        self.statuses.as_mut_ptr() as Word
    }

    /// Ends the look at a call in which some requests completed, given by their place in the array and that of their
    /// status.
    pub unsafe fn finish(
        &self,
        thread: &Thread,
        code: c_int,
        array: Word,
        completed: impl Iterator<Item = (usize, Word)>,
    ) {
        for (index, status) in completed {
            let Some(handle) = self.handles.get(index).copied().filter(|handle| *handle != abi().request_null) else {
                continue;
            };
            // SAFETY: the call has filled the statuses, and the array has this many handles.
            unsafe {
                // A call that fails has completed those requests whose handle it has set to null.
                let is_error = code != 0 && (status == 0 || status::error(status) != 0);
                if code == 0 || abi().load_at(array, index) == abi().request_null {
                    finish(thread, handle, c_int::from(is_error), self.receives, status);
                }
            }
        }
    }

    /// Gives the buffers back for the next call.
    pub fn leave(self, thread: &Thread) {
        thread.requests().looked();
        thread.handles.set(self.handles);
        thread.statuses.set(self.statuses);
    }
}

pub fn status_at(statuses: Word, index: usize) -> Word {
    if statuses == abi().status_ignore { 0 } else { statuses + index * abi().status.bytes }
}

/// Like `look`, but an inactive persistent request belongs to its communicator, too.
pub unsafe fn look_any(thread: &Thread, request: Word) -> (Word, Record, bool) {
    // SAFETY: a null address is the program's mistake, which the library will report.
    let handle = if request == 0 { abi().request_null } else { unsafe { abi().load(request) } };
    let stamp = thread.stamp();
    match requests::seen(thread.requests(), &thread.unknown, handle, stamp) {
        Some(seen) => (handle, seen.comm, seen.receives),
        None => (handle, communicators::none(), false),
    }
}
