//! The functions of libuct by which libucp opens, uses and closes interfaces.

use std::ffi::c_void;

use commsee_runtime::guard;

use super::watching;
use crate::abi::ucs::{self, Status};
use crate::abi::uct::{AmCallback, Iface, IfaceParams, Md, Worker};
use crate::inflight::endpoints;
use crate::module;

/// Opens an interface, and stands between it and libucp from then on.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn uct_iface_open(
    md: Md,
    worker: Worker,
    params: *const IfaceParams,
    config: *const c_void,
    iface: *mut *mut Iface,
) -> Status {
    type Open = unsafe extern "C-unwind" fn(Md, Worker, *const IfaceParams, *const c_void, *mut *mut Iface) -> Status;
    let Some(open) = real!(Uct, uct_iface_open, Open) else { return ucs::ERR_UNSUPPORTED };
    // SAFETY: libucp's arguments.
    unsafe {
        let status = open(md, worker, params, config, iface);
        if status == ucs::OK && module::get().is_some() {
            guard::guarded(|| watching::opened(md, worker, params, *iface));
        }
        status
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn uct_iface_close(iface: *mut Iface) {
    let Some(close) = real!(Uct, uct_iface_close, unsafe extern "C-unwind" fn(*mut Iface)) else { return };
    // SAFETY: libucp's argument.
    unsafe {
        guard::guarded(|| watching::closing(iface));
        close(iface);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn uct_iface_set_am_handler(
    iface: *mut Iface,
    id: u8,
    callback: Option<AmCallback>,
    argument: *mut c_void,
    flags: u32,
) -> Status {
    type Set = unsafe extern "C-unwind" fn(*mut Iface, u8, Option<AmCallback>, *mut c_void, u32) -> Status;
    let Some(set) = real!(Uct, uct_iface_set_am_handler, Set) else { return ucs::ERR_UNSUPPORTED };
    // SAFETY: libucp's arguments.
    unsafe {
        let ours =
            callback.and_then(|callback| guard::guarded(|| watching::handler(iface, id, callback, argument)).flatten());
        match ours {
            Some((callback, argument)) => set(iface, id, Some(callback), argument, flags),
            None => set(iface, id, callback, argument, flags),
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn uct_ep_create(params: *const c_void, ep: *mut *mut c_void) -> Status {
    type Create = unsafe extern "C-unwind" fn(*const c_void, *mut *mut c_void) -> Status;
    let Some(create) = real!(Uct, uct_ep_create, Create) else { return ucs::ERR_UNSUPPORTED };
    // SAFETY: libucp's arguments.
    unsafe {
        let status = create(params, ep);
        if status == ucs::OK && module::get().is_some() {
            guard::guarded(|| match endpoints::peer_in_making() {
                0 => {}
                peer => endpoints::uct_made(*ep, peer),
            });
        }
        status
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn uct_ep_destroy(ep: *mut c_void) {
    let Some(destroy) = real!(Uct, uct_ep_destroy, unsafe extern "C-unwind" fn(*mut c_void)) else { return };
    guard::guarded(|| endpoints::uct_gone(ep));
    // SAFETY: libucp's argument.
    unsafe { destroy(ep) }
}
