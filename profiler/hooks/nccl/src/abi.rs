//! What NCCL's header declares, as far as it is needed here. The kin have the same, but for what [`crate::library::Vendor`] tells.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// `ncclResult_t`.
pub type Code = c_int;
/// `ncclComm_t`.
pub type Handle = *mut c_void;
/// `cudaStream_t`.
pub type Stream = *mut c_void;

pub const SUCCESS: Code = 0;
/// `ncclInvalidUsage`: what a function returns that the library does not have.
pub const INVALID_USAGE: Code = 5;
/// `NCCL_SPLIT_NOCOLOR`.
pub const NO_COLOR: c_int = -1;

/// `ncclUniqueId`, and `onecclUniqueId`, which is larger.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct UniqueId<const BYTES: usize>(pub [u8; BYTES]);

pub const ID_BYTES: usize = 128;
pub const ONECCL_ID_BYTES: usize = 4096;

/// The bytes of an element of `ncclDataType_t`; 0 for one that is not known. RCCL and oneCCL number them alike.
pub fn element_bytes(datatype: c_int) -> u64 {
    const BYTES: [u8; 12] = [1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1];
    usize::try_from(datatype).ok().and_then(|place| BYTES.get(place)).map_or(0, |bytes| u64::from(*bytes))
}

/// The begin of `ncclConfig_t`, which grows at its end: so much of it is there since NCCL 2.27.
#[repr(C)]
pub struct Config {
    pub size: usize,
    pub magic: c_uint,
    pub version: c_uint,
    pub blocking: c_int,
    pub cga_cluster_size: c_int,
    pub min_ctas: c_int,
    pub max_ctas: c_int,
    pub net_name: *const c_char,
    pub split_share: c_int,
    pub traffic_class: c_int,
    pub comm_name: *const c_char,
}

/// `NCCL_API_MAGIC`.
pub const MAGIC: c_uint = 0xcafe_beef;
/// The first version with `commName`, as `NCCL_VERSION` counts.
pub const FIRST_WITH_NAME: c_uint = 22700;
