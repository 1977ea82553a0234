//! What is left to do when a call has returned that completes a request. `finish_all.rs` and `finish_some.rs` do it for calls over several.

use std::ffi::c_int;

use super::creators;
use super::look::Single;
use super::rest;
use crate::guest::short_path::{Full, Path};
use crate::mpi::abi::{Word, abi};
use crate::mpi::status;
use crate::objects::communicators;
use crate::objects::requests::slot::Slot;
use crate::objects::requests::{self, Completed, Kind, Noted};
use crate::objects::shortcuts::Shortcut;
use crate::record::completed::{self, One, Started};
use crate::record::files;
use crate::record::nonblocking;
use crate::record::tally::Done;
use crate::thread::Thread;
use crate::trace;

impl Single {
    /// The call has returned. `is_done` tells whether the request has completed, where it succeeded.
    #[inline(always)]
    pub unsafe fn finish<P: Path>(
        self,
        thread: &Thread,
        request: Word,
        done: Done,
        shortcut: Option<&Shortcut>,
        status: Word,
        is_done: impl FnOnce() -> bool,
    ) {
        if done.code == 0 && !is_done() {
            return;
        }
        let Some(noted) = self.noted() else { return };
        if P::IS_SHORT
            && done.code == 0
            && self.changes == thread.requests().changed_so_far()
            && let Some(shortcut) = shortcut
            && let Some(mut requests) = thread.requests().enter()
        {
            // SAFETY: nothing has changed; the call has filled the status.
            let finished = unsafe {
                let mut requests = requests.held();
                finish_at_once::<P>(thread, requests.noted_unchanged(&noted), self.receives, status)
            };
            drop(requests);
            if let Some(finished) = finished {
                // SAFETY: as above.
                return unsafe { finished.count(thread, shortcut, done.ticks, status) };
            }
        }
        // SAFETY: as demanded of this one.
        unsafe { finish_otherwise::<P>(thread, noted, request, done, shortcut, self.receives, status) };
    }
}

#[inline(never)]
unsafe fn finish_otherwise<P: Path>(
    thread: &Thread,
    noted: Noted,
    request: Word,
    Done { code, ticks, .. }: Done,
    shortcut: Option<&Shortcut>,
    receives: bool,
    status: Word,
) {
    // A call that fails has completed a request whose handle it has set to null.
    // SAFETY: the program passed the place of a request.
    let handle = unsafe { abi().load(request) };
    let completed = handle == abi().request_null || code == 0 && !rest::is_as_noted(thread, noted.handle, handle);
    if completed {
        // SAFETY: the call has filled the status.
        unsafe {
            let one = match code {
                0 => finish::<P>(thread, noted, code, receives, status),
                _ => finish_freed::<P>(thread, noted, code, receives, status),
            };
            if let (Some(one), Some(shortcut)) = (one, shortcut) {
                completed::single(thread, shortcut, one, ticks, || peer(&one, code, status));
            }
        }
    }
}

/// What a call has completed that completed one request.
pub enum Finished {
    Received {
        started: Started,
        bytes: u64,
    },
    /// One whose bytes belong to the bucket of its call.
    ReceivedInto {
        started: Started,
        bytes: u64,
    },
    Other {
        started: Started,
    },
}

impl Finished {
    /// Counts that the call completed it. May call the MPI library, to ask who the peer is.
    #[inline(always)]
    pub unsafe fn count(self, thread: &Thread, shortcut: &Shortcut, ticks: u64, status: Word) {
        match self {
            Finished::Received { started, bytes } => {
                // SAFETY: the call has filled the status.
                let peer = if bytes == 0 { completed::NO_PEER } else { unsafe { completed::peer(status) } };
                completed::single_received(thread, shortcut, started, (bytes, peer), ticks);
            }
            Finished::ReceivedInto { started, bytes } => {
                completed::single_received(thread, shortcut, started, (bytes, completed::NO_PEER), ticks);
            }
            Finished::Other { started } => completed::single_other(thread, shortcut, started, ticks),
        }
    }

    /// The same as one of those that a call completes.
    #[inline(always)]
    pub fn one(self) -> One {
        match self {
            Finished::Received { started, bytes } => One { kind: Kind::Receive, started, bytes },
            Finished::ReceivedInto { started, bytes } => One { kind: Kind::ReceiveInto, started, bytes },
            Finished::Other { started } => One { kind: Kind::Plain, started, bytes: 0 },
        }
    }
}

/// Finishes the one request that a call has completed, if it has its handle for itself, or is one of those alike, and takes no more than a
/// few comparisons.
#[inline(always)]
pub unsafe fn finish_at_once<P: Path>(
    thread: &Thread,
    slot: &mut Slot,
    receives: bool,
    status: Word,
) -> Option<Finished> {
    if slot.kind == Kind::Plain && slot.complete_simply() {
        thread.requests().changed();
        return Some(Finished::Other { started: slot.shortcut.cast() });
    }
    if !receives || !status::may_be_usual::<P>(status) {
        return None;
    }
    if slot.kind != Kind::Receive {
        // SAFETY: as demanded of this one.
        let (started, bytes) = unsafe { finish_into::<P>(thread, slot, status) }?;
        thread.requests().changed();
        return Some(Finished::ReceivedInto { started, bytes });
    }
    // SAFETY: the call has filled the status.
    let bytes = unsafe { status::bytes_where_usual::<P>(status) }?;
    slot.state = slot.state.completed();
    thread.requests().changed();
    Some(Finished::Received { started: nonblocking::arrived_where::<P>(thread, slot, bytes), bytes })
}

/// Finishes one of several that a call has completed, if it takes no more than a few comparisons. `is_unchanged`: whatever else has happened to
/// requests since they were noted, the others of the call have completed.
#[inline(always)]
pub unsafe fn finish_in_turn<P: Path>(
    thread: &Thread,
    noted: &Noted,
    is_unchanged: bool,
    receives: bool,
    status: Word,
) -> Option<Finished> {
    if !P::IS_SHORT || !is_unchanged {
        return None;
    }
    let mut entered = thread.requests().enter()?;
    let mut requests = entered.held();
    // SAFETY: what completes leaves the others where they are; the call has filled the status.
    unsafe {
        let slot = requests.noted_unchanged(noted);
        let is_simple = slot.state.is_sole() || slot.is_one_of_those_alike();
        if is_simple { finish_at_once::<P>(thread, slot, receives, status) } else { None }
    }
}

/// Finishes one whose bytes belong to the bucket of its call, if it takes no more than that. Apart, since few do.
#[inline(never)]
pub unsafe fn finish_into<P: Path>(thread: &Thread, slot: &mut Slot, status: Word) -> Option<(Started, u64)> {
    if slot.kind != Kind::ReceiveInto || !slot.state.is_sole() {
        return None;
    }
    // SAFETY: the call has filled the status.
    let bytes = unsafe { status::bytes_where_usual::<P>(status) }?;
    let started = nonblocking::arrived_into::<P>(thread, slot, bytes);
    slot.state = slot.state.completed();
    Some((started, bytes))
}

/// From whom the message of a completed receive came. The status of other requests tells nothing.
#[inline(always)]
pub unsafe fn peer(one: &One, code: c_int, status: Word) -> u64 {
    if code != 0 || one.kind != Kind::Receive || one.bytes == 0 {
        return completed::NO_PEER;
    }
    // SAFETY: the caller passes the status of a call that has filled it.
    unsafe { completed::peer(status) }
}

/// What is left to do for a request that has completed. An error keeps the message away.
#[inline(always)]
pub unsafe fn finish<P: Path>(thread: &Thread, noted: Noted, code: c_int, receives: bool, status: Word) -> Option<One> {
    let completed = thread.requests().complete(noted)?;
    if completed.kind == Kind::Plain {
        return Some(One { kind: Kind::Plain, started: nonblocking::started_as(thread, &completed), bytes: 0 });
    }
    // SAFETY: as demanded of this one.
    let (started, bytes) = unsafe { finish_completed::<P>(thread, &completed, code, receives, status) };
    Some(One { kind: completed.kind, started, bytes })
}

/// A call has told that a request is complete, and left it: what it received is counted now, since the program may free it without completing it.
pub unsafe fn reveal(thread: &Thread, handle: Word, status: Word) {
    if handle == abi().request_null {
        return;
    }
    // Another thread has it that has looked at it meanwhile.
    let seen = requests::seen(thread.requests(), &thread.unknown, handle, 0);
    if let Some(completed) = seen.and_then(|seen| thread.requests().reveal(seen.handle)) {
        // SAFETY: as demanded of this one.
        unsafe { finish_completed::<Full>(thread, &completed, 0, true, status) };
    }
}

#[inline(never)]
unsafe fn finish_completed<P: Path>(
    thread: &Thread,
    completed: &Completed,
    code: c_int,
    receives: bool,
    status: Word,
) -> (Started, u64) {
    match completed.kind {
        Kind::Plain => (nonblocking::started_as(thread, completed), 0),
        Kind::Receive | Kind::ReceiveInto | Kind::Read => {
            let arrived = match code == 0 && receives {
                // SAFETY: the call has filled the status.
                true if completed.kind == Kind::Read => unsafe { files::arrived(thread, completed, status) },
                // SAFETY: as above.
                true => unsafe { status::bytes(status) },
                false => 0,
            };
            let started = nonblocking::arrived(thread, completed, arrived);
            let is_message = completed.kind != Kind::Read && !completed.is_counted;
            if trace::is_on_in::<P>() && code == 0 && receives && is_message {
                // SAFETY: as above.
                unsafe {
                    trace::received(thread, completed.comm, completed.operation(), completed.posted, status, arrived)
                };
            }
            (started, arrived)
        }
        Kind::Duplicate => {
            let (place, record) = completed.duplicate;
            // SAFETY: the request has completed.
            let comm = unsafe { creators::made(place) };
            if comm != abi().comm_null {
                communicators::enter(comm, record);
            }
            (nonblocking::started_as(thread, completed), 0)
        }
    }
}

/// A call that fails has completed a request whose handle it has set to null.
pub unsafe fn finish_where_null<P: Path>(
    thread: &Thread,
    noted: &Noted,
    (array, place): (Word, usize),
    receives: bool,
    status: Word,
) -> Option<One> {
    // SAFETY: the call has filled the status, and the array has this many handles.
    unsafe {
        if abi().load_at(array, place) != abi().request_null {
            return None;
        }
        let is_error = status == 0 || status::error(status) != 0;
        finish_freed::<P>(thread, *noted, c_int::from(is_error), receives, status)
    }
}

/// The same as [`finish`] of one that the library has freed in a call that failed: a persistent one is gone, too. By then a request that a handler of errors
/// has made may have its handle, and stands behind it.
#[cold]
#[inline(never)]
unsafe fn finish_freed<P: Path>(
    thread: &Thread,
    noted: Noted,
    code: c_int,
    receives: bool,
    status: Word,
) -> Option<One> {
    let is_persistent = rest::is_persistent(thread, noted.handle);
    // SAFETY: as demanded of this one.
    let one = unsafe { finish::<P>(thread, noted, code, receives, status) };
    if is_persistent {
        thread.requests().forget(noted.handle);
    }
    one
}
