//! What is known of an ABI family. `tests/abi.rs` compares them with every installed `mpi.h`.

use std::ffi::{CStr, c_int};

/// A handle, pointer or address in the register or stack slot in which a C caller passes it. Of an `int` handle only the
/// lower half is defined.
pub type Word = usize;

/// One ABI family.
#[derive(Clone, Copy)]
pub struct Family {
    /// The number of the family in a shard's header.
    pub id: u32,
    pub handle_bytes: usize,
    pub world: Handle,
    pub comm_self: Handle,
    pub comm_null: Handle,
    pub request_null: Handle,
    pub shared_requests: SharedRequests,
    pub errors_return: Handle,
    pub info_null: Handle,
    pub datatype_null: Handle,
    pub byte: Handle,
    pub no_op: Handle,
    pub proc_null: c_int,
    pub root: c_int,
    pub undefined: c_int,
    pub in_place: Word,
    pub status_ignore: Word,
    pub status: Status,
    /// `MPI_THREAD_SINGLE` to `MPI_THREAD_MULTIPLE`.
    pub thread_levels: [c_int; 4],
    pub err_in_status: c_int,
    pub cart: c_int,
    pub graph: c_int,
    pub dist_graph: c_int,
    pub datatypes: Datatypes,
    /// The Fortran layer calls `MPI_` functions, not `PMPI_` ones.
    pub fortran_calls_c: bool,
    pub combiners: Combiners,
}

/// How datatypes are built: the values of `MPI_COMBINER_…`, with the rest of the constant's name in small letters. Those of
/// another library's version or of MPI-1 only are left out.
pub type Combiners = &'static [(c_int, &'static str)];

/// A predefined handle: a constant, or the address of an object that the library exports.
#[derive(Clone, Copy)]
pub enum Handle {
    Value(Word),
    Symbol(&'static CStr),
}

/// Handles that the library gives to all requests that are complete at once, as far as they are known. Nothing that is counted depends on it.
#[derive(Clone, Copy)]
pub enum SharedRequests {
    Unknown,
    /// Objects that the library exports; its version may lack some.
    Symbols([&'static CStr; SHARED_REQUESTS]),
    /// Those with this value in these bits.
    Bits {
        mask: Word,
        value: Word,
    },
}

pub const SHARED_REQUESTS: usize = 2;

/// The predefined datatypes, which are never freed, so that their sizes can be kept.
#[derive(Clone, Copy)]
pub enum Datatypes {
    Values {
        handles: &'static [Word],
        /// The size that a handle tells by itself. It may be that of a datatype which the library does not have; to ask for that may end the
        /// program, whatever its error handlers are (Intel MPI 2021.19, standard ABI).
        told_bytes: fn(Word) -> Option<u64>,
    },
    Symbols(&'static [&'static CStr]),
}

/// Where things stand in `MPI_Status`, in bytes.
#[derive(Clone, Copy)]
pub struct Status {
    pub bytes: usize,
    pub error: usize,
    pub count: Count,
    /// Where most statuses hold the bytes that arrived, in eight bytes, and the word that is 0 in those; no such place where only the
    /// library knows.
    pub usual_count: usize,
    pub unusual: usize,
}

/// No place: added to an address, it is one that no program has.
pub const NOWHERE: usize = 1 << (usize::BITS - 1);

impl Status {
    pub const fn new(bytes: usize, error: usize, count: Count) -> Status {
        let (usual_count, unusual) = match count {
            Count::Size { count, cancelled } => (count, cancelled),
            // Where the upper half is 0, both together are the lower one.
            Count::Halves { low, high } if cfg!(target_endian = "little") && high == low + 4 => (low, high),
            Count::Halves { .. } | Count::Opaque => (NOWHERE, NOWHERE),
        };
        Status { bytes, error, count, usual_count, unusual }
    }
}

/// Where a status holds the bytes that arrived.
#[derive(Clone, Copy)]
pub enum Count {
    /// A `size_t` (Open MPI's `_ucount`) with the flag for cancellation, an `int`, in front of it.
    Size { count: usize, cancelled: usize },
    /// Two `int`: the lower 32 bits; and the upper ones, shifted left by one, with the flag for cancellation in bit 0.
    Halves { low: usize, high: usize },
    /// Only the library knows: `MPI_Get_elements_x` in units of `MPI_BYTE`.
    Opaque,
}
