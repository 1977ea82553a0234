//! Requests that the program lets go of before they are complete.

use std::ffi::c_void;

use commsee_runtime::{guard, stack};

use crate::abi::ucs::{self, Status};
use crate::inflight::{thread, workers};
use crate::module;
use crate::wrapper::wrappers;

type Check = unsafe extern "C-unwind" fn(*mut c_void) -> Status;
type Release = unsafe extern "C-unwind" fn(*mut c_void);

wrappers! { Ucp:
    fn ucp_request_free(request: *mut c_void) {
        |real| {
            let Some(module) = module::get() else { return real(request) };
            let check = real!(Ucp, ucp_request_check_status, Check);
            if check.is_none_or(|check| check(request) != ucs::INPROGRESS)
                || thread::current(module, stack::pointer()).is_some_and(|thread| thread::is_posting(thread))
            {
                return real(request);
            }
            // It would also forget our callback. The program's is taken away instead, and the request is released, which is the same in
            // all else: both mark it as released, and put it back when it is complete. Either waits for a callback that runs in
            // another thread, which holds the worker.
            match real!(Ucp, ucp_request_release, Release) {
                Some(release) if guard::guarded(|| silence(request)) == Some(true) => release(request),
                _ => real(request),
            }
        }
    }
}

/// Takes the callback of a pending operation away. Whether there is one with this request.
fn silence(request: *mut c_void) -> bool {
    let mut found = false;
    for worker in workers::each() {
        worker.with(|in_flight| {
            in_flight.map.each(|operation| {
                // SAFETY: what is in the map is in use.
                unsafe {
                    if (*operation).request == request {
                        (*operation).callback.set(0);
                        found = true;
                    }
                }
            });
        });
    }
    found
}
