//! How wide an INTEGER is. It may be wider than an `int` in all of an MPI library's Fortran, or only in a library between the program and
//! that: Intel MPI translates what a program passes that was compiled with 8-byte INTEGERs (`libmpi_ilp64.so`), and then calls the
//! functions of 4-byte ones by their profiling names.

use std::ffi::{CStr, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::mpi::abi::{Word, abi};
use crate::mpi::{pmpi, real};

/// Wider than an `int`. Known as soon as the program has called a Fortran function.
static IS_WIDE: AtomicBool = AtomicBool::new(false);

/// Names of a function that may be called at any time (MPI-4.1, 11.4.1), and that commsee does not stand in front of: what is found is what
/// the program would call.
const QUESTION: [&CStr; 4] = [c"mpi_get_version_", c"mpi_get_version", c"mpi_get_version__", c"MPI_GET_VERSION"];

/// Whether the functions that the program would call without commsee take INTEGERs that are wider than an `int`: one of them is asked.
pub fn find_out() -> bool {
    let is_found = |name: &&CStr| Some(real::symbol_anywhere(name)).filter(|found| !found.is_null());
    if let Some(function) = QUESTION.iter().find_map(is_found) {
        const UNTOUCHED: u64 = u64::from_ne_bytes([0xa5; 8]);
        let mut places = [UNTOUCHED; 3];
        let [version, subversion, error] = &mut places;
        // SAFETY: the type is that of the function in Fortran, with room for the widest INTEGER.
        unsafe {
            let get_version: unsafe extern "C-unwind" fn(*mut u64, *mut u64, *mut u64) = std::mem::transmute(function);
            get_version(version, subversion, error);
        }
        let upper =
            |place: u64| place.to_ne_bytes()[size_of::<c_int>()..] != UNTOUCHED.to_ne_bytes()[size_of::<c_int>()..];
        if places.into_iter().any(upper) {
            IS_WIDE.store(true, Ordering::Relaxed);
        }
    }
    is_wide()
}

pub fn is_wide() -> bool {
    IS_WIDE.load(Ordering::Relaxed)
}

/// Whether an INTEGER of the MPI library itself is as wide as an `int`: a status in Fortran is an array of INTEGERs with the same contents as
/// the C one, so its size tells (MPI-4.1, 19.3.5). The standard ABI leaves it to Fortran's libraries to translate one.
pub fn is_int() -> bool {
    let (status, mut fortran) = ([0u64; 8], [0xa5u8; 128]);
    // SAFETY: both places are larger than any status.
    let done = unsafe { pmpi::status_c2f(status.as_ptr() as Word, fortran.as_mut_ptr().cast::<c_void>()) };
    match done {
        Some(()) => fortran.iter().take_while(|byte| **byte != 0xa5).count() == abi().status.bytes,
        None => !find_out(),
    }
}
