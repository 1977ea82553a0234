//! One-sided atomic operations.

use std::ffi::{c_uint, c_void};

use super::datatype::Data;
use super::older;
use super::post::{To, request, status, unchanged};
use super::posts::{older_posts, status_posts};
use crate::abi::ucp::{Ep, RequestParam, Rkey, attribute};
use crate::abi::ucs::{Status, StatusPtr};
use crate::module::functions::Function;
use crate::wrapper::wrappers;

type OpNbx = unsafe extern "C-unwind" fn(Ep, c_uint, *const c_void, usize, u64, Rkey, *const RequestParam) -> StatusPtr;

unsafe fn has_no_answer(param: *const RequestParam) -> bool {
    // SAFETY: null, or the program's; every version has the mask.
    !param.is_null() && unsafe { (*param).op_attr_mask } & (attribute::REPLY_BUFFER | attribute::NO_IMM_CMPL) == 0
}

status_posts! {
    // It tells not whether it goes on.
    fn ucp_atomic_post(ep: Ep, opcode: c_uint, value: u64, bytes: usize, far: u64, rkey: Rkey)
        on Endpoint(ep), of bytes;
    fn ucp_atomic_add32(ep: Ep, add: u32, far: u64, rkey: Rkey) on Endpoint(ep), of 4;
    fn ucp_atomic_add64(ep: Ep, add: u64, far: u64, rkey: Rkey) on Endpoint(ep), of 8;
    fn ucp_atomic_fadd32(ep: Ep, add: u32, far: u64, rkey: Rkey, result: *mut u32) on Endpoint(ep), of 4;
    fn ucp_atomic_fadd64(ep: Ep, add: u64, far: u64, rkey: Rkey, result: *mut u64) on Endpoint(ep), of 8;
    fn ucp_atomic_swap32(ep: Ep, swap: u32, far: u64, rkey: Rkey, result: *mut u32) on Endpoint(ep), of 4;
    fn ucp_atomic_swap64(ep: Ep, swap: u64, far: u64, rkey: Rkey, result: *mut u64) on Endpoint(ep), of 8;
    fn ucp_atomic_cswap32(ep: Ep, compare: u32, swap: u32, far: u64, rkey: Rkey, result: *mut u32)
        on Endpoint(ep), of 4;
    fn ucp_atomic_cswap64(ep: Ep, compare: u64, swap: u64, far: u64, rkey: Rkey, result: *mut u64)
        on Endpoint(ep), of 8;
}

older_posts! {
    fn ucp_atomic_fetch_nb(
        ep: Ep, opcode: c_uint, value: u64, result: *mut c_void, bytes: usize, far: u64, rkey: Rkey, callback: usize,
    ) as ucp_atomic_op_nbx(
            ep, opcode, (&raw const value).cast(), 1, far, rkey; older::fetch(bytes, result, callback)
        ): OpNbx,
        on Endpoint(ep), of &raw const value, 1;
}

wrappers! { Ucp:
    fn ucp_atomic_op_nbx(
        ep: Ep,
        opcode: c_uint,
        buffer: *const c_void,
        count: usize,
        far: u64,
        rkey: Rkey,
        param: *const RequestParam,
    ) -> StatusPtr {
        |real| {
            let (function, to) = (Function::ucp_atomic_op_nbx, To::Endpoint(ep));
            let data = Data { buffer, count, more_bytes: 0 };
            if has_no_answer(param) {
                // The library itself lets go of its request then, and forgets the callback.
                unchanged(function, to, data, param, &mut || real(ep, opcode, buffer, count, far, rkey, param))
            } else {
                request(function, to, data, param, &mut |param| real(ep, opcode, buffer, count, far, rkey, param))
            }
        }
    }
}
