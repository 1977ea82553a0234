//! Active messages, by which some MPI libraries do what has no tag.

use std::ffi::{c_uint, c_void};

use super::functions::Function;
use super::post::{Data, To, begin};
use super::{older, wrappers};
use crate::abi::ucp::{Datatype, Ep, RequestParam, Worker};
use crate::abi::ucs::StatusPtr;
use crate::inflight::thread::Kind;

type SendNbx = unsafe extern "C-unwind" fn(
    Ep,
    c_uint,
    *const c_void,
    usize,
    *const c_void,
    usize,
    *const RequestParam,
) -> StatusPtr;

wrappers! {
    fn ucp_am_send_nbx(
        ep: Ep,
        id: c_uint,
        header: *const c_void,
        header_length: usize,
        buffer: *const c_void,
        count: usize,
        param: *const RequestParam,
    ) -> StatusPtr {
        |real| {
            let Some(posting) = begin(Function::AmSendNbx, Kind::Post, To::Endpoint(ep)) else {
                return real(ep, id, header, header_length, buffer, count, param);
            };
            posting.add_bytes(header_length);
            posting.request(Data { buffer, count }, param, |param| {
                real(ep, id, header, header_length, buffer, count, param)
            })
        }
    }

    fn ucp_am_send_nb(
        ep: Ep,
        id: u16,
        buffer: *const c_void,
        count: usize,
        datatype: Datatype,
        callback: usize,
        flags: c_uint,
    ) -> StatusPtr {
        |real| {
            let newer = real!(Ucp, ucp_am_send_nbx, SendNbx);
            let (Some(newer), Some(posting)) = (newer, begin(Function::AmSendNb, Kind::Post, To::Endpoint(ep))) else {
                return real(ep, id, buffer, count, datatype, callback, flags);
            };
            let param = older::active(datatype, callback, flags);
            posting.request(Data { buffer, count }, &raw const param, |param| {
                newer(ep, c_uint::from(id), std::ptr::null(), 0, buffer, count, param)
            })
        }
    }

    fn ucp_am_recv_data_nbx(
        worker: Worker,
        descriptor: *mut c_void,
        buffer: *mut c_void,
        count: usize,
        param: *const RequestParam,
    ) -> StatusPtr {
        |real| {
            match begin(Function::AmRecvDataNbx, Kind::Post, To::Worker(worker)) {
                Some(posting) => posting.request(Data { buffer, count }, param, |param| {
                    real(worker, descriptor, buffer, count, param)
                }),
                None => real(worker, descriptor, buffer, count, param),
            }
        }
    }
}
