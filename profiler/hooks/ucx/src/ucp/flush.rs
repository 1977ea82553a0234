//! Waiting until one-sided operations are complete.

use std::ffi::c_uint;

use super::functions::Function;
use super::post::{Data, To, begin};
use super::{older, wrappers};
use crate::abi::ucp::{Ep, RequestParam, Worker};
use crate::abi::ucs::{Status, StatusPtr};
use crate::inflight::thread::Kind;

type FlushNbx = unsafe extern "C-unwind" fn(*mut std::ffi::c_void, *const RequestParam) -> StatusPtr;

const NOTHING: Data = Data { buffer: std::ptr::null(), count: 0 };

wrappers! {
    fn ucp_ep_flush_nbx(ep: Ep, param: *const RequestParam) -> StatusPtr {
        |real| {
            match begin(Function::EpFlushNbx, Kind::Post, To::Endpoint(ep)) {
                Some(posting) => posting.request(NOTHING, param, |param| real(ep, param)),
                None => real(ep, param),
            }
        }
    }

    fn ucp_ep_flush_nb(ep: Ep, flags: c_uint, callback: usize) -> StatusPtr {
        |real| {
            let newer = real!(Ucp, ucp_ep_flush_nbx, FlushNbx);
            let (Some(newer), Some(posting)) = (newer, begin(Function::EpFlushNb, Kind::Post, To::Endpoint(ep))) else {
                return real(ep, flags, callback);
            };
            let param = older::plain(callback);
            posting.request(NOTHING, &raw const param, |param| newer(ep, param))
        }
    }

    fn ucp_worker_flush_nbx(worker: Worker, param: *const RequestParam) -> StatusPtr {
        |real| {
            match begin(Function::WorkerFlushNbx, Kind::Post, To::Worker(worker)) {
                Some(posting) => posting.request(NOTHING, param, |param| real(worker, param)),
                None => real(worker, param),
            }
        }
    }

    fn ucp_worker_flush_nb(worker: Worker, flags: c_uint, callback: usize) -> StatusPtr {
        |real| {
            let newer = real!(Ucp, ucp_worker_flush_nbx, FlushNbx);
            let of = To::Worker(worker);
            let (Some(newer), Some(posting)) = (newer, begin(Function::WorkerFlushNb, Kind::Post, of)) else {
                return real(worker, flags, callback);
            };
            let param = older::plain(callback);
            posting.request(NOTHING, &raw const param, |param| newer(worker, param))
        }
    }

    fn ucp_ep_flush(ep: Ep) -> Status {
        |real| {
            match begin(Function::EpFlush, Kind::Blocking, To::Endpoint(ep)) {
                Some(posting) => posting.status(0, || real(ep)),
                None => real(ep),
            }
        }
    }

    fn ucp_worker_flush(worker: Worker) -> Status {
        |real| {
            match begin(Function::WorkerFlush, Kind::Blocking, To::Worker(worker)) {
                Some(posting) => posting.status(0, || real(worker)),
                None => real(worker),
            }
        }
    }
}
