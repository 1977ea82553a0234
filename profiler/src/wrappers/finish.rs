//! What is left to do when a call has returned that completes requests: one after the other, [`complete`] does it.

use std::ffi::c_int;

use super::creators;
use super::look::{Several, Single};
use super::rest;
use crate::mpi::abi::{Abi, Word, abi};
use crate::mpi::status;
use crate::objects::communicators::{self, Record};
use crate::objects::requests::{self, Extra, Kind, Noted, Request};
use crate::record::completed::{self, Call, Completions, One, Ones, Peer, Started};
use crate::record::tally::Done;
use crate::record::{files, nonblocking};
use crate::thread::Thread;
use crate::thread::looks::Look;
use crate::trace;

/// A request has completed: counts what is left of it. `status`: that of the call, which has filled it, if it `is_told` what arrived. An
/// error keeps the message away.
#[inline(always)]
pub unsafe fn complete(thread: &Thread, noted: &mut Noted, is_told: bool, status: impl FnOnce() -> Word) -> One {
    let request = &mut noted.request;
    let one = match request.kind {
        Kind::Plain => One { kind: Kind::Plain, started: nonblocking::started_as(thread, request), bytes: 0 },
        // SAFETY: as demanded of this one.
        kind => unsafe {
            let status = status();
            let bytes = if is_told { status::usual_bytes(status) } else { None };
            match bytes.and_then(|bytes| Some((nonblocking::arrived_quickly(thread, request, bytes)?, bytes))) {
                Some((started, bytes)) => One { kind, started, bytes },
                None => complete_otherwise(thread, request, is_told, status),
            }
        },
    };
    noted.complete();
    one
}

/// The same of one that leaves more to be done.
#[inline(never)]
unsafe fn complete_otherwise(thread: &Thread, request: &mut Request, is_told: bool, status: Word) -> One {
    request.hand_to(thread.number);
    let kind = request.kind;
    if kind == Kind::Duplicate {
        return duplicated(thread, request);
    }
    // SAFETY: as demanded of this one.
    let (started, bytes) = unsafe { arrived(thread, request, is_told, status) };
    One { kind, started, bytes }
}

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
unsafe fn peer(record: Record, one: &One, code: c_int, status: Word) -> Peer {
    if code != 0 || !matches!(one.kind, Kind::Receive | Kind::Received) || one.bytes == 0 {
        return Peer { record, rank: completed::NO_PEER };
    }
    // SAFETY: the caller passes the status of a call that has filled it.
    Peer { record, rank: unsafe { completed::peer_rank(status) } }
}

/// A call that failed has freed the request that it has completed, also a persistent one. By then a request that a handler of errors has
/// made may have its handle, and stands behind it.
#[cold]
#[inline(never)]
unsafe fn complete_freed(thread: &Thread, noted: &mut Noted, is_told: bool, status: Word) -> One {
    let freed = *noted;
    // SAFETY: as demanded of this one.
    let one = unsafe { complete(thread, noted, is_told, || status) };
    if freed.request.is_persistent() {
        requests::forget(&freed);
    }
    one
}

/// The same of one at a place of the array of a call that failed, if that has completed it: its handle is null by now, or it is a persistent one without
/// an error.
unsafe fn complete_of_failed(
    thread: &Thread,
    noted: &mut Noted,
    (array, call): (Word, c_int),
    receives: bool,
    status: Word,
) -> Option<One> {
    // SAFETY: the call has filled the status, and the array has this many handles.
    unsafe {
        if abi().load_at(array, noted.index) == abi().request_null {
            let is_error = status == 0 || status::error(status) != 0;
            return Some(complete_freed(thread, noted, receives && !is_error, status));
        }
        let has_errors = call == abi().family.err_in_status && status != 0;
        let is_done = has_errors && noted.request.is_persistent() && status::error(status) == 0;
        is_done.then(|| complete(thread, noted, receives, || status))
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
        let (record, receives, noted) = (self.record, self.receives, &mut self.noted);
        // SAFETY: the call has filled the status; the program passed the place of a request.
        unsafe {
            let handle = abi().load(request);
            let is_null = handle == abi().request_null;
            let one = match done.code {
                0 if noted.request.is_persistent() && is_null => complete_freed(thread, noted, false, status),
                0 if !rest::is_as_noted(noted, handle) => complete(thread, noted, receives, || status),
                // A call that fails has completed a request whose handle it has set to null.
                _ if is_null => complete_freed(thread, noted, false, status),
                _ => return,
            };
            if let Some(call) = call {
                call.single(one, done.ticks, || peer(record, &one, done.code, status));
            }
        }
    }
}

impl Several<'_> {
    /// All requests of the call have completed. An error tells itself which have. `frees`: the call is one that frees the others then, if it
    /// is given no statuses.
    #[inline(always)]
    pub unsafe fn finish_all(&self, thread: &Thread, done: Done, call: Option<Call>, statuses: Word, frees: bool) {
        let (look, receives) = (self.look, self.receives);
        // SAFETY: the call has filled the statuses, and the array has so many handles, one at least.
        unsafe {
            if done.code != 0 || rest::is_left(look.noted(), look.array()) {
                return finish_failed(thread, look, receives, done, call, statuses, frees);
            }
            match (call, look.noted()) {
                (Some(call), noted @ [_, _, ..]) => {
                    let (mut completions, statuses) = (Completions::of(call), status::Array::of(statuses));
                    for noted in noted {
                        let index = noted.index;
                        completions.add(complete(thread, noted, receives, || statuses.at(index)));
                    }
                    completions.end(done.ticks);
                    look.forget();
                }
                (_, noted) => complete_few((thread, self.record), noted, receives, done.ticks, call, statuses),
            }
        }
    }

    /// Some requests of the call have completed: those that `which` tells by what the call was told by.
    #[inline(always)]
    pub unsafe fn finish<W: Which>(&self, thread: &Thread, done: Done, call: Option<Call>, told: [Word; 3]) {
        // SAFETY: as demanded of this one.
        unsafe { finish_some::<W>((thread, self.record), self.look, self.receives, done, call, told) };
    }
}

/// The only request of a call that may complete several, or several of one that is not counted.
#[inline(never)]
unsafe fn complete_few(
    (thread, record): (&Thread, Record),
    noted: &mut [Noted],
    receives: bool,
    ticks: u64,
    call: Option<Call>,
    statuses: Word,
) {
    let mut ones = Ones::of(call);
    for noted in noted {
        let status = status::at(statuses, noted.index);
        // SAFETY: the call has filled the statuses.
        unsafe {
            let one = complete(thread, noted, receives, || status);
            ones.add(one, || peer(record, &one, 0, status));
        }
    }
    ones.end(ticks);
}

/// A call that fails has completed those requests whose handle it has set to null.
#[cold]
#[inline(never)]
unsafe fn finish_failed(
    thread: &Thread,
    look: &Look,
    receives: bool,
    done: Done,
    call: Option<Call>,
    statuses: Word,
    frees: bool,
) {
    let mut ones = Ones::of(call);
    // SAFETY: as demanded of `finish_all`.
    unsafe {
        if frees {
            rest::free(look, receives, statuses);
        }
        for noted in look.noted() {
            let status = status::at(statuses, noted.index);
            if let Some(one) = complete_of_failed(thread, noted, (look.array(), done.code), receives, status) {
                ones.add(one, || Peer::NONE);
            }
        }
    }
    ones.end(done.ticks);
}

/// As [`Several::finish`].
#[inline(never)]
unsafe fn finish_some<W: Which>(
    (thread, record): (&Thread, Record),
    look: &Look,
    receives: bool,
    done: Done,
    call: Option<Call>,
    told: [Word; 3],
) {
    let mut ones = Ones::of(call);
    // SAFETY: the call has filled the statuses, and the array has so many handles.
    unsafe {
        for (index, status) in W::completed(done.code, look.length(), told) {
            let Some(mut noted) = look.at(thread.number, index) else { continue };
            let one = match done.code {
                0 => Some(complete(thread, &mut noted, receives, || status)),
                code => complete_of_failed(thread, &mut noted, (look.array(), code), receives, status),
            };
            if let Some(one) = one {
                ones.add(one, || peer(record, &one, done.code, status));
            }
            look.put_at(noted);
        }
    }
    ones.end(done.ticks);
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
