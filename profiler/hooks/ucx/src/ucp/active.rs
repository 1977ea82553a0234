//! Active messages, by which some MPI libraries do what has no tag.

use std::ffi::{c_uint, c_void};
use std::ptr::null;

use super::datatype::Data;
use super::older;
use super::post::{To, request};
use super::posts::{older_posts, posts};
use crate::abi::ucp::{Datatype, Ep, RequestParam, Worker};
use crate::abi::ucs::StatusPtr;
use crate::module::functions::Function;
use crate::wrapper::wrappers;

type SendNbx = unsafe extern "C-unwind" fn(
    Ep,
    c_uint,
    *const c_void,
    usize,
    *const c_void,
    usize,
    *const RequestParam,
) -> StatusPtr;

posts! {
    fn ucp_am_send_nbx(
        ep: Ep, id: c_uint, header: *const c_void, header_length: usize, buffer: *const c_void, count: usize; param
    ) on Endpoint(ep), of buffer, count, + header_length;
    fn ucp_am_recv_data_nbx(worker: Worker, descriptor: *mut c_void, buffer: *mut c_void, count: usize; param)
        on Worker(worker), of buffer, count;
}

older_posts! {
    fn ucp_am_send_nb(
        ep: Ep, id: u16, buffer: *const c_void, count: usize, datatype: Datatype, callback: usize, flags: c_uint,
    ) as ucp_am_send_nbx(
            ep, c_uint::from(id), null(), 0, buffer, count; older::active(datatype, callback, flags)
        ): SendNbx,
        on Endpoint(ep), of buffer, count;
}
