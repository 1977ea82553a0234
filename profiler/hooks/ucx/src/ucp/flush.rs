//! Waiting until one-sided operations are complete.

use std::ffi::{c_uint, c_void};
use std::ptr::null;

use super::datatype::Data;
use super::older;
use super::post::{To, request, status};
use super::posts::{older_posts, posts, status_posts};
use crate::abi::ucp::{Ep, RequestParam, Worker};
use crate::abi::ucs::{Status, StatusPtr};
use crate::module::functions::Function;
use crate::wrapper::wrappers;

type FlushNbx = unsafe extern "C-unwind" fn(*mut c_void, *const RequestParam) -> StatusPtr;

const NOTHING: *const c_void = null();

posts! {
    fn ucp_ep_flush_nbx(ep: Ep; param) on Endpoint(ep), of NOTHING, 0;
    fn ucp_worker_flush_nbx(worker: Worker; param) on Worker(worker), of NOTHING, 0;
}

older_posts! {
    fn ucp_ep_flush_nb(ep: Ep, flags: c_uint, callback: usize)
        as ucp_ep_flush_nbx(ep; older::plain(callback)): FlushNbx,
        on Endpoint(ep), of NOTHING, 0;
    fn ucp_worker_flush_nb(worker: Worker, flags: c_uint, callback: usize)
        as ucp_worker_flush_nbx(worker; older::plain(callback)): FlushNbx,
        on Worker(worker), of NOTHING, 0;
}

status_posts! {
    fn ucp_ep_flush(ep: Ep) on Endpoint(ep), of 0;
    fn ucp_worker_flush(worker: Worker) on Worker(worker), of 0;
}
