//! Completion and start of requests. A call over requests of one communicator belongs to it, over several to the row `*`,
//! over none that is active to the row `-`. Handles are saved before the call: afterwards they are null, or another's.

use std::ffi::c_int;

use vocabulary::calls::op;
use vocabulary::shard::BUCKET_INVOLVED;

use super::creators;
use super::forward::timed;
use crate::guest::guard::recorded;
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::mpi::status;
use crate::objects::communicators::{self, Record};
use crate::objects::requests::{self, Kind, Persistent};
use crate::record::phases;
use crate::record::tally::{self, Done};
use crate::shard::memory;
use crate::thread::Thread;
use crate::trace;

/// The communicator that a call over one request belongs to, and whether the request is a receive.
#[inline(always)]
unsafe fn look(thread: &Thread, request: Word) -> (Word, Record, bool) {
    // SAFETY: a null address is the program's mistake, which the library will report.
    let handle = if request == 0 { abi().request_null } else { unsafe { abi().load(request) } };
    let stamp = thread.stamp();
    let (record, receives) = of_handle(thread, handle, stamp);
    (handle, record, receives)
}

#[inline(always)]
fn of_handle(thread: &Thread, handle: Word, stamp: u64) -> (Record, bool) {
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
fn count(thread: &Thread, record: Record, done: Done) {
    if state::is_on() {
        tally::plain(thread, record, done);
    }
}

/// What is left to do for a request that has completed. An error keeps the message away.
#[inline(always)]
unsafe fn finish(thread: &Thread, handle: Word, code: c_int, receives: bool, status: Word) {
    let Some(completed) = thread.requests().complete(handle) else { return };
    match completed.kind {
        Kind::Plain => {}
        Kind::Receive | Kind::ReceiveInto(_) | Kind::Read(_) => {
            let arrived = match code == 0 && receives {
                // SAFETY: the call has filled the status.
                true if matches!(completed.kind, Kind::Read(_)) => unsafe { status::bytes_read(status) },
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
unsafe fn passes_by(request: Word) -> bool {
    // SAFETY: a null address is the program's mistake, which the library will report.
    !state::is_on() && (request == 0 || unsafe { abi().load(request) } == abi().request_null)
}

pub unsafe fn MPI_Wait(thread: &Thread, request: Word, status: Word, forward: impl FnOnce(Word) -> c_int) -> c_int {
    if unsafe { passes_by(request) } {
        return forward(status);
    }
    let (handle, record, receives) = unsafe { look(thread, request) };
    let mut own = status::Own::new();
    let status = if receives { own.stand_in(status) } else { status };
    let done = timed!(thread, record, MPI_Wait, forward(status));
    recorded(|| {
        count(thread, record, done);
        unsafe {
            if handle != abi().request_null && (done.code == 0 || abi().load(request) == abi().request_null) {
                finish(thread, handle, done.code, receives, status);
            }
        }
        thread.requests().looked();
    });
    done.code
}

pub unsafe fn MPI_Test(
    thread: &Thread,
    request: Word,
    flag: Word,
    status: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    if unsafe { passes_by(request) } {
        return forward(status);
    }
    let (handle, record, receives) = unsafe { look(thread, request) };
    let mut own = status::Own::new();
    let status = if receives { own.stand_in(status) } else { status };
    let done = timed!(thread, record, MPI_Test, forward(status));
    recorded(|| {
        count(thread, record, done);
        unsafe {
            let completed = match done.code {
                0 => *(flag as *const c_int) != 0,
                _ => request != 0 && abi().load(request) == abi().request_null,
            };
            if handle != abi().request_null && completed {
                finish(thread, handle, done.code, receives, status);
            }
        }
        thread.requests().looked();
    });
    done.code
}

/// The requests of one call: their handles before it, and to whom they belong.
struct Several {
    handles: Vec<Word>,
    statuses: Vec<u64>,
    record: Record,
    receives: bool,
}

impl Several {
    /// Looks at all requests of a call. Only active ones count; with `inactive`, which is for starts, all do.
    unsafe fn look(thread: &Thread, operation: u16, length: c_int, array: Word, inactive: bool) -> Several {
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
    unsafe fn statuses(&mut self, statuses: Word, count: usize) -> Word {
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
    unsafe fn finish(&self, thread: &Thread, code: c_int, array: Word, completed: impl Iterator<Item = (usize, Word)>) {
        for (index, status) in completed {
            let Some(handle) = self.handles.get(index).copied().filter(|handle| *handle != abi().request_null) else {
                continue;
            };
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
    fn leave(self, thread: &Thread) {
        thread.requests().looked();
        thread.handles.set(self.handles);
        thread.statuses.set(self.statuses);
    }
}

/// All places of an array with the addresses of their statuses.
fn each(length: usize, statuses: Word) -> impl Iterator<Item = (usize, Word)> {
    (0..length).map(move |index| (index, status_at(statuses, index)))
}

fn status_at(statuses: Word, index: usize) -> Word {
    if statuses == abi().status_ignore { 0 } else { statuses + index * abi().status.bytes }
}

pub unsafe fn MPI_Waitall(
    thread: &Thread,
    length: c_int,
    array: Word,
    statuses: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    unsafe {
        let mut several = Several::look(thread, op::MPI_Waitall, length, array, false);
        let statuses = several.statuses(statuses, several.handles.len());
        let done = timed!(thread, several.record, MPI_Waitall, forward(statuses));
        recorded(|| {
            count(thread, several.record, done);
            several.finish(thread, done.code, array, each(several.handles.len(), statuses));
            several.leave(thread);
        });
        done.code
    }
}

pub unsafe fn MPI_Testall(
    thread: &Thread,
    length: c_int,
    array: Word,
    flag: Word,
    statuses: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    unsafe {
        let mut several = Several::look(thread, op::MPI_Testall, length, array, false);
        let statuses = several.statuses(statuses, several.handles.len());
        let done = timed!(thread, several.record, MPI_Testall, forward(statuses));
        recorded(|| {
            count(thread, several.record, done);
            if done.code != 0 || *(flag as *const c_int) != 0 {
                several.finish(thread, done.code, array, each(several.handles.len(), statuses));
            }
            several.leave(thread);
        });
        done.code
    }
}

/// The one request that a call of the `any` kind completed, if it did.
unsafe fn chosen(code: c_int, index: Word, length: usize, status: Word) -> impl Iterator<Item = (usize, Word)> {
    let status = if status == abi().status_ignore { 0 } else { status };
    // Where the call failed, every request may be the one: those it completed have become null.
    let places = match (code, unsafe { usize::try_from(*(index as *const c_int)) }) {
        (0, Ok(index)) => index..index + 1,
        (0, Err(_)) => 0..0,
        _ => 0..length,
    };
    places.map(move |index| (index, if code == 0 { status } else { 0 }))
}

pub unsafe fn MPI_Waitany(
    thread: &Thread,
    length: c_int,
    array: Word,
    index: Word,
    status: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    unsafe {
        let mut several = Several::look(thread, op::MPI_Waitany, length, array, false);
        let status = several.statuses(status, 1);
        let done = timed!(thread, several.record, MPI_Waitany, forward(status));
        recorded(|| {
            count(thread, several.record, done);
            several.finish(thread, done.code, array, chosen(done.code, index, several.handles.len(), status));
            several.leave(thread);
        });
        done.code
    }
}

pub unsafe fn MPI_Testany(
    thread: &Thread,
    length: c_int,
    array: Word,
    index: Word,
    flag: Word,
    status: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    unsafe {
        let mut several = Several::look(thread, op::MPI_Testany, length, array, false);
        let status = several.statuses(status, 1);
        let done = timed!(thread, several.record, MPI_Testany, forward(status));
        recorded(|| {
            count(thread, several.record, done);
            if done.code != 0 || *(flag as *const c_int) != 0 {
                several.finish(thread, done.code, array, chosen(done.code, index, several.handles.len(), status));
            }
            several.leave(thread);
        });
        done.code
    }
}

/// The requests that a call of the `some` kind completed: their indices, and their statuses in that order.
unsafe fn some(code: c_int, count: Word, indices: Word, statuses: Word) -> impl Iterator<Item = (usize, Word)> {
    let known = indices != 0 && (code == 0 || code == abi().family.err_in_status);
    let count = if known { unsafe { *(count as *const c_int) } } else { 0 };
    // A count below zero is MPI_UNDEFINED: no request was active.
    (0..usize::try_from(count).unwrap_or(0)).filter_map(move |place| {
        let index = unsafe { *(indices as *const c_int).add(place) };
        Some((usize::try_from(index).ok()?, status_at(statuses, place)))
    })
}

/// Both tell by the count and the indices what they completed.
macro_rules! some_of {
    ($($name:ident)*) => {$(
        pub unsafe fn $name(
            thread: &Thread,
            length: c_int,
            array: Word,
            outcount: Word,
            indices: Word,
            statuses: Word,
            forward: impl FnOnce(Word) -> c_int,
        ) -> c_int {
            unsafe {
                let mut several = Several::look(thread, op::$name, length, array, false);
                let statuses = several.statuses(statuses, several.handles.len());
                let done = timed!(thread, several.record, $name, forward(statuses));
                recorded(|| {
                    count(thread, several.record, done);
                    several.finish(thread, done.code, array, some(done.code, outcount, indices, statuses));
                    several.leave(thread);
                });
                done.code
            }
        }
    )*};
}

some_of! { MPI_Waitsome MPI_Testsome }

/// Looks at a request without completing it. The request is passed by value.
pub unsafe fn MPI_Request_get_status(
    thread: &Thread,
    request: Word,
    _: Word,
    status: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    let (record, _) = of_handle(thread, request & abi().mask, 0);
    let done = timed!(thread, record, MPI_Request_get_status, forward(status));
    recorded(|| {
        count(thread, record, done);
    });
    done.code
}

/// Looks at several requests without completing any.
unsafe fn look_at(
    thread: &Thread,
    operation: u16,
    length: c_int,
    array: Word,
    forward: impl FnOnce(&Thread, Record) -> Done,
) -> c_int {
    unsafe {
        let several = Several::look(thread, operation, length, array, false);
        let done = forward(thread, several.record);
        recorded(|| {
            count(thread, several.record, done);
            several.leave(thread);
        });
        done.code
    }
}

pub unsafe fn MPI_Request_get_status_any(
    thread: &Thread,
    length: c_int,
    array: Word,
    _: Word,
    _: Word,
    status: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    let operation = op::MPI_Request_get_status_any;
    unsafe {
        look_at(thread, operation, length, array, |thread, record| {
            timed!(thread, record, MPI_Request_get_status_any, forward(status))
        })
    }
}

pub unsafe fn MPI_Request_get_status_all(
    thread: &Thread,
    length: c_int,
    array: Word,
    _: Word,
    statuses: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    let operation = op::MPI_Request_get_status_all;
    unsafe {
        look_at(thread, operation, length, array, |thread, record| {
            timed!(thread, record, MPI_Request_get_status_all, forward(statuses))
        })
    }
}

pub unsafe fn MPI_Request_get_status_some(
    thread: &Thread,
    length: c_int,
    array: Word,
    _: Word,
    _: Word,
    statuses: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    let operation = op::MPI_Request_get_status_some;
    unsafe {
        look_at(thread, operation, length, array, |thread, record| {
            timed!(thread, record, MPI_Request_get_status_some, forward(statuses))
        })
    }
}

pub unsafe fn MPI_Cancel(thread: &Thread, request: Word, forward: impl FnOnce() -> c_int) -> c_int {
    let (_, record, _) = unsafe { look(thread, request) };
    thread.requests().looked();
    let done = timed!(thread, record, MPI_Cancel, forward());
    recorded(|| {
        count(thread, record, done);
    });
    done.code
}

pub unsafe fn MPI_Request_free(thread: &Thread, request: Word, forward: impl FnOnce() -> c_int) -> c_int {
    let (handle, record, _) = unsafe { look_any(thread, request) };
    let done = timed!(thread, record, MPI_Request_free, forward());
    recorded(|| {
        count(thread, record, done);
        if done.code == 0 {
            thread.requests().forget(handle);
        }
        thread.requests().looked();
    });
    done.code
}

/// Like `look`, but an inactive persistent request belongs to its communicator, too.
unsafe fn look_any(thread: &Thread, request: Word) -> (Word, Record, bool) {
    let handle = if request == 0 { abi().request_null } else { unsafe { abi().load(request) } };
    let stamp = thread.stamp();
    match requests::seen(thread.requests(), &thread.unknown, handle, stamp) {
        Some(seen) => (handle, seen.comm, seen.receives),
        None => (handle, communicators::none(), false),
    }
}

fn activate(thread: &Thread, handle: Word, done: Done) -> Option<(Record, Persistent)> {
    let posted = || if trace::is_on() { trace::posted() } else { 0 };
    thread.requests().activate(handle, (done.operation, done.ticks, phases::current()), posted)
}

pub unsafe fn MPI_Start(thread: &Thread, request: Word, forward: impl FnOnce() -> c_int) -> c_int {
    let (handle, record, _) = unsafe { look_any(thread, request) };
    let done = timed!(thread, record, MPI_Start, forward());
    recorded(|| {
        let started = if done.code == 0 { activate(thread, handle, done) } else { None };
        thread.requests().looked();
        if state::is_on() {
            match started {
                Some((record, persistent)) => tally::restarted(thread, record, done, &persistent),
                None => tally::plain(thread, record, done),
            }
        } else if started.is_some() {
            uncount(thread, handle);
        }
    });
    done.code
}

pub unsafe fn MPI_Startall(thread: &Thread, length: c_int, array: Word, forward: impl FnOnce() -> c_int) -> c_int {
    unsafe {
        let several = Several::look(thread, op::MPI_Startall, length, array, true);
        let done = timed!(thread, several.record, MPI_Startall, forward());
        recorded(|| {
            count(thread, several.record, done);
            for handle in several.handles.iter().filter(|_| done.code == 0) {
                match activate(thread, *handle, done) {
                    Some((record, persistent)) if state::is_on() => {
                        tally::restarted_among(thread, record, done.operation, &persistent);
                    }
                    Some(_) => uncount(thread, *handle),
                    None => {}
                }
            }
            several.leave(thread);
        });
        done.code
    }
}

/// A request that was started while counting pauses must not be counted when its message arrives.
fn uncount(thread: &Thread, handle: Word) {
    thread.requests().set_kind(handle, Kind::Plain);
}
