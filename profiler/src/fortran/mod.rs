//! Fortran entry points forward the program's own arguments to the library's Fortran entry points, so that
//! `MPI_BOTTOM`, `MPI_IN_PLACE` and all else keep their meaning. What is recorded is translated to C for the body that the
//! C function has as well.

mod arguments;
mod entry;
mod handles;
mod indices;
mod integer;
mod sentinels;
mod trial;

use std::cell::Cell;
use std::ffi::c_int;

use crate::guest::set_once::SetOnce;
use crate::guest::{say, state};
use crate::mpi::abi::{Word, abi};
use crate::thread::{self, Thread};

pub use arguments::{Handle, Requests, Statuses, Text, address, are_requests_translated, count, int, long};
pub use entry::Entry;
pub use handles::{Object, comm, datatype, handle, is_of_fortran};
pub use indices::Indices;
pub use sentinels::is_in_place;

static UNDERSTOOD: SetOnce<bool> = SetOnce::new();
/// The library's Fortran layer calls C functions by their `MPI_` names.
static CALLS_C: SetOnce<bool> = SetOnce::new();

/// Learns how the library's Fortran looks. Called in `MPI_Init`, before recording starts.
pub fn prepare() {
    // SAFETY: recording is off.
    unsafe {
        CALLS_C.set(abi().family.fortran_calls_c);
        UNDERSTOOD.set(integer::is_int() && handles::prepare());
    }
}

/// Whether calls are recorded and this library's Fortran arguments can be read.
#[inline(always)]
pub fn understood(entry: &Entry) -> bool {
    !state::is_off() && entry.is_mpi() && is_understood()
}

/// Whether this library's Fortran arguments can be read. To be asked while recording is not off.
#[inline(always)]
fn is_understood() -> bool {
    // SAFETY: recording is on or pauses, so `prepare` has run.
    (unsafe { *UNDERSTOOD.get() } && !integer::is_wide()) || not_understood()
}

#[cold]
fn not_understood() -> bool {
    // SAFETY: as above. Of libraries with the standard ABI some do so, some do not.
    let is_counted_in_c = abi().handle_bytes == size_of::<c_int>() && unsafe { *CALLS_C.get() };
    if !is_counted_in_c {
        say::warn_once!(
            "the INTEGER of this MPI library's Fortran is not 4 bytes wide: Fortran calls are not recorded"
        );
    }
    false
}

/// The place for the error code: the program's, or ours where it leaves out the optional argument.
#[inline(always)]
pub fn given(ierror: Word, own: &Cell<c_int>) -> Word {
    if ierror == 0 { own.as_ptr() as Word } else { ierror }
}

/// Calls the library's Fortran entry point and returns the error code. What that one does through a C function that has a
/// wrapper is part of this call.
#[inline(always)]
pub unsafe fn forward(thread: &Thread, operation: u16, entry: &Entry, ierror: Word, call: impl FnOnce()) -> c_int {
    let is_f08 = entry.is_f08() && !entry.descriptors;
    // SAFETY: recording is on or pauses, so `prepare` has run.
    let calls_c = if is_f08 { trial::result().calls_c } else { unsafe { *CALLS_C.get() } };
    let call = || match calls_c {
        true => _ = thread::within_fortran(thread, operation, call),
        false => call(),
    };
    // SAFETY: `given` returned the place that the call fills.
    unsafe { code(ierror, call) }
}

/// Leaves nothing of ours where the function that is called next has its variables: where a file cannot be opened, MPICH's Fortran layer
/// translates a handle that nobody has set. Null is none.
#[inline(never)]
pub fn clear_stack() {
    let mut below = [0u8; 1024];
    std::hint::black_box(&mut below);
}

#[inline(always)]
pub unsafe fn code(ierror: Word, call: impl FnOnce()) -> c_int {
    call();
    // SAFETY: `given` returned a place for it.
    unsafe { *(ierror as *const c_int) }
}
