//! What shim.c adds to the bindings.

use std::ffi::{c_int, c_longlong, c_void};

use mpi::ffi::{MPI_Comm, MPI_Datatype, MPI_Request};

use super::Count;

mod c {
    use super::*;

    unsafe extern "C" {
        pub static groupbench_in_place: *mut c_void;
        pub static groupbench_has_partitioned: c_int;

        pub fn groupbench_psend_init(
            buffer: *const c_void,
            partitions: c_int,
            count: c_longlong,
            datatype: MPI_Datatype,
            rank: c_int,
            tag: c_int,
            comm: MPI_Comm,
            request: *mut MPI_Request,
        ) -> c_int;

        pub fn groupbench_precv_init(
            buffer: *mut c_void,
            partitions: c_int,
            count: c_longlong,
            datatype: MPI_Datatype,
            rank: c_int,
            tag: c_int,
            comm: MPI_Comm,
            request: *mut MPI_Request,
        ) -> c_int;

        pub fn groupbench_pready(partition: c_int, request: MPI_Request) -> c_int;
    }
}

/// MPI_IN_PLACE.
pub fn in_place() -> *mut c_void {
    // SAFETY: a constant of the shim.
    unsafe { c::groupbench_in_place }
}

/// Whether the library has MPI 4's partitioned communication.
pub fn has_partitioned() -> bool {
    // SAFETY: a constant of the shim.
    unsafe { c::groupbench_has_partitioned != 0 }
}

/// Whether the MPI library reports CUDA support: by the function of MPICH and its kin, or that of Open MPI. One that has neither may have it.
pub fn is_cuda_aware() -> bool {
    const CUDA: c_int = 0;
    // SAFETY: names with their end; functions as <https://docs.open-mpi.org> and mpi.h of MPICH have them, which write to `supported`.
    unsafe {
        let general = libc::dlsym(libc::RTLD_DEFAULT, c"MPIX_GPU_query_support".as_ptr());
        let of_cuda = libc::dlsym(libc::RTLD_DEFAULT, c"MPIX_Query_cuda_support".as_ptr());
        if !general.is_null() {
            let asked: unsafe extern "C" fn(c_int, *mut c_int) -> c_int = std::mem::transmute(general);
            let mut supported = 1;
            asked(CUDA, &raw mut supported);
            return supported != 0;
        }
        if !of_cuda.is_null() {
            let asked: unsafe extern "C" fn() -> c_int = std::mem::transmute(of_cuda);
            return asked() != 0;
        }
    }
    true
}

/// # Safety
/// As MPI_Psend_init: the buffer outlives the request.
pub unsafe fn psend_init(
    buffer: *const u8,
    partitions: i32,
    each: &Count,
    to: i32,
    tag: i32,
    comm: MPI_Comm,
) -> MPI_Request {
    let mut request = super::world::null_request();
    // SAFETY: the caller's.
    unsafe {
        let count = c_longlong::from(each.count());
        c::groupbench_psend_init(buffer.cast(), partitions, count, each.datatype(), to, tag, comm, &mut request);
    }
    request
}

/// # Safety
/// As MPI_Precv_init: the buffer outlives the request.
pub unsafe fn precv_init(
    buffer: *mut u8,
    partitions: i32,
    each: &Count,
    from: i32,
    tag: i32,
    comm: MPI_Comm,
) -> MPI_Request {
    let mut request = super::world::null_request();
    // SAFETY: the caller's.
    unsafe {
        let count = c_longlong::from(each.count());
        c::groupbench_precv_init(buffer.cast(), partitions, count, each.datatype(), from, tag, comm, &mut request);
    }
    request
}

/// # Safety
/// The request is a started one of `psend_init`.
pub unsafe fn pready(partition: i32, request: MPI_Request) {
    // SAFETY: the caller's.
    unsafe { c::groupbench_pready(partition, request) };
}
