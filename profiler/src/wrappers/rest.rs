//! What a call leaves that fails over several requests, where that depends on whether it was given statuses: a program that ignores
//! them is to find what it would find without commsee, which passes some to learn what arrived.

use std::ffi::c_int;

use vocabulary::shard::FREED;

use super::look::Several;
use crate::fortran;
use crate::guest::short_path::Path;
use crate::mpi::abi::{Word, abi};
use crate::mpi::{pmpi, status};
use crate::objects::requests::{self, Noted};
use crate::record::persistent;
use crate::thread::Thread;
use crate::thread::looks::Look;

/// Whether a call that has returned without an error has not completed the last of its requests, which it does unless it fails: where the program has a
/// handler of its own for errors, MPICH since 4.2 returns none.
///
/// # Safety
/// The array is that of the call, which was given one request at least.
#[inline(always)]
pub unsafe fn is_left<P: Path>(thread: &Thread, noted: &[Noted], array: Word) -> bool {
    // SAFETY: as demanded.
    abi().frees_all_without_statuses_on::<P>() && unsafe { is_last_left(thread, noted, array) }
}

#[inline(never)]
unsafe fn is_last_left(thread: &Thread, noted: &[Noted], array: Word) -> bool {
    let Some((noted, place)) = noted.last().and_then(|noted| Some((noted, noted.places().next_back()?))) else {
        return false;
    };
    // SAFETY: the array has so many handles.
    let handle = unsafe { abi().load_at(array, place) };
    is_as_noted(thread, noted.handle, handle)
}

/// Whether the handle of a request that has completed is still what it was, which no library leaves but of persistent ones, unless the
/// call has failed without a word.
pub fn is_as_noted(thread: &Thread, noted: Word, handle: Word) -> bool {
    abi().frees_all_without_statuses && handle == noted && !is_persistent(thread, handle)
}

/// What the program is told of an `MPI_Waitall` that has returned this, where that depends on whether it was given statuses
/// ([`hides_errors`](crate::mpi::abi::Abi::hides_errors_on)).
///
/// # Safety
/// The array and the statuses are those that were passed on.
#[inline(always)]
pub unsafe fn told<P: Path>(thread: &Thread, code: c_int, several: &Several, array: Word, statuses: Word) -> c_int {
    if code != 0 || !abi().hides_errors_on::<P>() || !persistent::may_receive() {
        return code;
    }
    // SAFETY: as demanded.
    unsafe { found_in_statuses::<P>(thread, several.noted(), several.look, array, statuses) }
}

/// `MPI_ERR_IN_STATUS` of Open MPI.
const IN_STATUS: c_int = 18;

/// Whether an error stands in a status of ours.
#[inline(never)]
unsafe fn found_in_statuses<P: Path>(
    thread: &Thread,
    noted: &[Noted],
    look: &Look,
    array: Word,
    statuses: Word,
) -> c_int {
    let places = abi().status_on::<P>();
    // What is noted together is not persistent.
    // SAFETY: there is a status for each.
    let has_failed =
        |one: &Noted| unsafe { *((statuses + one.index() * places.bytes + places.error) as *const c_int) } != 0;
    if statuses != look.statuses() as Word || !noted.iter().any(has_failed) {
        return 0;
    }
    // SAFETY: as demanded.
    unsafe { tell(thread, noted, array, statuses) }
}

/// Tells the errors in statuses of ours as the library tells them that is given none: it frees the requests that failed, and calls the handler of the first.
/// Not in Fortran, where the library passes statuses of its own.
#[cold]
#[inline(never)]
unsafe fn tell(thread: &Thread, noted: &[Noted], array: Word, statuses: Word) -> c_int {
    let mut first = None;
    for (noted, place) in Noted::each(noted) {
        // SAFETY: the array has so many handles, and the room so many statuses.
        unsafe {
            let (error, handle) = (status::error(status::at(statuses, place)), abi().load_at(array, place));
            if error == 0 || handle == abi().request_null || fortran::is_of_fortran(handle) {
                continue;
            }
            first.get_or_insert_with(|| (comm_of(thread, noted.handle), error));
            pmpi::request_free(array + place * abi().handle_bytes);
        }
    }
    let Some((comm, error)) = first else { return 0 };
    // SAFETY: a communicator of the library's.
    unsafe { pmpi::comm_call_errhandler(comm, error) };
    IN_STATUS
}

/// Of a request, or the world where it is gone.
fn comm_of(thread: &Thread, handle: Word) -> Word {
    let seen = requests::seen(thread.requests(), &thread.unknown, handle, 0);
    // SAFETY: records are never freed.
    let record = seen.map(|seen| unsafe { &*seen.comm }).filter(|record| record.flags & FREED == 0);
    record.map_or(abi().world, |record| if record.handle == 0 { abi().world } else { record.handle as Word })
}

/// Persistent ones keep their handles.
pub fn is_persistent(thread: &Thread, handle: Word) -> bool {
    thread.requests().volume(handle).is_some()
}

/// Frees what a call that failed has left because it was given statuses of ours, as it would have done without any
/// ([`frees_all_without_statuses`](crate::mpi::abi::Abi::frees_all_without_statuses)).
///
/// # Safety
/// The array and the statuses are those that were passed on; `look`: that of the call, if it may have passed on statuses of its.
#[cold]
#[inline(never)]
pub unsafe fn free(thread: &Thread, noted: &[Noted], array: Word, statuses: Word, look: Option<&Look>) {
    let are_ours = look.is_some_and(|look| statuses == look.statuses() as Word);
    if !are_ours || !abi().frees_all_without_statuses || fortran::are_requests_translated() {
        return;
    }
    for (noted, place) in Noted::each(noted) {
        // SAFETY: the array has so many handles, and the room so many statuses.
        unsafe {
            let handle = abi().load_at(array, place);
            if handle != noted.handle || is_persistent(thread, handle) {
                continue;
            }
            let status = status::at(statuses, place);
            status::set_error(status, c_int::from(!has_arrived(handle, status)));
            pmpi::request_free(array + place * abi().handle_bytes);
        }
    }
}

/// Whether a request has completed without an error. Then the status is filled. No handler of the program is told of an error: it was told
/// that the call failed.
unsafe fn has_arrived(handle: Word, status: Word) -> bool {
    let comms = [abi().world, abi().comm_self];
    let mut handlers = [0u64; 2];
    let mut flag = 0;
    // SAFETY: the communicators are there while requests are, and the handle is one of the library's.
    unsafe {
        for (comm, handler) in comms.into_iter().zip(&mut handlers) {
            if pmpi::comm_get_errhandler(comm, handler).is_some() {
                pmpi::comm_set_errhandler(comm, abi().errors_return);
            }
        }
        let asked = pmpi::request_get_status(handle, &mut flag, status);
        for (comm, handler) in comms.into_iter().zip(handlers) {
            if handler != 0 {
                pmpi::comm_set_errhandler(comm, handler as Word);
            }
        }
        asked.is_some() && flag != 0
    }
}
