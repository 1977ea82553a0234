//! `ucs/type/status.h`.

use std::ffi::c_void;

/// `ucs_status_t`, a packed enumeration of one byte.
pub type Status = i8;

pub const OK: Status = 0;
pub const INPROGRESS: Status = 1;
pub const ERR_UNSUPPORTED: Status = -22;
/// Pointers from here on are errors.
const ERR_LAST: isize = -100;

/// `ucs_status_ptr_t`: null for done, an error, or a request.
pub type StatusPtr = *mut c_void;

pub fn as_pointer(status: Status) -> StatusPtr {
    status as isize as StatusPtr
}

#[inline(always)]
pub fn is_error(returned: StatusPtr) -> bool {
    returned as usize >= ERR_LAST as usize
}

/// `UCS_PTR_STATUS`.
pub fn status_of(returned: StatusPtr) -> Status {
    if returned.is_null() || is_error(returned) { returned as isize as Status } else { INPROGRESS }
}
