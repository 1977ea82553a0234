//! Streams. What arrives by them has no messages and is not counted above; below it is.

use std::ffi::{c_uint, c_void};

use super::functions::Function;
use super::post::{Data, To, begin};
use super::{older, wrappers};
use crate::abi::ucp::{Datatype, Ep, RequestParam};
use crate::abi::ucs::StatusPtr;
use crate::inflight::thread::Kind;

type SendNbx = unsafe extern "C-unwind" fn(Ep, *const c_void, usize, *const RequestParam) -> StatusPtr;

wrappers! {
    fn ucp_stream_send_nbx(ep: Ep, buffer: *const c_void, count: usize, param: *const RequestParam) -> StatusPtr {
        |real| {
            match begin(Function::StreamSendNbx, Kind::Post, To::Endpoint(ep)) {
                Some(posting) => posting.request(Data { buffer, count }, param, |param| real(ep, buffer, count, param)),
                None => real(ep, buffer, count, param),
            }
        }
    }

    fn ucp_stream_send_nb(
        ep: Ep,
        buffer: *const c_void,
        count: usize,
        datatype: Datatype,
        callback: usize,
        flags: c_uint,
    ) -> StatusPtr {
        |real| {
            let newer = real!(Ucp, ucp_stream_send_nbx, SendNbx);
            let (Some(newer), Some(posting)) = (newer, begin(Function::StreamSendNb, Kind::Post, To::Endpoint(ep))) else {
                return real(ep, buffer, count, datatype, callback, flags);
            };
            let param = older::stream(datatype, callback, flags);
            posting.request(Data { buffer, count }, &raw const param, |param| newer(ep, buffer, count, param))
        }
    }
}
