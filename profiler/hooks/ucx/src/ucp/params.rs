//! A copy of the program's `ucp_request_param_t` in which ours may be written.

use std::mem::MaybeUninit;

use crate::abi::ucp::{RequestParam, attribute};

/// Flags of fields that came later than the first.
const LATER: u32 = attribute::MEMORY_TYPE
    | attribute::RECV_INFO
    | attribute::MEMH
    | attribute::REMOTE_DATATYPE
    | attribute::REMOTE
    | attribute::REMOTE_COUNT;

/// Those flags that are known. What a newer one asks for is passed on as it is, and not seen.
const KNOWN: u32 = LATER
    | attribute::REQUEST
    | attribute::CALLBACK
    | attribute::USER_DATA
    | attribute::DATATYPE
    | attribute::FLAGS
    | attribute::REPLY_BUFFER
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

/// Reads of it what every version has, and of the rest what the mask names: what that does not name stays unset, and is not read by anyone
/// either. False where it asks for what is not known.
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
        macro_rules! fields {
            ($($field:ident)*) => { $((*to).$field = (*param).$field;)* };
        }
        fields!(op_attr_mask flags request callback datatype user_data reply_buffer);
        if mask & LATER != 0 {
            later(param, mask, to);
        }
    }
    true
}

#[cold]
unsafe fn later(param: *const RequestParam, mask: u32, to: *mut RequestParam) {
    macro_rules! fields {
        ($($flag:ident $field:ident)*) => {$(
            if mask & attribute::$flag != 0 {
                // SAFETY: the mask says that it is there.
                unsafe { (*to).$field = (*param).$field };
            }
        )*};
    }
    fields! {
        MEMORY_TYPE memory_type
        RECV_INFO recv_info
        MEMH memh
        REMOTE_DATATYPE remote_datatype
        REMOTE remote
        REMOTE_COUNT remote_count
    }
}
