//! Messages with tags: point-to-point and collective calls of MPI.

use std::ffi::c_void;

use super::functions::Function;
use super::post::{Data, begin};
use super::{older, wrappers};
use crate::abi::ucp::{Datatype, Ep, Message, RequestParam, Tag, Worker};
use crate::abi::ucs::{self, Status, StatusPtr};
use crate::inflight::endpoints;
use crate::inflight::thread::Kind;
use crate::inflight::workers;

type SendNbx = unsafe extern "C-unwind" fn(Ep, *const c_void, usize, Tag, *const RequestParam) -> StatusPtr;
type RecvNbx = unsafe extern "C-unwind" fn(Worker, *mut c_void, usize, Tag, Tag, *const RequestParam) -> StatusPtr;
type MsgRecvNbx = unsafe extern "C-unwind" fn(Worker, *mut c_void, usize, Message, *const RequestParam) -> StatusPtr;

wrappers! {
    fn ucp_tag_send_nbx(ep: Ep, buffer: *const c_void, count: usize, tag: Tag, param: *const RequestParam) -> StatusPtr {
        |real| {
            match begin(Function::TagSendNbx, Kind::Post, || endpoints::of(ep)) {
                Some(posting) => posting.request(Data { buffer, count }, param, |param| real(ep, buffer, count, tag, param)),
                None => real(ep, buffer, count, tag, param),
            }
        }
    }

    fn ucp_tag_send_sync_nbx(ep: Ep, buffer: *const c_void, count: usize, tag: Tag, param: *const RequestParam) -> StatusPtr {
        |real| {
            match begin(Function::TagSendSyncNbx, Kind::Post, || endpoints::of(ep)) {
                Some(posting) => posting.request(Data { buffer, count }, param, |param| real(ep, buffer, count, tag, param)),
                None => real(ep, buffer, count, tag, param),
            }
        }
    }

    fn ucp_tag_send_nb(
        ep: Ep,
        buffer: *const c_void,
        count: usize,
        datatype: Datatype,
        tag: Tag,
        callback: usize,
    ) -> StatusPtr {
        |real| {
            let newer = real!(Ucp, ucp_tag_send_nbx, SendNbx);
            let (Some(newer), Some(posting)) = (newer, begin(Function::TagSendNb, Kind::Post, || endpoints::of(ep))) else {
                return real(ep, buffer, count, datatype, tag, callback);
            };
            let param = older::send(datatype, callback);
            posting.request(Data { buffer, count }, &raw const param, |param| newer(ep, buffer, count, tag, param))
        }
    }

    fn ucp_tag_send_sync_nb(
        ep: Ep,
        buffer: *const c_void,
        count: usize,
        datatype: Datatype,
        tag: Tag,
        callback: usize,
    ) -> StatusPtr {
        |real| {
            let newer = real!(Ucp, ucp_tag_send_sync_nbx, SendNbx);
            let (Some(newer), Some(posting)) = (newer, begin(Function::TagSendSyncNb, Kind::Post, || endpoints::of(ep))) else {
                return real(ep, buffer, count, datatype, tag, callback);
            };
            let param = older::send(datatype, callback);
            posting.request(Data { buffer, count }, &raw const param, |param| newer(ep, buffer, count, tag, param))
        }
    }

    fn ucp_tag_send_nbr(
        ep: Ep,
        buffer: *const c_void,
        count: usize,
        datatype: Datatype,
        tag: Tag,
        request: *mut c_void,
    ) -> Status {
        |real| {
            let newer = real!(Ucp, ucp_tag_send_nbx, SendNbx);
            let (Some(newer), Some(posting)) = (newer, begin(Function::TagSendNbr, Kind::Post, || endpoints::of(ep))) else {
                return real(ep, buffer, count, datatype, tag, request);
            };
            let param = older::send_with_request(datatype, request);
            let data = Data { buffer, count };
            ucs::status_of(posting.request(data, &raw const param, |param| newer(ep, buffer, count, tag, param)))
        }
    }

    fn ucp_tag_recv_nbx(
        worker: Worker,
        buffer: *mut c_void,
        count: usize,
        tag: Tag,
        mask: Tag,
        param: *const RequestParam,
    ) -> StatusPtr {
        |real| {
            match begin(Function::TagRecvNbx, Kind::Post, || (workers::of(worker), 0)) {
                Some(posting) => posting.request(Data { buffer, count }, param, |param| {
                    real(worker, buffer, count, tag, mask, param)
                }),
                None => real(worker, buffer, count, tag, mask, param),
            }
        }
    }

    fn ucp_tag_recv_nb(
        worker: Worker,
        buffer: *mut c_void,
        count: usize,
        datatype: Datatype,
        tag: Tag,
        mask: Tag,
        callback: usize,
    ) -> StatusPtr {
        |real| {
            let newer = real!(Ucp, ucp_tag_recv_nbx, RecvNbx);
            let of = || (workers::of(worker), 0);
            let (Some(newer), Some(posting)) = (newer, begin(Function::TagRecvNb, Kind::Post, of)) else {
                return real(worker, buffer, count, datatype, tag, mask, callback);
            };
            let param = older::receive(datatype, callback);
            posting.request(Data { buffer, count }, &raw const param, |param| {
                newer(worker, buffer, count, tag, mask, param)
            })
        }
    }

    fn ucp_tag_recv_nbr(
        worker: Worker,
        buffer: *mut c_void,
        count: usize,
        datatype: Datatype,
        tag: Tag,
        mask: Tag,
        request: *mut c_void,
    ) -> Status {
        |real| {
            let newer = real!(Ucp, ucp_tag_recv_nbx, RecvNbx);
            let of = || (workers::of(worker), 0);
            let (Some(newer), Some(posting)) = (newer, begin(Function::TagRecvNbr, Kind::Post, of)) else {
                return real(worker, buffer, count, datatype, tag, mask, request);
            };
            let param = older::receive_with_request(datatype, request);
            let returned = posting.request(Data { buffer, count }, &raw const param, |param| {
                newer(worker, buffer, count, tag, mask, param)
            });
            // Unlike a send, it does not tell whether it is done.
            if ucs::is_error(returned) { ucs::status_of(returned) } else { ucs::OK }
        }
    }

    fn ucp_tag_msg_recv_nbx(
        worker: Worker,
        buffer: *mut c_void,
        count: usize,
        message: Message,
        param: *const RequestParam,
    ) -> StatusPtr {
        |real| {
            match begin(Function::TagMsgRecvNbx, Kind::Post, || (workers::of(worker), 0)) {
                Some(posting) => posting.request(Data { buffer, count }, param, |param| {
                    real(worker, buffer, count, message, param)
                }),
                None => real(worker, buffer, count, message, param),
            }
        }
    }

    fn ucp_tag_msg_recv_nb(
        worker: Worker,
        buffer: *mut c_void,
        count: usize,
        datatype: Datatype,
        message: Message,
        callback: usize,
    ) -> StatusPtr {
        |real| {
            let newer = real!(Ucp, ucp_tag_msg_recv_nbx, MsgRecvNbx);
            let of = || (workers::of(worker), 0);
            let (Some(newer), Some(posting)) = (newer, begin(Function::TagMsgRecvNb, Kind::Post, of)) else {
                return real(worker, buffer, count, datatype, message, callback);
            };
            let param = older::receive(datatype, callback);
            posting.request(Data { buffer, count }, &raw const param, |param| {
                newer(worker, buffer, count, message, param)
            })
        }
    }
}
