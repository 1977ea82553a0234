//! Streams. What arrives by them has no messages and is not counted above; below it is.

use std::ffi::{c_uint, c_void};

use super::datatype::Data;
use super::older;
use super::post::{To, request};
use super::posts::{older_posts, posts};
use crate::abi::ucp::{Datatype, Ep, RequestParam};
use crate::abi::ucs::StatusPtr;
use crate::module::functions::Function;
use crate::wrapper::wrappers;

type SendNbx = unsafe extern "C-unwind" fn(Ep, *const c_void, usize, *const RequestParam) -> StatusPtr;

posts! {
    fn ucp_stream_send_nbx(ep: Ep, buffer: *const c_void, count: usize; param) on Endpoint(ep), of buffer, count;
}

older_posts! {
    fn ucp_stream_send_nb(
        ep: Ep, buffer: *const c_void, count: usize, datatype: Datatype, callback: usize, flags: c_uint,
    ) as ucp_stream_send_nbx(ep, buffer, count; older::stream(datatype, callback, flags)): SendNbx,
        on Endpoint(ep), of buffer, count;
}
