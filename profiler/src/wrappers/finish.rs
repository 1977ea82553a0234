//! What is left to do when a call has returned that completes requests: one after the other, [`complete`] does it.

use std::ffi::c_int;

use super::creators;
use super::look::{Several, Single};
use super::rest;
use crate::mpi::abi::{Abi, Word, abi};
use crate::mpi::status;
use crate::objects::communicators;
use crate::objects::requests::{self, Extra, Kind, Noted, Request};
use crate::record::completed::{self, Call, Completions, One, Ones, Started};
use crate::record::tally::Done;
use crate::record::{files, nonblocking};
use crate::thread::Thread;
use crate::trace;

/// A request has completed: counts what is left of it, and passes it on. `status`: that of the call, which has filled it, if it `receives`. An error
/// (`code`) keeps the message away.
#[inline(always)]
pub unsafe fn complete(
    thread: &Thread,
    noted: &mut Noted,
    code: c_int,
    receives: bool,
    status: impl FnOnce() -> Word,
    then: impl FnOnce(One),
) {
    let request = &mut noted.request;
    match request.kind {
        Kind::Plain => then(One { kind: Kind::Plain, started: nonblocking::started_as(thread, request), bytes: 0 }),
        // SAFETY: as demanded of this one.
        _ => then(unsafe { complete_more(thread, request, code == 0 && receives, status()) }),
    }
    noted.complete();
}

/// The same of one that leaves something to be done.
#[inline(always)]
unsafe fn complete_more(thread: &Thread, request: &mut Request, is_told: bool, status: Word) -> One {
    request.hand_to(thread.number);
    let kind = request.kind;
    if kind == Kind::Duplicate {
        return duplicated(thread, request);
    }
    // SAFETY: as demanded of this one.
    let (started, bytes) = unsafe { arrived(thread, request, is_told, status) };
    One { kind, started, bytes }
}

#[inline(always)]
unsafe fn arrived(thread: &Thread, request: &Request, is_told: bool, status: Word) -> (Started, u64) {
    let bytes = match is_told {
        // SAFETY: the call has filled the status.
        true if matches!(request.kind, Kind::Read | Kind::HasReceived) => unsafe {
            files::arrived(thread, request, status)
        },
        // SAFETY: as above.
        true => unsafe { status::bytes(status) },
        false => 0,
    };
    let started = nonblocking::arrived(thread, request, bytes);
    if trace::is_on() && is_told && matches!(request.kind, Kind::Receive | Kind::ReceiveInto) {
        // SAFETY: as above.
        unsafe { trace::received(thread, request.comm, request.operation(), request.posted, status, bytes) };
    }
    (started, bytes)
}

#[cold]
#[inline(never)]
fn duplicated(thread: &Thread, request: &mut Request) -> One {
    if let Some(Extra::Duplicate { place, record }) = request.take_extra().map(|extra| *extra) {
        // SAFETY: the request has completed.
        let comm = unsafe { creators::made(place) };
        if comm != abi().comm_null {
            communicators::enter(comm, record);
        }
    }
    One { kind: Kind::Duplicate, started: nonblocking::started_as(thread, request), bytes: 0 }
}

/// From whom the message of a completed receive came. The status of other requests tells nothing.
#[inline(always)]
unsafe fn peer(one: &One, code: c_int, status: Word) -> u64 {
    if code != 0 || !matches!(one.kind, Kind::Receive | Kind::Received) || one.bytes == 0 {
        return completed::NO_PEER;
    }
    // SAFETY: the caller passes the status of a call that has filled it.
    unsafe { completed::peer(status) }
}

/// A call that failed has freed the request that it has completed, also a persistent one. By then a request that a handler of errors has
/// made may have its handle, and stands behind it.
#[cold]
#[inline(never)]
unsafe fn complete_freed(
    thread: &Thread,
    noted: &mut Noted,
    code: c_int,
    receives: bool,
    status: Word,
    then: impl FnOnce(One),
) {
    let freed = *noted;
    // SAFETY: as demanded of this one.
    unsafe { complete(thread, noted, code, receives, || status, then) };
    if freed.request.is_persistent() {
        requests::forget(&freed);
    }
}

/// The same of one at a place of the array of a call that failed, if that has completed it: its handle is null by now, or it is a persistent one without
/// an error. Returns whether it is.
unsafe fn complete_of_failed(
    thread: &Thread,
    noted: &mut Noted,
    (array, call): (Word, c_int),
    receives: bool,
    status: Word,
    then: impl FnOnce(One),
) -> bool {
    // SAFETY: the call has filled the status, and the array has this many handles.
    unsafe {
        let is_null = abi().load_at(array, noted.index) == abi().request_null;
        if is_null {
            let is_error = status == 0 || status::error(status) != 0;
            complete_freed(thread, noted, c_int::from(is_error), receives, status, then);
            return true;
        }
        let is_told = call == abi().family.err_in_status && status != 0;
        let is_done = is_told && noted.request.is_persistent() && status::error(status) == 0;
        if is_done {
            complete(thread, noted, 0, receives, || status, then);
        }
        is_done
    }
}

impl Single {
    /// The call has returned. `is_done` tells whether the request has completed, where it succeeded.
    #[inline(always)]
    pub unsafe fn finish(
        &mut self,
        thread: &Thread,
        request: Word,
        done: Done,
        call: Option<Call>,
        status: Word,
        is_done: impl FnOnce() -> bool,
    ) {
        if !self.noted.request.is_active() || done.code == 0 && !is_done() {
            return;
        }
        let (receives, noted) = (self.receives, &mut self.noted);
        // SAFETY: the call has filled the status; the program passed the place of a request.
        unsafe {
            let then = |one: One| {
                if let Some(call) = call {
                    call.single(one, done.ticks, || peer(&one, done.code, status));
                }
            };
            let handle = abi().load(request);
            match done.code {
                0 if noted.request.is_persistent() && handle == abi().request_null => {
                    complete_freed(thread, noted, 1, receives, status, then);
                }
                0 if !rest::is_as_noted(noted, handle) => complete(thread, noted, 0, receives, || status, then),
                // A call that fails has completed a request whose handle it has set to null.
                code if handle == abi().request_null => complete_freed(thread, noted, code, receives, status, then),
                _ => {}
            }
        }
    }
}

/// All of several requests have completed.
#[inline(always)]
unsafe fn complete_each(call: Call, ticks: u64, noted: &mut [Noted], receives: bool, statuses: Word) {
    let mut completions = Completions::of(call);
    for noted in noted {
        let index = noted.index;
        let status = || status::at(statuses, index);
        // SAFETY: the call has filled the statuses.
        unsafe { complete(call.thread, noted, 0, receives, status, |one| completions.add(one)) };
    }
    completions.end(ticks);
}

impl Several<'_> {
    /// All requests of the call have completed. An error tells itself which have. `frees`: the call is one that frees the others then, if it
    /// is given no statuses.
    #[inline(always)]
    pub unsafe fn finish_all(
        &mut self,
        thread: &Thread,
        done: Done,
        call: Option<Call>,
        array: Word,
        statuses: Word,
        frees: bool,
    ) {
        let receives = self.receives;
        // SAFETY: the call has filled the statuses, and the array has so many handles, one at least.
        unsafe {
            if done.code != 0 || rest::is_left(self.noted(), array) {
                return self.finish_failed(thread, done, call, array, statuses, frees);
            }
            match (call, self.noted_mut()) {
                (Some(call), noted @ [_, _, ..]) => {
                    complete_each(call, done.ticks, noted, receives, statuses);
                    self.forget();
                }
                (_, noted) => {
                    let mut ones = Ones::of(call);
                    for noted in noted {
                        let status = status::at(statuses, noted.index);
                        complete(thread, noted, 0, receives, || status, |one| ones.add(one, || peer(&one, 0, status)));
                    }
                    ones.end(done.ticks);
                }
            }
        }
    }

    /// A call that fails has completed those requests whose handle it has set to null.
    #[cold]
    #[inline(never)]
    unsafe fn finish_failed(
        &mut self,
        thread: &Thread,
        done: Done,
        call: Option<Call>,
        array: Word,
        statuses: Word,
        frees: bool,
    ) {
        let receives = self.receives;
        let mut ones = Ones::of(call);
        // SAFETY: as demanded of this one.
        unsafe {
            if frees {
                rest::free(self, array, statuses);
            }
            for noted in self.noted_mut() {
                let status = status::at(statuses, noted.index);
                let then = |one| ones.add(one, || completed::NO_PEER);
                complete_of_failed(thread, noted, (array, done.code), receives, status, then);
            }
        }
        ones.end(done.ticks);
    }

    /// Some requests of the call have completed: those that `which` tells by what the call was told by.
    #[inline(never)]
    pub unsafe fn finish<W: Which>(
        &mut self,
        thread: &Thread,
        done: Done,
        call: Option<Call>,
        array: Word,
        told: [Word; 3],
    ) {
        let receives = self.receives;
        let mut ones = Ones::of(call);
        // SAFETY: the call has filled the statuses, and the array has so many handles.
        unsafe {
            for (index, status) in W::completed(done.code, self.length, told) {
                let Some(mut noted) = self.at(thread, index) else { continue };
                let then = |one: One| ones.add(one, || peer(&one, done.code, status));
                if done.code == 0 {
                    complete(thread, &mut noted, 0, receives, || status, then);
                } else {
                    complete_of_failed(thread, &mut noted, (array, done.code), receives, status, then);
                }
                self.put_at(noted);
            }
        }
        ones.end(done.ticks);
    }
}

/// A call has told that a request is complete, and left it: what it received is counted now, since the program may free it without completing it.
pub unsafe fn reveal(thread: &Thread, handle: Word, status: Word) {
    let Some((handle, _)) = requests::find(handle, |_| ()) else { return };
    let revealed = requests::in_place(handle, |request| {
        let before = *request;
        request.kind = request.kind.counted().filter(|_| request.is_active())?;
        Some(before)
    });
    if let Some(mut request) = revealed.flatten() {
        request.hand_to(thread.number);
        // SAFETY: as demanded of this one.
        unsafe { arrived(thread, &request, true, status) };
    }
}

/// How a call over several requests tells which have completed.
pub trait Which {
    /// Their places in the array of requests, of which it was given so many, and the addresses of their statuses.
    unsafe fn completed(code: c_int, length: usize, told: [Word; 3]) -> impl Iterator<Item = (usize, Word)>;
}

/// It completes one, and tells its index.
pub enum Any {}

impl Which for Any {
    unsafe fn completed(
        code: c_int,
        length: usize,
        [index, status, _]: [Word; 3],
    ) -> impl Iterator<Item = (usize, Word)> {
        let status = if status == abi().status_ignore { 0 } else { status };
        // Where the call failed, every request may be the one: those it completed have become null.
        // SAFETY: the call has returned, and the program passed a place for the index.
        let places = match (code, unsafe { usize::try_from(Abi::told(index)) }) {
            // A place that the call has not filled may hold anything.
            (0, Ok(at)) if index != 0 && at < length => at..at + 1,
            (0, _) => 0..0,
            _ => 0..length,
        };
        places.map(move |index| (index, if code == 0 { status } else { 0 }))
    }
}

/// It completes some, and tells how many, their indices, and their statuses in that order.
pub enum Few {}

impl Which for Few {
    unsafe fn completed(
        code: c_int,
        length: usize,
        [count, indices, statuses]: [Word; 3],
    ) -> impl Iterator<Item = (usize, Word)> {
        let known = indices != 0 && (code == 0 || code == abi().family.err_in_status);
        // SAFETY: the call has filled the place.
        let count = if known { unsafe { Abi::told(count) } } else { 0 };
        // A count below zero is MPI_UNDEFINED: no request was active.
        (0..usize::try_from(count).unwrap_or(0).min(length)).filter_map(move |place| {
            // SAFETY: the program passes as many places as requests.
            let index = unsafe { *(indices as *const c_int).add(place) };
            // A place that the call has not filled may hold anything.
            let index = usize::try_from(index).ok().filter(|index| *index < length)?;
            Some((index, status::at(statuses, place)))
        })
    }
}
