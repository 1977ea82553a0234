//! The MPICH ABI: MPICH since 3.1, Intel MPI, Cray MPICH, MVAPICH, ParaStation MPI. Handles are `int`.

use super::family::{Combiners, Count, Datatypes, Family, Handle, SharedRequests, Status, Word};

pub const FAMILY: Family = Family {
    id: 2,
    handle_bytes: 4,
    world: Handle::Value(0x4400_0000),
    comm_self: Handle::Value(0x4400_0001),
    comm_null: Handle::Value(0x0400_0000),
    request_null: Handle::Value(0x2c00_0000),
    shared_requests: SharedRequests::Bits { mask: 0xc000_0000, value: 0x4000_0000 },
    errors_return: Handle::Value(0x5400_0001),
    info_null: Handle::Value(0x1c00_0000),
    datatype_null: Handle::Value(0x0c00_0000),
    byte: Handle::Value(0x4c00_010d),
    no_op: Handle::Value(0x5800_000e),
    proc_null: -1,
    root: -3,
    undefined: -32766,
    in_place: Word::MAX,
    status_ignore: 1,
    // int count_lo, count_hi_and_cancelled, MPI_SOURCE, MPI_TAG, MPI_ERROR
    status: Status::new(20, 16, Count::Halves { low: 0, high: 4 }),
    thread_levels: [0, 1, 2, 3],
    err_in_status: 17,
    cart: 2,
    graph: 1,
    dist_graph: 3,
    datatypes: Datatypes::Values { handles: DATATYPES, told_bytes },
    fortran_calls_c: true,
    combiners: COMBINERS,
};

#[rustfmt::skip]
const COMBINERS: Combiners = &[
    (1, "named"), (2, "dup"), (3, "contiguous"), (4, "vector"), (6, "hvector"), (7, "indexed"), (9, "hindexed"),
    (10, "indexed_block"), (12, "struct"), (13, "subarray"), (14, "darray"), (15, "f90_real"), (16, "f90_complex"),
    (17, "f90_integer"), (18, "resized"), (19, "hindexed_block"),
];

/// Of all but pairs of a value and an index.
fn told_bytes(datatype: Word) -> Option<u64> {
    (datatype >> 24 == 0x4c).then_some(datatype as u64 >> 8 & 0xff)
}

#[rustfmt::skip]
const DATATYPES: &[Word] = &[
    0x4c000101, 0x4c000118, 0x4c000102, 0x4c00010d, 0x4c00040e, 0x4c000203, 0x4c000204, 0x4c000405, 0x4c000406,
    0x4c000807, 0x4c000808, 0x4c00040a, 0x4c00080b, 0x4c00100c, 0x4c000809, 0x4c000819, 0x4c00010f, 0x8c000000,
    0x8c000001, 0x8c000002, 0x8c000003, 0x4c000816, 0x8c000004, 0x4c00081e, 0x4c001022, 0x4c00041d, 0x4c00041c,
    0x4c00081f, 0x4c00041b, 0x4c000820, 0x4c000821, 0x4c001023, 0x4c00011a, 0x4c000427, 0x4c000829, 0x4c00102b,
    0x4c000828, 0x4c00102a, 0x4c00202c, 0x4c00012d, 0x4c00022f, 0x4c000430, 0x4c000831, 0x4c000137, 0x4c000238,
    0x4c000439, 0x4c00083a, 0x4c00013b, 0x4c00023c, 0x4c00043d, 0x4c00083e, 0x4c00013f, 0x4c000840, 0x4c001041,
    0x4c002042, 0x4c000843, 0x4c000844, 0x4c000845, 0x4c000133, 0x4c000834, 0x4c001035, 0x4c002036,
];
