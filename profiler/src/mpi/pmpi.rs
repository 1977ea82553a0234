//! The calls that commsee itself makes into the MPI library, typed. Each returns `None` where the library lacks the
//! function or reports an error.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::mpi::abi::Word;
use crate::mpi::real;

/// Declares a call: its arguments as the C function takes them, success told by the returned code.
macro_rules! declare {
    ($($name:ident = $symbol:literal ($($argument:ident: $type:ty),*);)*) => {$(
        pub unsafe fn $name($($argument: $type),*) -> Option<()> {
            static FUNCTION: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
            let function = resolve(&FUNCTION, $symbol)?;
            // SAFETY: the declaration below repeats the function's type from the standard.
            let code = unsafe {
                let function: unsafe extern "C-unwind" fn($($type),*) -> c_int = std::mem::transmute(function);
                function($($argument),*)
            };
            (code == 0).then_some(())
        }
    )*};
}

fn resolve(place: &AtomicPtr<c_void>, symbol: &CStr) -> Option<*mut c_void> {
    let mut function = place.load(Ordering::Relaxed);
    if function.is_null() {
        function = real::symbol(symbol);
        place.store(function, Ordering::Relaxed);
    }
    (!function.is_null()).then_some(function)
}

declare! {
    comm_rank_into = c"PMPI_Comm_rank" (comm: Word, rank: *mut c_int);
    comm_size_into = c"PMPI_Comm_size" (comm: Word, size: *mut c_int);
    comm_remote_size_into = c"PMPI_Comm_remote_size" (comm: Word, size: *mut c_int);
    comm_test_inter_into = c"PMPI_Comm_test_inter" (comm: Word, flag: *mut c_int);
    comm_group_into = c"PMPI_Comm_group" (comm: Word, group: *mut u64);
    comm_remote_group_into = c"PMPI_Comm_remote_group" (comm: Word, group: *mut u64);
    comm_create = c"PMPI_Comm_create" (comm: Word, group: Word, created: *mut u64);
    comm_get_parent = c"PMPI_Comm_get_parent" (parent: *mut u64);
    comm_free = c"PMPI_Comm_free" (comm: *mut u64);
    comm_get_errhandler = c"PMPI_Comm_get_errhandler" (comm: Word, handler: *mut u64);
    comm_set_errhandler = c"PMPI_Comm_set_errhandler" (comm: Word, handler: Word);
    comm_call_errhandler = c"PMPI_Comm_call_errhandler" (comm: Word, code: c_int);
    request_get_status = c"PMPI_Request_get_status" (request: Word, flag: *mut c_int, status: Word);
    request_free = c"PMPI_Request_free" (request: Word);
    win_get_group_into = c"PMPI_Win_get_group" (win: Word, group: *mut u64);
    group_free = c"PMPI_Group_free" (group: *mut u64);
    group_from_session_pset = c"PMPI_Group_from_session_pset" (session: Word, name: *const c_char, group: *mut u64);
    group_rank_into = c"PMPI_Group_rank" (group: Word, rank: *mut c_int);
    session_init = c"PMPI_Session_init" (info: Word, errhandler: Word, session: *mut u64);
    session_finalize = c"PMPI_Session_finalize" (session: *mut u64);
    session_get_info = c"PMPI_Session_get_info" (session: Word, info: *mut u64);
    info_get = c"PMPI_Info_get"
        (info: Word, key: *const c_char, longest: c_int, value: *mut c_char, found: *mut c_int);
    info_free = c"PMPI_Info_free" (info: *mut u64);
    group_size_into = c"PMPI_Group_size" (group: Word, size: *mut c_int);
    group_translate_ranks = c"PMPI_Group_translate_ranks"
        (from: Word, count: c_int, ranks: *const c_int, to: Word, translated: *mut c_int);
    type_size_x = c"PMPI_Type_size_x" (datatype: Word, size: *mut i64);
    type_get_extent = c"PMPI_Type_get_extent" (datatype: Word, lower_bound: *mut isize, extent: *mut isize);
    type_get_true_extent = c"PMPI_Type_get_true_extent" (datatype: Word, lower_bound: *mut isize, extent: *mut isize);
    type_get_name = c"PMPI_Type_get_name" (datatype: Word, name: *mut c_char, length: *mut c_int);
    type_get_envelope = c"PMPI_Type_get_envelope"
        (datatype: Word, integers: *mut c_int, addresses: *mut c_int, datatypes: *mut c_int, combiner: *mut c_int);
    type_get_envelope_c = c"PMPI_Type_get_envelope_c"
        (datatype: Word, integers: *mut i64, addresses: *mut i64, large_counts: *mut i64, datatypes: *mut i64,
         combiner: *mut c_int);
    type_get_contents = c"PMPI_Type_get_contents"
        (datatype: Word, max_integers: c_int, max_addresses: c_int, max_datatypes: c_int, integers: *mut c_int,
         addresses: *mut isize, datatypes: *mut c_void);
    type_free = c"PMPI_Type_free" (datatype: *mut c_void);
    query_thread_into = c"PMPI_Query_thread" (level: *mut c_int);
    initialized_into = c"PMPI_Initialized" (flag: *mut c_int);
    get_version = c"PMPI_Get_version" (version: *mut c_int, subversion: *mut c_int);
    get_elements_x = c"PMPI_Get_elements_x" (status: Word, datatype: Word, count: *mut i64);
    status_c2f = c"PMPI_Status_c2f" (status: Word, fortran: *mut c_void);
    test_cancelled = c"PMPI_Test_cancelled" (status: Word, flag: *mut c_int);
    iprobe = c"PMPI_Iprobe" (from: c_int, tag: c_int, comm: Word, flag: *mut c_int, status: Word);
    barrier = c"PMPI_Barrier" (comm: Word);
    send = c"PMPI_Send" (buffer: *const c_void, count: c_int, datatype: Word, to: c_int, tag: c_int, comm: Word);
    isend = c"PMPI_Isend"
        (buffer: *const c_void, count: c_int, datatype: Word, to: c_int, tag: c_int, comm: Word, request: *mut u64);
    wait = c"PMPI_Wait" (request: *mut u64, status: Word);
    grequest_start = c"PMPI_Grequest_start"
        (query: Word, free: Word, cancel: Word, extra: Word, request: *mut c_void);
    grequest_complete = c"PMPI_Grequest_complete" (request: Word);
    recv = c"PMPI_Recv"
        (buffer: *mut c_void, count: c_int, datatype: Word, from: c_int, tag: c_int, comm: Word, status: Word);
    topo_test = c"PMPI_Topo_test" (comm: Word, status: *mut c_int);
    cartdim_get = c"PMPI_Cartdim_get" (comm: Word, dimensions: *mut c_int);
    cart_shift = c"PMPI_Cart_shift"
        (comm: Word, direction: c_int, displacement: c_int, source: *mut c_int, destination: *mut c_int);
    graph_neighbors_count = c"PMPI_Graph_neighbors_count" (comm: Word, rank: c_int, count: *mut c_int);
    graph_neighbors = c"PMPI_Graph_neighbors" (comm: Word, rank: c_int, count: c_int, neighbors: *mut c_int);
    dist_graph_neighbors_count = c"PMPI_Dist_graph_neighbors_count"
        (comm: Word, sources: *mut c_int, destinations: *mut c_int, weighted: *mut c_int);
    dist_graph_neighbors = c"PMPI_Dist_graph_neighbors"
        (comm: Word, max_sources: c_int, sources: *mut c_int, source_weights: *mut c_int,
         max_destinations: c_int, destinations: *mut c_int, destination_weights: *mut c_int);
}

/// Whether the library has the large-count form of `MPI_Type_get_envelope`: then there may be datatypes that the plain
/// form answers by an error, for which it calls the program's error handler.
pub fn has_type_get_envelope_c() -> bool {
    static FUNCTION: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    resolve(&FUNCTION, c"PMPI_Type_get_envelope_c").is_some()
}

/// Turns a call with an output argument into one that returns it.
macro_rules! output {
    ($($name:ident = $raw:ident ($($argument:ident: $type:ty),*);)*) => {$(
        pub unsafe fn $name($($argument: $type),*) -> Option<c_int> {
            let mut output = 0;
            // SAFETY: the caller passes what the function is told to take; the place is of the right type.
            unsafe { $raw($($argument,)* &mut output) }.map(|()| output)
        }
    )*};
}

output! {
    comm_rank = comm_rank_into(comm: Word);
    comm_size = comm_size_into(comm: Word);
    comm_remote_size = comm_remote_size_into(comm: Word);
    comm_test_inter = comm_test_inter_into(comm: Word);
    group_size = group_size_into(group: Word);
    group_rank = group_rank_into(group: Word);
    query_thread = query_thread_into();
    initialized = initialized_into();
}

/// A group that is freed when it goes out of scope. The handle's place is 8 bytes wide: an `int` handle fills the lower half.
pub struct Group(u64);

impl Group {
    pub unsafe fn of(comm: Word) -> Option<Group> {
        let mut group = Group(0);
        // SAFETY: the caller passes a communicator; the place has room for a handle of any family.
        unsafe { comm_group_into(comm, &mut group.0) }.map(|()| group)
    }

    pub unsafe fn remote_of(comm: Word) -> Option<Group> {
        let mut group = Group(0);
        // SAFETY: as above.
        unsafe { comm_remote_group_into(comm, &mut group.0) }.map(|()| group)
    }

    pub unsafe fn of_window(win: Word) -> Option<Group> {
        let mut group = Group(0);
        // SAFETY: the caller passes a window; the place has room for a handle of any family.
        unsafe { win_get_group_into(win, &mut group.0) }.map(|()| group)
    }

    pub fn handle(&self) -> Word {
        self.0 as Word
    }

    /// A group that somebody let go of; 0 is none.
    pub fn from_handle(handle: u64) -> Group {
        Group(handle)
    }

    /// The processes of a process set.
    pub unsafe fn of_process_set(session: Word, name: &CStr) -> Option<Group> {
        let mut group = Group(0);
        // SAFETY: the caller passes a session; the place has room for a handle of any family.
        unsafe { group_from_session_pset(session, name.as_ptr(), &mut group.0) }.map(|()| group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.0 != 0 {
            // SAFETY: the group was made by this object and is used by nobody else.
            unsafe { group_free(&mut self.0) };
        }
    }
}
