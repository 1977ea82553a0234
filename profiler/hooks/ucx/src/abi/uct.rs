//! `uct/api/uct.h` and `uct/api/tl.h`.

use std::ffi::{c_char, c_int, c_uint, c_void};

use super::ucs::Status;

pub type Md = *mut c_void;
pub type Worker = *mut c_void;
pub type Rkey = usize;
pub type Tag = u64;

/// The functions of an interface: as many in UCX 1.11 to 1.22, in the same order.
pub const TABLE_WORDS: usize = 50;

/// `uct_iface_t`: its table of operations comes first, by value.
#[repr(C)]
pub struct Iface {
    pub table: [usize; TABLE_WORDS],
}

/// `uct_ep_t`.
#[repr(C)]
pub struct Ep {
    pub iface: *mut Iface,
}

/// `uct_completion_t`.
#[repr(C)]
pub struct Completion {
    pub func: Option<unsafe extern "C-unwind" fn(completion: *mut Completion)>,
    pub count: c_int,
    pub status: Status,
}

/// `uct_iov_t`.
#[repr(C)]
pub struct Iov {
    pub buffer: *mut c_void,
    pub length: usize,
    pub memh: *mut c_void,
    pub stride: usize,
    pub count: c_uint,
}

/// The beginning of `uct_iface_params_t`.
#[repr(C)]
pub struct IfaceParams {
    pub field_mask: u64,
    pub cpu_mask: [u8; 128],
    pub open_mode: u64,
    pub tl_name: *const c_char,
    pub dev_name: *const c_char,
}

pub const IFACE_PARAM_FIELD_OPEN_MODE: u64 = 1 << 1;
pub const IFACE_PARAM_FIELD_DEVICE: u64 = 1 << 2;
pub const IFACE_OPEN_MODE_DEVICE: u64 = 1;

/// `uct_tl_resource_desc_t`.
#[repr(C)]
pub struct TlResource {
    pub tl_name: [c_char; 10],
    pub dev_name: [c_char; 32],
    pub dev_type: u32,
    pub sys_device: u8,
}

/// `uct_device_type_t`.
pub const DEVICE_TYPES: [&str; 4] = ["network", "memory", "gpu", "self"];

pub const AM_ID_MAX: usize = 32;

/// `uct_pack_callback_t`.
pub type Pack = unsafe extern "C-unwind" fn(dest: *mut c_void, arg: *mut c_void) -> usize;
/// `uct_unpack_callback_t`.
pub type Unpack = unsafe extern "C-unwind" fn(arg: *mut c_void, data: *const c_void, length: usize);
/// `uct_am_callback_t`.
pub type AmCallback =
    unsafe extern "C-unwind" fn(arg: *mut c_void, data: *mut c_void, length: usize, flags: c_uint) -> Status;
