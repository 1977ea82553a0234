//! How the library's `mpi_f08` behaves where the standard does not tell, or the library does otherwise: one call is made to
//! find out.

use std::ffi::c_int;
use std::sync::OnceLock;

use vocabulary::calls::op;

use crate::mpi::abi::{Word, abi};
use crate::mpi::{pmpi, real};
use crate::thread;

#[derive(Clone, Copy)]
pub struct Trial {
    /// Indices of requests are returned as in C: MPICH 4.0.2 does that.
    pub counts_from_zero: bool,
    /// It calls the C function by its `MPI_` name, which has a wrapper, not by its `PMPI_` name.
    pub calls_c: bool,
}

pub fn result() -> Trial {
    static KNOWN: OnceLock<Trial> = OnceLock::new();
    let usual = Trial { counts_from_zero: false, calls_c: abi().family.fortran_calls_c };
    // Where handles are pointers no library with such habits is known.
    let worth_it = abi().family.handle_bytes == size_of::<c_int>();
    // SAFETY: the program may call MPI where this is asked.
    *KNOWN.get_or_init(|| if worth_it { unsafe { find_out() }.unwrap_or(usual) } else { usual })
}

/// Waits for a request that is complete at once, the second of two.
unsafe fn find_out() -> Option<Trial> {
    let function = real::symbol_anywhere(c"mpi_waitany_f08_");
    if function.is_null() {
        return None;
    }
    let null = abi().request_null as u32;
    let (length, mut index, mut error, mut status): (c_int, c_int, c_int, [u64; 5]) = (2, 0, 0, [0; 5]);
    let mut requests = [null, null];
    // SAFETY: the types are those of the functions, and handles are INTEGERs in C as well. A generalized request needs no
    // communicator: a program with sessions may not have any yet.
    unsafe {
        let request = (&raw mut requests[1]).cast();
        let nothing = nothing as *const () as Word;
        pmpi::grequest_start(nothing, nothing, nothing, 0, request)?;
        pmpi::grequest_complete(requests[1] as Word)?;
        let waitany: unsafe extern "C-unwind" fn(*const c_int, *mut u32, *mut c_int, *mut u64, *mut c_int) =
            std::mem::transmute(function);
        let calls_c = thread::within_fortran(thread::known()?, op::MPI_Waitany, || {
            waitany(&length, requests.as_mut_ptr(), &mut index, status.as_mut_ptr(), &mut error);
        });
        (error == 0).then_some(Trial { counts_from_zero: index == 1, calls_c })
    }
}

/// Stands in for the three functions of a generalized request (MPI-4.1, 13.2), none of which has anything to do here.
unsafe extern "C-unwind" fn nothing() -> c_int {
    0
}
