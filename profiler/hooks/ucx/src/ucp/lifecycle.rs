//! Workers and endpoints are made while MPI is initialized, before anything is recorded, and remembered from then on.

use std::ffi::{c_uint, c_void};
use std::ptr::null_mut;

use commsee_runtime::guard;

use super::identity;
use crate::abi::ucp::{
    ATTR_FIELD_REQUEST_SIZE, Context, ContextAttr, ContextQuery, EP_PARAM_FIELD_REMOTE_ADDRESS, Ep, EpParams,
    RequestParam, Worker,
};
use crate::abi::ucs::{self, Status, StatusPtr};
use crate::inflight::{counting, endpoints, workers};
use crate::module::{self, memory, version};
use crate::wrapper::wrappers;

wrappers! { Ucp:
    fn ucp_worker_create(context: Context, params: *const c_void, worker: *mut Worker) -> Status {
        |real| {
            if module::get().is_none() || guard::guarded(version::check) != Some(true) {
                guard::guarded(module::say_why_closed);
                return real(context, params, worker);
            }
            let making = guard::guarded(|| workers::begin(request_bytes(context))).unwrap_or(workers::UNKNOWN);
            let status = real(context, params, worker);
            guard::guarded(|| {
                memory::find_driver();
                let made = if status == ucs::OK { *worker } else { null_mut() };
                workers::end(making, made);
                if let (Some(module), false) = (module::get(), made.is_null()) {
                    identity::tell(module, made);
                }
            });
            status
        }
    }

    fn ucp_worker_destroy(worker: Worker) {
        |real| {
            real(worker);
            // What is in flight completes no more.
            guard::guarded(|| workers::forget(worker, |operation| counting::discard(operation)));
        }
    }

    fn ucp_ep_create(worker: Worker, params: *const EpParams, ep: *mut Ep) -> Status {
        |real| {
            let Some(module) = module::get() else { return real(worker, params, ep) };
            let peer = guard::guarded(|| {
                let params = params.as_ref().filter(|params| params.field_mask & EP_PARAM_FIELD_REMOTE_ADDRESS != 0)?;
                identity::of_address(params.address).map(|identity| module.peer(identity))
            })
            .flatten()
            .unwrap_or(0);
            let status = endpoints::while_making(peer, || real(worker, params, ep));
            if status == ucs::OK {
                guard::guarded(|| endpoints::made(*ep, workers::of(worker), peer));
            }
            status
        }
    }

    fn ucp_ep_destroy(ep: Ep) {
        |real| {
            forget(ep);
            real(ep)
        }
    }

    fn ucp_ep_close_nb(ep: Ep, mode: c_uint) -> StatusPtr {
        |real| {
            forget(ep);
            real(ep, mode)
        }
    }

    fn ucp_ep_close_nbx(ep: Ep, param: *const RequestParam) -> StatusPtr {
        |real| {
            forget(ep);
            real(ep, param)
        }
    }

    fn ucp_disconnect_nb(ep: Ep) -> StatusPtr {
        |real| {
            forget(ep);
            real(ep)
        }
    }
}

fn forget(ep: *mut c_void) {
    if module::get().is_some() {
        guard::guarded(|| endpoints::gone(ep));
    }
}

/// How large libucp's part of a request is, which lies before the program's.
unsafe fn request_bytes(context: Context) -> usize {
    let Some(query) = real!(Ucp, ucp_context_query, ContextQuery) else { return 0 };
    let mut attr = ContextAttr { field_mask: ATTR_FIELD_REQUEST_SIZE, request_size: 0, rest: [0; 16] };
    // SAFETY: the structure is as long as any version's.
    let status = unsafe { query(context, &raw mut attr) };
    if status == ucs::OK { attr.request_size } else { 0 }
}
