//! One-sided reads and writes.

use std::ffi::c_void;

use super::functions::Function;
use super::post::{Data, To, begin};
use super::{older, wrappers};
use crate::abi::ucp::{Ep, RequestParam, Rkey};
use crate::abi::ucs::{Status, StatusPtr};
use crate::inflight::thread::Kind;

type PutNbx = unsafe extern "C-unwind" fn(Ep, *const c_void, usize, u64, Rkey, *const RequestParam) -> StatusPtr;
type GetNbx = unsafe extern "C-unwind" fn(Ep, *mut c_void, usize, u64, Rkey, *const RequestParam) -> StatusPtr;

wrappers! {
    fn ucp_put_nbx(
        ep: Ep,
        buffer: *const c_void,
        count: usize,
        far: u64,
        rkey: Rkey,
        param: *const RequestParam,
    ) -> StatusPtr {
        |real| {
            match begin(Function::PutNbx, Kind::Post, To::Endpoint(ep)) {
                Some(posting) => posting.request(Data { buffer, count }, param, |param| {
                    real(ep, buffer, count, far, rkey, param)
                }),
                None => real(ep, buffer, count, far, rkey, param),
            }
        }
    }

    fn ucp_get_nbx(
        ep: Ep,
        buffer: *mut c_void,
        count: usize,
        far: u64,
        rkey: Rkey,
        param: *const RequestParam,
    ) -> StatusPtr {
        |real| {
            match begin(Function::GetNbx, Kind::Post, To::Endpoint(ep)) {
                Some(posting) => posting.request(Data { buffer, count }, param, |param| {
                    real(ep, buffer, count, far, rkey, param)
                }),
                None => real(ep, buffer, count, far, rkey, param),
            }
        }
    }

    fn ucp_put_nb(ep: Ep, buffer: *const c_void, count: usize, far: u64, rkey: Rkey, callback: usize) -> StatusPtr {
        |real| {
            let newer = real!(Ucp, ucp_put_nbx, PutNbx);
            let (Some(newer), Some(posting)) = (newer, begin(Function::PutNb, Kind::Post, To::Endpoint(ep))) else {
                return real(ep, buffer, count, far, rkey, callback);
            };
            let param = older::plain(callback);
            posting.request(Data { buffer, count }, &raw const param, |param| newer(ep, buffer, count, far, rkey, param))
        }
    }

    fn ucp_get_nb(ep: Ep, buffer: *mut c_void, count: usize, far: u64, rkey: Rkey, callback: usize) -> StatusPtr {
        |real| {
            let newer = real!(Ucp, ucp_get_nbx, GetNbx);
            let (Some(newer), Some(posting)) = (newer, begin(Function::GetNb, Kind::Post, To::Endpoint(ep))) else {
                return real(ep, buffer, count, far, rkey, callback);
            };
            let param = older::plain(callback);
            posting.request(Data { buffer, count }, &raw const param, |param| newer(ep, buffer, count, far, rkey, param))
        }
    }

    fn ucp_put_nbi(ep: Ep, buffer: *const c_void, count: usize, far: u64, rkey: Rkey) -> Status {
        |real| {
            match begin(Function::PutNbi, Kind::Post, To::Endpoint(ep)) {
                Some(posting) => posting.one_sided(buffer as usize, count, far, || real(ep, buffer, count, far, rkey)),
                None => real(ep, buffer, count, far, rkey),
            }
        }
    }

    fn ucp_get_nbi(ep: Ep, buffer: *mut c_void, count: usize, far: u64, rkey: Rkey) -> Status {
        |real| {
            match begin(Function::GetNbi, Kind::Post, To::Endpoint(ep)) {
                Some(posting) => posting.one_sided(buffer as usize, count, far, || real(ep, buffer, count, far, rkey)),
                None => real(ep, buffer, count, far, rkey),
            }
        }
    }

    fn ucp_put(ep: Ep, buffer: *const c_void, count: usize, far: u64, rkey: Rkey) -> Status {
        |real| {
            match begin(Function::Put, Kind::Blocking, To::Endpoint(ep)) {
                Some(posting) => posting.status(count as u64, || real(ep, buffer, count, far, rkey)),
                None => real(ep, buffer, count, far, rkey),
            }
        }
    }

    fn ucp_get(ep: Ep, buffer: *mut c_void, count: usize, far: u64, rkey: Rkey) -> Status {
        |real| {
            match begin(Function::Get, Kind::Blocking, To::Endpoint(ep)) {
                Some(posting) => posting.status(count as u64, || real(ep, buffer, count, far, rkey)),
                None => real(ep, buffer, count, far, rkey),
            }
        }
    }
}
