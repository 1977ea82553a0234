//! A copy of the program's `ucp_request_param_t` in which ours may be written.

use std::mem::MaybeUninit;

use crate::abi::ucp::{RequestParam, attribute};

/// Those flags that are known. What a newer one asks for is passed on as it is, and not seen.
const KNOWN: u32 = attribute::REQUEST
    | attribute::CALLBACK
    | attribute::USER_DATA
    | attribute::DATATYPE
    | attribute::FLAGS
    | attribute::REPLY_BUFFER
    | attribute::MEMORY_TYPE
    | attribute::RECV_INFO
    | attribute::MEMH
    | attribute::REMOTE_DATATYPE
    | attribute::REMOTE
    | attribute::REMOTE_COUNT
    | attribute::NO_IMM_CMPL
    | attribute::FAST_CMPL
    | attribute::FORCE_IMM_CMPL
    | attribute::MULTI_SEND;

pub const EMPTY: RequestParam = RequestParam {
    op_attr_mask: 0,
    flags: 0,
    request: std::ptr::null_mut(),
    callback: 0,
    datatype: 0,
    user_data: std::ptr::null_mut(),
    reply_buffer: std::ptr::null_mut(),
    memory_type: 0,
    recv_info: std::ptr::null_mut(),
    memh: std::ptr::null_mut(),
    remote_datatype: 0,
    remote: std::ptr::null(),
    remote_count: 0,
};

/// Reads of it what every version has, and of the rest what the mask names. False where it asks for what is not known.
///
/// # Safety
/// Null, or what a program gives to UCX.
#[inline(always)]
pub unsafe fn copy(param: *const RequestParam, copy: &mut MaybeUninit<RequestParam>) -> bool {
    if param.is_null() {
        return false;
    }
    let to = copy.as_mut_ptr();
    // SAFETY: fields are read through the pointer one by one, since what it points to may be shorter.
    unsafe {
        let mask = (*param).op_attr_mask;
        if mask & !KNOWN != 0 {
            return false;
        }
        (*to).op_attr_mask = mask;
        (*to).flags = (*param).flags;
        (*to).request = (*param).request;
        (*to).callback = (*param).callback;
        (*to).datatype = (*param).datatype;
        (*to).user_data = (*param).user_data;
        (*to).reply_buffer = (*param).reply_buffer;
        if mask & (attribute::MEMORY_TYPE | attribute::RECV_INFO | attribute::MEMH) != 0 {
            later(param, mask, to);
        }
        if mask & (attribute::REMOTE_DATATYPE | attribute::REMOTE | attribute::REMOTE_COUNT) != 0 {
            latest(param, mask, to);
        }
    }
    true
}

/// What is not named stays unset, and is not read by anyone either.
unsafe fn later(param: *const RequestParam, mask: u32, to: *mut RequestParam) {
    // SAFETY: the mask says that they are there.
    unsafe {
        if mask & attribute::MEMORY_TYPE != 0 {
            (*to).memory_type = (*param).memory_type;
        }
        if mask & attribute::RECV_INFO != 0 {
            (*to).recv_info = (*param).recv_info;
        }
        if mask & attribute::MEMH != 0 {
            (*to).memh = (*param).memh;
        }
    }
}

#[cold]
unsafe fn latest(param: *const RequestParam, mask: u32, to: *mut RequestParam) {
    // SAFETY: as above.
    unsafe {
        if mask & attribute::REMOTE_DATATYPE != 0 {
            (*to).remote_datatype = (*param).remote_datatype;
        }
        if mask & attribute::REMOTE != 0 {
            (*to).remote = (*param).remote;
        }
        if mask & attribute::REMOTE_COUNT != 0 {
            (*to).remote_count = (*param).remote_count;
        }
    }
}
