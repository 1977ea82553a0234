//! Whether code that calls MPI is the MPI library's own. Some libraries call functions by their `MPI_` names from within others: MPICH 4.2 and 4.3
//! exchange data by `MPI_Isend_c` in collective I/O, Open MPI's ROMIO does by `MPI_Ialltoall`. The program has not made these calls.
//!
//! A callback of the program that ends with a call may jump there, so that the call returns to the library, which has called the callback. That was by
//! an address in a register or in memory; its own functions a library calls by name.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::guest::errno;
use crate::mpi::real;

/// What was found out, by places in the code: an address above one bit.
static KNOWN: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// Whether a call by name returns to this address, in the MPI library or in a part that it has loaded.
#[cold]
#[inline(never)]
pub fn is_its(address: u64) -> bool {
    let place = &KNOWN[(address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as usize];
    let known = place.load(Ordering::Relaxed);
    if known >> 1 == address {
        return known & 1 == 1;
    }
    let is_its = errno::kept(|| is_in_it(address as *const c_void));
    place.store(address << 1 | u64::from(is_its), Ordering::Relaxed);
    is_its
}

fn is_in_it(address: *const c_void) -> bool {
    // SAFETY: only addresses and null are in it, and it is read where the call has filled it.
    let mut object: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: looks an address up.
    if unsafe { libc::dladdr(address, &mut object) } == 0 || object.dli_fbase.is_null() {
        return false;
    }
    let library = real::object_of(real::symbol(c"PMPI_Init"));
    // Where it is linked statically, it is one with the program.
    if ptr::eq(library, real::object_of(is_its as *const c_void)) {
        return false;
    }
    // SAFETY: it is code that a call returns to.
    (ptr::eq(library, object.dli_fbase) || is_component(object.dli_fname)) && unsafe { is_behind_call_by_name(address) }
}

/// Whether the instruction before is a call of one function, by its place (in the table of stubs) or by its entry in the table of addresses.
unsafe fn is_behind_call_by_name(address: *const c_void) -> bool {
    let code = address.cast::<u8>();
    // SAFETY: the caller passes an address in the midst of code.
    unsafe {
        if cfg!(target_arch = "x86_64") {
            let distance = code.sub(4).cast::<i32>().read_unaligned() as isize;
            let target = address.wrapping_offset(distance);
            match (code.sub(6).read(), code.sub(5).read()) {
                (_, 0xe8) | (0xff, 0x15) => ptr::eq(real::object_of(target), real::object_of(address)),
                _ => false,
            }
        } else {
            code.sub(4).cast::<u32>().read() >> 26 == 0b100101
        }
    }
}

/// Open MPI loads most of itself when it is asked for.
fn is_component(path: *const std::ffi::c_char) -> bool {
    if path.is_null() {
        return false;
    }
    // SAFETY: the loader's names end with a zero byte.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    path.rsplit(|byte| *byte == b'/').next().is_some_and(|file| file.starts_with(b"mca_"))
}
