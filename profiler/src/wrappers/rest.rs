//! What a call leaves that fails over several requests, where that depends on whether it was given statuses: a program that ignores
//! them is to find what it would find without commsee, which passes some to learn what arrived.

use std::ffi::c_int;

use vocabulary::shard::FREED;

use crate::fortran;
use crate::mpi::abi::{Word, abi};
use crate::mpi::{pmpi, status};
use crate::objects::records::Record;
use crate::objects::requests::Noted;
use crate::record::persistent;
use crate::thread::looks::Look;

/// Whether a call that has returned without an error has not completed the last of its requests, which it does unless it fails: where the program has a
/// handler of its own for errors, MPICH since 4.2 returns none.
///
/// # Safety
/// The array is that of the call.
#[inline(always)]
pub unsafe fn is_left(noted: &[Noted], array: Word) -> bool {
    // SAFETY: the array has so many handles.
    let is_left = |last: &Noted| is_as_noted(last, unsafe { abi().load_at(array, last.index) });
    abi().frees_all_without_statuses && noted.last().is_some_and(is_left)
}

/// Whether the handle of a request that has completed is still what it was, which no library leaves but of persistent ones, unless the
/// call has failed without a word.
#[inline(always)]
pub fn is_as_noted(noted: &Noted, handle: Word) -> bool {
    handle == noted.handle && abi().frees_all_without_statuses && !noted.request.is_persistent()
}

/// What the program is told of an `MPI_Waitall` that has returned this, where that depends on whether it was given statuses
/// ([`hides_errors`](crate::mpi::abi::Abi::hides_errors)).
///
/// # Safety
/// The statuses are those that were passed on.
#[inline(always)]
pub unsafe fn told(code: c_int, look: &Look, statuses: Word) -> c_int {
    if code != 0 || !abi().hides_errors || !persistent::may_receive() {
        return code;
    }
    // SAFETY: as demanded.
    unsafe { found_in_statuses(look, statuses) }
}

/// `MPI_ERR_IN_STATUS` of Open MPI.
const IN_STATUS: c_int = 18;

/// Whether an error stands in a status of ours.
#[inline(never)]
unsafe fn found_in_statuses(look: &Look, statuses: Word) -> c_int {
    // SAFETY: there is a status for each.
    let has_failed = |one: &Noted| unsafe { status::error(status::at(statuses, one.index)) } != 0;
    if statuses != look.statuses() || !look.noted().iter().any(has_failed) {
        return 0;
    }
    // SAFETY: as demanded.
    unsafe { tell(look.noted(), look.array(), statuses) }
}

/// Tells the errors in statuses of ours as the library tells them that is given none: it frees the requests that failed, and calls the handler of the first.
/// Not in Fortran, where the library passes statuses of its own.
#[cold]
#[inline(never)]
unsafe fn tell(noted: &[Noted], array: Word, statuses: Word) -> c_int {
    let mut first = None;
    for noted in noted {
        // SAFETY: the array has so many handles, and the room so many statuses.
        unsafe {
            let (error, handle) = (status::error(status::at(statuses, noted.index)), abi().load_at(array, noted.index));
            if error == 0 || handle == abi().request_null || fortran::is_of_fortran(handle) {
                continue;
            }
            first.get_or_insert_with(|| (comm_of(noted.request.comm), error));
            pmpi::request_free(array + noted.index * abi().handle_bytes);
        }
    }
    let Some((comm, error)) = first else { return 0 };
    // SAFETY: a communicator of the library's.
    unsafe { pmpi::comm_call_errhandler(comm, error) };
    IN_STATUS
}

/// Of a request, or the world where it is gone.
fn comm_of(record: Record) -> Word {
    // SAFETY: records are never freed.
    let record = unsafe { &*record };
    let is_there = record.flags & FREED == 0 && record.handle != 0;
    if is_there { record.handle as Word } else { abi().world }
}

/// Frees what a call that failed has left because it was given statuses of ours, as it would have done without any
/// ([`frees_all_without_statuses`](crate::mpi::abi::Abi::frees_all_without_statuses)).
///
/// # Safety
/// The statuses are those that were passed on.
#[cold]
#[inline(never)]
pub unsafe fn free(look: &Look, receives: bool, statuses: Word) {
    let (array, are_ours) = (look.array(), receives && statuses == look.statuses());
    if !are_ours || !abi().frees_all_without_statuses || fortran::are_requests_translated() {
        return;
    }
    for noted in look.noted().iter() {
        // SAFETY: the array has so many handles, and the room so many statuses.
        unsafe {
            let handle = abi().load_at(array, noted.index);
            if !is_as_noted(noted, handle) {
                continue;
            }
            let status = status::at(statuses, noted.index);
            status::set_error(status, c_int::from(!has_arrived(handle, status)));
            pmpi::request_free(array + noted.index * abi().handle_bytes);
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
