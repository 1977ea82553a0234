//! One-sided reads and writes.

use std::ffi::c_void;

use super::datatype::Data;
use super::older;
use super::post::{To, request, status};
use super::posts::{older_posts, posts, status_posts};
use crate::abi::ucp::{Ep, RequestParam, Rkey};
use crate::abi::ucs::{Status, StatusPtr};
use crate::module::functions::Function;
use crate::wrapper::wrappers;

type PutNbx = unsafe extern "C-unwind" fn(Ep, *const c_void, usize, u64, Rkey, *const RequestParam) -> StatusPtr;
type GetNbx = unsafe extern "C-unwind" fn(Ep, *mut c_void, usize, u64, Rkey, *const RequestParam) -> StatusPtr;

posts! {
    fn ucp_put_nbx(ep: Ep, buffer: *const c_void, count: usize, far: u64, rkey: Rkey; param)
        on Endpoint(ep), of buffer, count;
    fn ucp_get_nbx(ep: Ep, buffer: *mut c_void, count: usize, far: u64, rkey: Rkey; param)
        on Endpoint(ep), of buffer, count;
}

older_posts! {
    fn ucp_put_nb(ep: Ep, buffer: *const c_void, count: usize, far: u64, rkey: Rkey, callback: usize)
        as ucp_put_nbx(ep, buffer, count, far, rkey; older::plain(callback)): PutNbx,
        on Endpoint(ep), of buffer, count;
    fn ucp_get_nb(ep: Ep, buffer: *mut c_void, count: usize, far: u64, rkey: Rkey, callback: usize)
        as ucp_get_nbx(ep, buffer, count, far, rkey; older::plain(callback)): GetNbx,
        on Endpoint(ep), of buffer, count;
}

status_posts! {
    fn ucp_put(ep: Ep, buffer: *const c_void, bytes: usize, far: u64, rkey: Rkey) on Endpoint(ep), of bytes;
    fn ucp_get(ep: Ep, buffer: *mut c_void, bytes: usize, far: u64, rkey: Rkey) on Endpoint(ep), of bytes;
    fn ucp_put_nbi(ep: Ep, buffer: *const c_void, bytes: usize, far: u64, rkey: Rkey)
        on Endpoint(ep), of bytes, from buffer and far;
    fn ucp_get_nbi(ep: Ep, buffer: *mut c_void, bytes: usize, far: u64, rkey: Rkey)
        on Endpoint(ep), of bytes, from buffer and far;
}
