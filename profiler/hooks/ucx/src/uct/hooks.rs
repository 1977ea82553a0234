//! The functions of libuct by which libucp opens, uses and closes interfaces.

use std::ffi::c_void;

use commsee_runtime::guard;

use super::watching;
use crate::abi::ucs::{self, Status};
use crate::abi::uct::{AmCallback, Iface, IfaceParams, Md, Worker};
use crate::inflight::endpoints;
use crate::module;
use crate::wrapper::wrappers;

wrappers! { Uct:
    fn uct_iface_open(
        md: Md,
        worker: Worker,
        params: *const IfaceParams,
        config: *const c_void,
        iface: *mut *mut Iface,
    ) -> Status {
        |real| {
            let status = real(md, worker, params, config, iface);
            if status == ucs::OK && module::get().is_some() {
                guard::guarded(|| watching::opened(md, worker, params, *iface));
            }
            status
        }
    }

    fn uct_iface_close(iface: *mut Iface) {
        |real| {
            guard::guarded(|| watching::closing(iface));
            real(iface);
        }
    }

    fn uct_iface_set_am_handler(
        iface: *mut Iface,
        id: u8,
        callback: Option<AmCallback>,
        argument: *mut c_void,
        flags: u32,
    ) -> Status {
        |real| {
            let ours = callback
                .and_then(|callback| guard::guarded(|| watching::handler(iface, id, callback, argument)).flatten());
            match ours {
                Some((callback, argument)) => real(iface, id, Some(callback), argument, flags),
                None => real(iface, id, callback, argument, flags),
            }
        }
    }

    fn uct_ep_create(params: *const c_void, ep: *mut *mut c_void) -> Status {
        |real| {
            let status = real(params, ep);
            if status == ucs::OK && module::get().is_some() {
                guard::guarded(|| match endpoints::peer_in_making() {
                    0 => {}
                    peer => endpoints::uct_made(*ep, peer),
                });
            }
            status
        }
    }

    fn uct_ep_destroy(ep: *mut c_void) {
        |real| {
            guard::guarded(|| endpoints::uct_gone(ep));
            real(ep)
        }
    }
}
