//! Messages with tags: point-to-point and collective calls of MPI.

use std::ffi::c_void;

use super::datatype::Data;
use super::older;
use super::post::{To, request};
use super::posts::{older_posts, posts};
use crate::abi::ucp::{Datatype, Ep, Message, RequestParam, Tag, Worker};
use crate::abi::ucs::{self, Status, StatusPtr};
use crate::module::functions::Function;
use crate::wrapper::wrappers;

type SendNbx = unsafe extern "C-unwind" fn(Ep, *const c_void, usize, Tag, *const RequestParam) -> StatusPtr;
type RecvNbx = unsafe extern "C-unwind" fn(Worker, *mut c_void, usize, Tag, Tag, *const RequestParam) -> StatusPtr;
type MsgRecvNbx = unsafe extern "C-unwind" fn(Worker, *mut c_void, usize, Message, *const RequestParam) -> StatusPtr;

posts! {
    fn ucp_tag_send_nbx(ep: Ep, buffer: *const c_void, count: usize, tag: Tag; param)
        on Endpoint(ep), of buffer, count;
    fn ucp_tag_send_sync_nbx(ep: Ep, buffer: *const c_void, count: usize, tag: Tag; param)
        on Endpoint(ep), of buffer, count;
    fn ucp_tag_recv_nbx(worker: Worker, buffer: *mut c_void, count: usize, tag: Tag, mask: Tag; param)
        on Worker(worker), of buffer, count;
    fn ucp_tag_msg_recv_nbx(worker: Worker, buffer: *mut c_void, count: usize, message: Message; param)
        on Worker(worker), of buffer, count;
}

older_posts! {
    fn ucp_tag_send_nb(ep: Ep, buffer: *const c_void, count: usize, datatype: Datatype, tag: Tag, callback: usize)
        as ucp_tag_send_nbx(ep, buffer, count, tag; older::send(datatype, callback)): SendNbx,
        on Endpoint(ep), of buffer, count;
    fn ucp_tag_send_sync_nb(ep: Ep, buffer: *const c_void, count: usize, datatype: Datatype, tag: Tag, callback: usize)
        as ucp_tag_send_sync_nbx(ep, buffer, count, tag; older::send(datatype, callback)): SendNbx,
        on Endpoint(ep), of buffer, count;
    fn ucp_tag_send_nbr(
        ep: Ep, buffer: *const c_void, count: usize, datatype: Datatype, tag: Tag, request: *mut c_void,
    ) -> Status | ucs::status_of;
        as ucp_tag_send_nbx(ep, buffer, count, tag; older::send_with_request(datatype, request)): SendNbx,
        on Endpoint(ep), of buffer, count;
    fn ucp_tag_recv_nb(
        worker: Worker, buffer: *mut c_void, count: usize, datatype: Datatype, tag: Tag, mask: Tag, callback: usize,
    ) as ucp_tag_recv_nbx(worker, buffer, count, tag, mask; older::receive(datatype, callback)): RecvNbx,
        on Worker(worker), of buffer, count;
    fn ucp_tag_recv_nbr(
        worker: Worker, buffer: *mut c_void, count: usize, datatype: Datatype, tag: Tag, mask: Tag, request: *mut c_void,
    ) -> Status | is_posted;
        as ucp_tag_recv_nbx(worker, buffer, count, tag, mask; older::receive_with_request(datatype, request)): RecvNbx,
        on Worker(worker), of buffer, count;
    fn ucp_tag_msg_recv_nb(
        worker: Worker, buffer: *mut c_void, count: usize, datatype: Datatype, message: Message, callback: usize,
    ) as ucp_tag_msg_recv_nbx(worker, buffer, count, message; older::receive(datatype, callback)): MsgRecvNbx,
        on Worker(worker), of buffer, count;
}

/// Unlike a send with the program's request, a receive does not tell whether it is done.
fn is_posted(returned: StatusPtr) -> Status {
    if ucs::is_error(returned) { ucs::status_of(returned) } else { ucs::OK }
}
