//! One-sided atomic operations.

use std::ffi::{c_uint, c_void};

use super::functions::Function;
use super::post::{Data, To, begin};
use super::{older, wrappers};
use crate::abi::ucp::{Ep, RequestParam, Rkey, attribute};
use crate::abi::ucs::{Status, StatusPtr};
use crate::inflight::thread::Kind;

type OpNbx = unsafe extern "C-unwind" fn(Ep, c_uint, *const c_void, usize, u64, Rkey, *const RequestParam) -> StatusPtr;

unsafe fn has_no_answer(param: *const RequestParam) -> bool {
    // SAFETY: null, or the program's; every version has the mask.
    !param.is_null() && unsafe { (*param).op_attr_mask } & (attribute::REPLY_BUFFER | attribute::NO_IMM_CMPL) == 0
}

/// Functions that do one operation of so many bytes before they return.
macro_rules! at_once {
    ($($name:ident $function:ident $bytes:literal ($($argument:ident: $type:ty),*);)*) => {
        wrappers! {$(
            fn $name(ep: Ep, $($argument: $type),*) -> Status {
                |real| {
                    match begin(Function::$function, Kind::Blocking, To::Endpoint(ep)) {
                        Some(posting) => posting.status($bytes, || real(ep, $($argument),*)),
                        None => real(ep, $($argument),*),
                    }
                }
            }
        )*}
    };
}

at_once! {
    ucp_atomic_add32 AtomicAdd32 4 (add: u32, far: u64, rkey: Rkey);
    ucp_atomic_add64 AtomicAdd64 8 (add: u64, far: u64, rkey: Rkey);
    ucp_atomic_fadd32 AtomicFadd32 4 (add: u32, far: u64, rkey: Rkey, result: *mut u32);
    ucp_atomic_fadd64 AtomicFadd64 8 (add: u64, far: u64, rkey: Rkey, result: *mut u64);
    ucp_atomic_swap32 AtomicSwap32 4 (swap: u32, far: u64, rkey: Rkey, result: *mut u32);
    ucp_atomic_swap64 AtomicSwap64 8 (swap: u64, far: u64, rkey: Rkey, result: *mut u64);
    ucp_atomic_cswap32 AtomicCswap32 4 (compare: u32, swap: u32, far: u64, rkey: Rkey, result: *mut u32);
    ucp_atomic_cswap64 AtomicCswap64 8 (compare: u64, swap: u64, far: u64, rkey: Rkey, result: *mut u64);
}

wrappers! {
    fn ucp_atomic_post(ep: Ep, opcode: c_uint, value: u64, bytes: usize, far: u64, rkey: Rkey) -> Status {
        |real| {
            match begin(Function::AtomicPost, Kind::Post, To::Endpoint(ep)) {
                // It tells not whether it goes on, so it is remembered as if it did.
                Some(posting) => posting.status(bytes as u64, || real(ep, opcode, value, bytes, far, rkey)),
                None => real(ep, opcode, value, bytes, far, rkey),
            }
        }
    }

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
            match begin(Function::AtomicOpNbx, Kind::Post, To::Endpoint(ep)) {
                // The library itself lets go of its request then, and forgets the callback.
                Some(posting) if has_no_answer(param) => posting.unchanged(Data { buffer, count }, param, || {
                    real(ep, opcode, buffer, count, far, rkey, param)
                }),
                Some(posting) => posting.request(Data { buffer, count }, param, |param| {
                    real(ep, opcode, buffer, count, far, rkey, param)
                }),
                None => real(ep, opcode, buffer, count, far, rkey, param),
            }
        }
    }

    fn ucp_atomic_fetch_nb(
        ep: Ep,
        opcode: c_uint,
        value: u64,
        result: *mut c_void,
        bytes: usize,
        far: u64,
        rkey: Rkey,
        callback: usize,
    ) -> StatusPtr {
        |real| {
            let newer = real!(Ucp, ucp_atomic_op_nbx, OpNbx);
            let (Some(newer), Some(posting)) = (newer, begin(Function::AtomicFetchNb, Kind::Post, To::Endpoint(ep))) else {
                return real(ep, opcode, value, result, bytes, far, rkey, callback);
            };
            let param = older::fetch(bytes, result, callback);
            let buffer = (&raw const value).cast::<c_void>();
            posting.request(Data { buffer, count: 1 }, &raw const param, |param| {
                newer(ep, opcode, buffer, 1, far, rkey, param)
            })
        }
    }
}
