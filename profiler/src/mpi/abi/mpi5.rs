//! The standard ABI of MPI 5.0 (MPI-5.0, chapter 20): handles are pointers, the predefined ones small constants.

use super::family::{Combiners, Count, Datatypes, Family, Handle, SharedRequests, Status, Word};

pub const FAMILY: Family = Family {
    id: 3,
    handle_bytes: 8,
    world: Handle::Value(0x101),
    comm_self: Handle::Value(0x102),
    comm_null: Handle::Value(0x100),
    request_null: Handle::Value(0x180),
    shared_requests: SharedRequests::Unknown,
    errors_return: Handle::Value(0x143),
    info_null: Handle::Value(0x130),
    datatype_null: Handle::Value(0x200),
    byte: Handle::Value(0x247),
    no_op: Handle::Value(0x3d),
    proc_null: -3,
    root: -4,
    undefined: -32766,
    in_place: 1,
    status_ignore: 0,
    // int MPI_SOURCE, MPI_TAG, MPI_ERROR, MPI_internal[5]
    status: Status::new(32, 8, Count::Opaque),
    thread_levels: [0, 1024, 2048, 4096],
    err_in_status: 19,
    cart: 211,
    graph: 212,
    dist_graph: 213,
    datatypes: Datatypes::Values { handles: DATATYPES, told_bytes },
    fortran_calls_c: true,
    combiners: COMBINERS,
};

#[rustfmt::skip]
const COMBINERS: Combiners = &[
    (101, "named"), (102, "dup"), (103, "contiguous"), (104, "vector"), (105, "hvector"), (106, "indexed"),
    (107, "hindexed"), (108, "indexed_block"), (109, "hindexed_block"), (110, "struct"), (111, "subarray"),
    (112, "darray"), (113, "f90_real"), (114, "f90_complex"), (115, "f90_integer"), (116, "resized"),
];

/// Of types with a size in their name, and of bytes (MPI-5.0, appendix A).
fn told_bytes(datatype: Word) -> Option<u64> {
    (datatype & 0x240 == 0x240).then_some(1 << (datatype >> 3 & 7))
}

#[rustfmt::skip]
const DATATYPES: &[Word] = &[
    0x201, 0x202, 0x203, 0x207, 0x208, 0x209, 0x20a, 0x20b, 0x20c, 0x20d, 0x20e, 0x20f, 0x210, 0x212, 0x213, 0x214,
    0x216, 0x217, 0x218, 0x219, 0x21a, 0x21b, 0x21c, 0x21d, 0x21e, 0x220, 0x224, 0x225, 0x228, 0x229, 0x22a, 0x22b,
    0x22c, 0x22d, 0x230, 0x231, 0x232, 0x238, 0x239, 0x23c, 0x240, 0x241, 0x243, 0x244, 0x245, 0x247, 0x248, 0x249,
    0x250, 0x251, 0x258, 0x259, 0x2c0, 0x2c1, 0x2c8, 0x2c9, 0x2ca, 0x2d0, 0x2d1, 0x2d2, 0x2d3, 0x2d8, 0x2d9, 0x2da,
    0x2db, 0x2e0, 0x2e1, 0x2e2, 0x2e3, 0x2eb,
];
