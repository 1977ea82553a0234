//! Messages with tags: point-to-point and collective calls of MPI.

use std::ffi::c_void;
use std::mem::transmute;

use commsee_runtime::real::Real;

use super::functions::Function;
use super::post::{Data, To, begin, begin_at};
use super::{Missing, known, older, wrappers};
use crate::abi::ucp::{Datatype, Ep, Message, RequestParam, Tag, Worker};
use crate::abi::ucs::{self, Status, StatusPtr};
use crate::inflight::thread::{self, Kind};
use crate::library;

type SendNbx = unsafe extern "C-unwind" fn(Ep, *const c_void, usize, Tag, *const RequestParam) -> StatusPtr;
type RecvNbx = unsafe extern "C-unwind" fn(Worker, *mut c_void, usize, Tag, Tag, *const RequestParam) -> StatusPtr;
type MsgRecvNbx = unsafe extern "C-unwind" fn(Worker, *mut c_void, usize, Message, *const RequestParam) -> StatusPtr;

/// A send that is like none before. The arguments are those that it is called with, so that the short path need not keep them.
#[cold]
#[inline(never)]
unsafe extern "C-unwind" fn send(
    ep: Ep,
    buffer: *const c_void,
    count: usize,
    tag: Tag,
    param: *const RequestParam,
    stack: usize,
) -> StatusPtr {
    let real = match SEND.address() {
        0 => return StatusPtr::MISSING,
        // SAFETY: the type is that of the library's header.
        address => unsafe { transmute::<usize, SendNbx>(address) },
    };
    // SAFETY: the program's arguments, passed on as they are.
    unsafe {
        match begin_at(Function::TagSendNbx, Kind::Post, To::Endpoint(ep), stack) {
            Some(posting) => {
                posting.request(Data { buffer, count }, param, |param| real(ep, buffer, count, tag, param))
            }
            None => real(ep, buffer, count, tag, param),
        }
    }
}

/// A receive that is like none before.
#[cold]
#[inline(never)]
unsafe extern "C-unwind" fn receive(
    worker: Worker,
    buffer: *mut c_void,
    count: usize,
    tag: Tag,
    mask: Tag,
    param: *const RequestParam,
) -> StatusPtr {
    let stack = thread::noted_stack();
    let real = match RECEIVE.address() {
        0 => return StatusPtr::MISSING,
        // SAFETY: the type is that of the library's header.
        address => unsafe { transmute::<usize, RecvNbx>(address) },
    };
    // SAFETY: as above.
    unsafe {
        match begin_at(Function::TagRecvNbx, Kind::Post, To::Worker(worker), stack) {
            Some(posting) => {
                posting.request(Data { buffer, count }, param, |param| real(worker, buffer, count, tag, mask, param))
            }
            None => real(worker, buffer, count, tag, mask, param),
        }
    }
}

static SEND: Real = Real::new(&library::UCP, c"ucp_tag_send_nbx");
static RECEIVE: Real = Real::new(&library::UCP, c"ucp_tag_recv_nbx");

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ucp_tag_send_nbx(
    ep: Ep,
    buffer: *const c_void,
    count: usize,
    tag: Tag,
    param: *const RequestParam,
) -> StatusPtr {
    // SAFETY: the program's arguments, passed on as they are. What is known was posted before by the real function.
    unsafe {
        let Some(known) = known::begin(Function::TagSendNbx, To::Endpoint(ep), Data { buffer, count }, param) else {
            return send(ep, buffer, count, tag, param, thread::stack());
        };
        let real = transmute::<usize, SendNbx>(SEND.known_address());
        let returned = known.run(|param| real(ep, buffer, count, tag, param));
        known.sent(returned)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ucp_tag_recv_nbx(
    worker: Worker,
    buffer: *mut c_void,
    count: usize,
    tag: Tag,
    mask: Tag,
    param: *const RequestParam,
) -> StatusPtr {
    // SAFETY: as above.
    unsafe {
        let Some(known) = known::begin(Function::TagRecvNbx, To::Worker(worker), Data { buffer, count }, param) else {
            thread::note_stack();
            return receive(worker, buffer, count, tag, mask, param);
        };
        let real = transmute::<usize, RecvNbx>(RECEIVE.known_address());
        let returned = known.run(|param| real(worker, buffer, count, tag, mask, param));
        known.posted(returned)
    }
}

wrappers! {
    fn ucp_tag_send_sync_nbx(ep: Ep, buffer: *const c_void, count: usize, tag: Tag, param: *const RequestParam) -> StatusPtr {
        |real| {
            match begin(Function::TagSendSyncNbx, Kind::Post, To::Endpoint(ep)) {
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
            let (Some(newer), Some(posting)) = (newer, begin(Function::TagSendNb, Kind::Post, To::Endpoint(ep))) else {
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
            let (Some(newer), Some(posting)) = (newer, begin(Function::TagSendSyncNb, Kind::Post, To::Endpoint(ep))) else {
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
            let (Some(newer), Some(posting)) = (newer, begin(Function::TagSendNbr, Kind::Post, To::Endpoint(ep))) else {
                return real(ep, buffer, count, datatype, tag, request);
            };
            let param = older::send_with_request(datatype, request);
            let data = Data { buffer, count };
            ucs::status_of(posting.request(data, &raw const param, |param| newer(ep, buffer, count, tag, param)))
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
            let of = To::Worker(worker);
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
            let of = To::Worker(worker);
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
            match begin(Function::TagMsgRecvNbx, Kind::Post, To::Worker(worker)) {
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
            let of = To::Worker(worker);
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
