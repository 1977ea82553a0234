//! Open MPI 3 to 6: handles are addresses of objects that the library exports.

use super::family::{Combiners, Count, Datatypes, Family, Handle, SharedRequests, Status};

pub const FAMILY: Family = Family {
    id: 1,
    handle_bytes: 8,
    world: Handle::Symbol(c"ompi_mpi_comm_world"),
    comm_self: Handle::Symbol(c"ompi_mpi_comm_self"),
    comm_null: Handle::Symbol(c"ompi_mpi_comm_null"),
    request_null: Handle::Symbol(c"ompi_request_null"),
    shared_requests: SharedRequests::Symbols([c"ompi_request_empty", c"ompi_request_empty_send"]),
    errors_return: Handle::Symbol(c"ompi_mpi_errors_return"),
    info_null: Handle::Symbol(c"ompi_mpi_info_null"),
    datatype_null: Handle::Symbol(c"ompi_mpi_datatype_null"),
    byte: Handle::Symbol(c"ompi_mpi_byte"),
    no_op: Handle::Symbol(c"ompi_mpi_op_no_op"),
    proc_null: -2,
    root: -4,
    undefined: -32766,
    in_place: 1,
    status_ignore: 0,
    // int MPI_SOURCE, MPI_TAG, MPI_ERROR, _cancelled; size_t _ucount
    status: Status::new(24, 8, Count::Size { count: 16, cancelled: 12 }),
    thread_levels: [0, 1, 2, 3],
    err_in_status: 18,
    cart: 1,
    graph: 2,
    dist_graph: 3,
    datatypes: Datatypes::Symbols(DATATYPES),
    fortran_calls_c: false,
    combiners: COMBINERS,
};

#[rustfmt::skip]
const COMBINERS: Combiners = &[
    (0, "named"), (1, "dup"), (2, "contiguous"), (3, "vector"), (5, "hvector"), (6, "indexed"), (8, "hindexed"),
    (9, "indexed_block"), (11, "struct"), (12, "subarray"), (13, "darray"), (14, "f90_real"), (15, "f90_complex"),
    (16, "f90_integer"), (17, "resized"), (18, "hindexed_block"),
];

#[rustfmt::skip]
const DATATYPES: &[&std::ffi::CStr] = &[
    c"ompi_mpi_2cplex", c"ompi_mpi_2dblcplex", c"ompi_mpi_2dblprec", c"ompi_mpi_2int", c"ompi_mpi_2integer",
    c"ompi_mpi_2real", c"ompi_mpi_aint", c"ompi_mpi_byte", c"ompi_mpi_c_bool", c"ompi_mpi_c_double_complex",
    c"ompi_mpi_c_float_complex", c"ompi_mpi_c_long_double_complex", c"ompi_mpi_char", c"ompi_mpi_character",
    c"ompi_mpi_complex16", c"ompi_mpi_complex32", c"ompi_mpi_complex8", c"ompi_mpi_count", c"ompi_mpi_cplex",
    c"ompi_mpi_cxx_bool", c"ompi_mpi_cxx_cplex", c"ompi_mpi_cxx_dblcplex", c"ompi_mpi_cxx_ldblcplex",
    c"ompi_mpi_dblcplex", c"ompi_mpi_dblprec", c"ompi_mpi_double", c"ompi_mpi_double_int", c"ompi_mpi_float",
    c"ompi_mpi_float_int", c"ompi_mpi_int", c"ompi_mpi_int16_t", c"ompi_mpi_int32_t", c"ompi_mpi_int64_t",
    c"ompi_mpi_int8_t", c"ompi_mpi_integer", c"ompi_mpi_integer1", c"ompi_mpi_integer16", c"ompi_mpi_integer2",
    c"ompi_mpi_integer4", c"ompi_mpi_integer8", c"ompi_mpi_logical", c"ompi_mpi_logical1", c"ompi_mpi_logical16",
    c"ompi_mpi_logical2", c"ompi_mpi_logical4", c"ompi_mpi_logical8", c"ompi_mpi_long", c"ompi_mpi_long_double",
    c"ompi_mpi_long_int", c"ompi_mpi_long_long_int", c"ompi_mpi_longdbl_int", c"ompi_mpi_offset", c"ompi_mpi_packed",
    c"ompi_mpi_real", c"ompi_mpi_real16", c"ompi_mpi_real4", c"ompi_mpi_real8", c"ompi_mpi_short",
    c"ompi_mpi_short_int", c"ompi_mpi_signed_char", c"ompi_mpi_uint16_t", c"ompi_mpi_uint32_t", c"ompi_mpi_uint64_t",
    c"ompi_mpi_uint8_t", c"ompi_mpi_unsigned", c"ompi_mpi_unsigned_char", c"ompi_mpi_unsigned_long",
    c"ompi_mpi_unsigned_long_long", c"ompi_mpi_unsigned_short", c"ompi_mpi_wchar",
];
