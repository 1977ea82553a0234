//! `ucp/api/ucp.h`: what is the same from UCX 1.11 on, and what came later, by its flags.

use std::ffi::{c_uint, c_void};

use super::ucs::Status;

pub type Context = *mut c_void;
pub type Worker = *mut c_void;
pub type Ep = *mut c_void;
pub type Rkey = *mut c_void;
pub type Message = *mut c_void;
pub type Address = *mut c_void;
pub type Tag = u64;
pub type Datatype = u64;

/// `ucp_op_attr_t`.
pub mod attribute {
    pub const REQUEST: u32 = 1 << 0;
    pub const CALLBACK: u32 = 1 << 1;
    pub const USER_DATA: u32 = 1 << 2;
    pub const DATATYPE: u32 = 1 << 3;
    pub const FLAGS: u32 = 1 << 4;
    pub const REPLY_BUFFER: u32 = 1 << 5;
    pub const MEMORY_TYPE: u32 = 1 << 6;
    pub const RECV_INFO: u32 = 1 << 7;
    /// From UCX 1.13 on.
    pub const MEMH: u32 = 1 << 8;
    /// These three from UCX 1.22 on.
    pub const REMOTE_DATATYPE: u32 = 1 << 9;
    pub const REMOTE: u32 = 1 << 10;
    pub const REMOTE_COUNT: u32 = 1 << 11;
    pub const NO_IMM_CMPL: u32 = 1 << 16;
    pub const FAST_CMPL: u32 = 1 << 17;
    pub const FORCE_IMM_CMPL: u32 = 1 << 18;
    pub const MULTI_SEND: u32 = 1 << 19;
}

/// `ucp_request_param_t` in its longest form. A program that was built with an older header has a shorter one: of what came
/// later only what the mask names may be read (`ucp/params.rs`).
#[derive(Clone, Copy)]
#[repr(C)]
pub struct RequestParam {
    pub op_attr_mask: u32,
    pub flags: u32,
    pub request: *mut c_void,
    pub callback: usize,
    pub datatype: Datatype,
    pub user_data: *mut c_void,
    pub reply_buffer: *mut c_void,
    pub memory_type: u32,
    pub recv_info: *mut c_void,
    pub memh: *mut c_void,
    pub remote_datatype: Datatype,
    pub remote: *const c_void,
    pub remote_count: usize,
}

/// Of `ucp_send_am_flags`.
pub const AM_SEND_FLAG_EAGER: u32 = 1 << 1;

/// `ucp_tag_recv_info_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TagRecvInfo {
    pub sender_tag: Tag,
    pub length: usize,
}

/// `ucp_send_nbx_callback_t`; the older `ucp_send_callback_t` has no last argument.
pub type SendCallback = unsafe extern "C-unwind" fn(request: *mut c_void, status: Status, user_data: *mut c_void);
/// `ucp_tag_recv_nbx_callback_t`, and `ucp_tag_recv_callback_t` without the last argument.
pub type TagRecvCallback =
    unsafe extern "C-unwind" fn(request: *mut c_void, status: Status, info: *const TagRecvInfo, user_data: *mut c_void);
/// `ucp_am_recv_data_nbx_callback_t`.
pub type LengthCallback =
    unsafe extern "C-unwind" fn(request: *mut c_void, status: Status, length: usize, user_data: *mut c_void);

/// `ucp_dt_type`: the lowest bits of a datatype.
pub const DATATYPE_SHIFT: u32 = 3;
pub const DATATYPE_CONTIG: u64 = 0;
pub const DATATYPE_IOV: u64 = 2;
pub const DATATYPE_GENERIC: u64 = 7;

/// `ucp_dt_iov_t`.
#[repr(C)]
pub struct DatatypeIov {
    pub buffer: *mut c_void,
    pub length: usize,
}

/// `ucp_generic_dt_ops_t`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct GenericDatatypeOps {
    pub start_pack: usize,
    pub start_unpack: usize,
    pub packed_size: Option<unsafe extern "C-unwind" fn(state: *mut c_void) -> usize>,
    pub pack: usize,
    pub unpack: usize,
    pub finish: usize,
}

/// The beginning of `ucp_ep_params_t`.
#[repr(C)]
pub struct EpParams {
    pub field_mask: u64,
    pub address: Address,
}

pub const EP_PARAM_FIELD_REMOTE_ADDRESS: u64 = 1;

/// The beginning of `ucp_context_attr_t`.
#[repr(C)]
pub struct ContextAttr {
    pub field_mask: u64,
    pub request_size: usize,
    /// Not asked for.
    pub rest: [u64; 16],
}

pub const ATTR_FIELD_REQUEST_SIZE: u64 = 1;

/// `ucp_worker_address_attr_t`, from UCX 1.12 on.
#[repr(C)]
pub struct WorkerAddressAttr {
    pub field_mask: u64,
    pub worker_uid: u64,
}

pub const WORKER_ADDRESS_ATTR_FIELD_UID: u64 = 1;

pub type GetVersion = unsafe extern "C-unwind" fn(major: *mut c_uint, minor: *mut c_uint, release: *mut c_uint);
pub type ContextQuery = unsafe extern "C-unwind" fn(context: Context, attr: *mut ContextAttr) -> Status;
pub type WorkerGetAddress =
    unsafe extern "C-unwind" fn(worker: Worker, address: *mut Address, length: *mut usize) -> Status;
pub type WorkerReleaseAddress = unsafe extern "C-unwind" fn(worker: Worker, address: Address);
pub type WorkerAddressQuery = unsafe extern "C-unwind" fn(address: Address, attr: *mut WorkerAddressAttr) -> Status;
