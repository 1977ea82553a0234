//! How the library's `mpi_f08` behaves where the standard does not tell, or the library does otherwise: one call is made to
//! find out.

use std::ffi::c_int;
use std::sync::OnceLock;

use vocabulary::calls::op;

use crate::abi::abi;
use crate::{pmpi, real, thread};

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
    // SAFETY: a message of no bytes to nobody; the types are those of the functions, and handles are INTEGERs in C as well.
    unsafe {
        let request = (&raw mut requests[1]).cast();
        pmpi::isend(std::ptr::null(), 0, abi().byte, abi().proc_null, 0, abi().comm_self, request)?;
        let waitany: unsafe extern "C" fn(*const c_int, *mut u32, *mut c_int, *mut u64, *mut c_int) =
            std::mem::transmute(function);
        let calls_c = thread::within_fortran(op::MPI_Waitany, || {
            waitany(&length, requests.as_mut_ptr(), &mut index, status.as_mut_ptr(), &mut error);
        });
        (error == 0).then_some(Trial { counts_from_zero: index == 1, calls_c })
    }
}
