//! The way of every operation: begun, posted, and complete at once or left to its callback.

use std::ffi::c_void;
use std::mem::{MaybeUninit, forget};
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use commsee_hook::AT_ONCE;
use commsee_runtime::stack;

use super::datatype::Data;
use super::params;
use super::prepare::{finish_at_once, measure, prepare, told_at_once};
use crate::abi::ucp::{self, RequestParam};
use crate::abi::ucs::{self, Status, StatusPtr};
use crate::inflight::counting::{complete, discard};
use crate::inflight::one_sided::OneSided;
use crate::inflight::operation::{AtOnce, Link, Operation, phase};
use crate::inflight::thread::{self, Kind};
use crate::inflight::{endpoints, workers};
use crate::module::functions::{Function, Way};
use crate::module::{self, Module, memory};

/// The handle that it is posted on.
#[derive(Clone, Copy)]
pub enum To {
    Endpoint(ucp::Ep),
    Worker(ucp::Worker),
}

impl To {
    /// The worker's number, and the peer, or 0.
    fn resolved(self) -> (u32, u32) {
        match self {
            To::Endpoint(ep) => endpoints::of(ep),
            To::Worker(worker) => (workers::of(worker), 0),
        }
    }
}

/// None where it shall only be passed on: nothing is recorded, or UCP calls itself. `stack` is how far that of the function goes which
/// calls UCX.
#[inline(always)]
unsafe fn begin(function: Function, to: To, stack: usize) -> Option<*mut Operation> {
    let module = module::get()?;
    let thread = thread::current(module, stack)?;
    // SAFETY: the thread is this one's, and the record this post's alone.
    unsafe {
        if thread::is_posting(thread) {
            return None;
        }
        let operation = (*thread).operations.take();
        if operation.is_null() {
            return None;
        }
        let described = function.described();
        let kind = if described.way == Way::Blocks { Kind::Blocking(operation) } else { Kind::Post(operation) };
        let frame = if module.here(&raw mut (*operation).call) { thread::enter(thread, kind, stack) } else { None };
        let Some(frame) = frame else {
            discard(operation);
            return None;
        };
        let (worker, peer) = to.resolved();
        (*operation).phase.store(phase::POSTING, Ordering::Relaxed);
        (*operation).function = function;
        (*operation).frame = frame;
        (*operation).failed = false;
        (*operation).is_generic = false;
        (*operation).worker = worker;
        (*operation).begin_ns = if (*operation).call.is_traced() { module.now_ns() } else { 0 };
        (*operation).shown.peer.set(peer);
        (*operation).shown.protocol.set(described.protocol);
        (*operation).shown.carrier.set(0);
        (*operation).memory = memory::NONE;
        Some(operation)
    }
}

/// Posts what returns a request, or is done at once.
///
/// # Safety
/// The arguments are what the program gives to UCX; `run` calls that with other parameters.
#[inline(never)]
pub unsafe fn request(
    function: Function,
    to: To,
    data: Data,
    param: *const RequestParam,
    run: &mut dyn FnMut(*const RequestParam) -> StatusPtr,
) -> StatusPtr {
    // SAFETY: the record is this post's. UCX gets a copy of the program's parameters in which all is set that the mask names.
    unsafe {
        let Some(operation) = begin(function, to, stack::pointer()) else { return run(param) };
        let mut own = MaybeUninit::<RequestParam>::uninit();
        let is_known = prepare(operation, data, param, &mut own);
        let leaving = Leaving { operation, ucx_knows_it: is_known };
        if !is_known {
            // The record is given back when `leaving` is dropped.
            return run(param);
        }
        let returned = run(own.as_ptr());
        forget(leaving);
        end(operation, returned)
    }
}

/// Posts what is passed on with the program's own arguments, and is as good as done when it returns.
///
/// # Safety
/// The arguments are what the program gives to UCX; `run` calls that.
pub unsafe fn unchanged(
    function: Function,
    to: To,
    data: Data,
    param: *const RequestParam,
    run: &mut dyn FnMut() -> StatusPtr,
) -> StatusPtr {
    // SAFETY: as in `request`; what the mask does not name is not read of the copy.
    unsafe {
        let Some(operation) = begin(function, to, stack::pointer()) else { return run() };
        let mut known = MaybeUninit::<RequestParam>::uninit();
        (*operation).bytes = 0;
        if params::copy(param, &mut known) {
            measure(operation, data, &*known.as_ptr());
        }
        let leaving = Leaving { operation, ucx_knows_it: false };
        let returned = run();
        forget(leaving);
        end(operation, if ucs::is_error(returned) { returned } else { null_mut() });
        returned
    }
}

/// Posts what tells only whether it could be posted. What reads or writes memory of others, as far as `one_sided` tells from where, may go on
/// after the call.
///
/// # Safety
/// `run` calls UCX.
pub unsafe fn status(
    function: Function,
    to: To,
    bytes: usize,
    one_sided: Option<(usize, u64)>,
    run: &mut dyn FnMut() -> Status,
) -> Status {
    // SAFETY: the record is this post's: UCX never learns of it.
    unsafe {
        let Some(operation) = begin(function, to, stack::pointer()) else { return run() };
        (*operation).bytes = bytes as u64;
        if let Some((near, _)) = one_sided {
            (*operation).memory = if bytes == 0 { memory::HOST } else { memory::of(near, None) };
        }
        let leaving = Leaving { operation, ucx_knows_it: false };
        let status = run();
        forget(leaving);
        let goes_on = status == ucs::INPROGRESS;
        if let (true, Some((near, far)), Some(worker)) = (goes_on, one_sided, workers::by_number((*operation).worker)) {
            let (near, far) = ((near, near.wrapping_add(bytes)), (far, far.wrapping_add(bytes as u64)));
            let link = Link::to_call_of(operation);
            worker.with(|in_flight| in_flight.one_sided.remember(OneSided { near, far, link }));
        }
        end(operation, if goes_on { null_mut() } else { ucs::as_pointer(status) });
        status
    }
}

/// UCX has returned: null, an error or a request.
#[inline(always)]
unsafe fn end(operation: *mut Operation, mut returned: StatusPtr) -> StatusPtr {
    // SAFETY: the record is this post's unless `wait_for` leaves it to the callback.
    unsafe {
        thread::leave((*operation).frame);
        if ucs::is_error(returned) {
            discard(operation);
            return returned;
        }
        let arrives = (*operation).function.described().arrives();
        if (*operation).is_generic && !arrives {
            (*operation).bytes = (*operation).bytes.wrapping_add((*thread::own()).packed_bytes);
        }
        if returned.is_null() {
            if arrives {
                (*operation).bytes = told_at_once(operation);
            }
        } else if wait_for(operation, returned) {
            return returned;
        } else if arrives && (*operation).at_once != AtOnce::No {
            returned = finish_at_once(operation, returned);
        }
        complete(operation, AT_ONCE);
        returned
    }
}

/// Leaves it to its callback. False if that came already.
#[inline(always)]
unsafe fn wait_for(operation: *mut Operation, request: *mut c_void) -> bool {
    // SAFETY: until the operation is pending, its completion touches none of these fields.
    unsafe {
        if (*operation).phase.load(Ordering::Acquire) == phase::DONE {
            return false;
        }
        (*operation).request = request;
        begin_waiting(operation);
        let Some(worker) = workers::by_number((*operation).worker) else { return become_pending(operation) };
        let is_pending = worker.with(|in_flight| {
            in_flight.map.put(operation);
            let is_pending = become_pending(operation);
            if !is_pending {
                in_flight.map.take_out(operation);
            }
            is_pending
        });
        is_pending.unwrap_or_else(|| become_pending(operation))
    }
}

unsafe fn become_pending(operation: *mut Operation) -> bool {
    // SAFETY: records are never freed, and the phase is atomic.
    let place = unsafe { &(*operation).phase };
    place.compare_exchange(phase::POSTING, phase::PENDING, Ordering::AcqRel, Ordering::Acquire).is_ok()
}

/// It goes on from here: the time is taken.
unsafe fn begin_waiting(operation: *mut Operation) {
    // SAFETY: the record is its post's.
    unsafe {
        if (*operation).begin_ns == 0 {
            (*operation).begin_ns = module::get().map_or(0, Module::now_ns);
        }
    }
}

/// Around a call of UCX. What it guards is not to be reached any more when this is dropped: an exception of the program has left.
struct Leaving {
    operation: *mut Operation,
    /// So it is counted when it completes, if it does.
    ucx_knows_it: bool,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        // SAFETY: the record is its post's until it is pending. A completion in another thread leaves these fields alone before that, and the
        // whole record after it.
        unsafe {
            thread::leave((*self.operation).frame);
            if self.ucx_knows_it {
                (*self.operation).request = null_mut();
                begin_waiting(self.operation);
                if become_pending(self.operation) {
                    return;
                }
            }
            discard(self.operation);
        }
    }
}
