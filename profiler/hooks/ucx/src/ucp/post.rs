//! The way of every operation: begun, posted, and complete at once or left to its callback.

use std::ffi::c_void;
use std::mem::{MaybeUninit, forget};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering;

use commsee_hook::AT_ONCE;
use commsee_runtime::stack;

use super::callbacks::{received, received_data, sent};
use super::datatype::{self, Data};
use super::params;
use crate::abi::ucp::{self, LengthCallback, RequestParam, SendCallback, TagRecvCallback, TagRecvInfo, attribute};
use crate::abi::ucs::{self, Status, StatusPtr};
use crate::inflight::counting::{complete, discard};
use crate::inflight::one_sided::OneSided;
use crate::inflight::operation::{AtOnce, Link, Operation, phase};
use crate::inflight::thread::{self, Kind};
use crate::inflight::{endpoints, workers};
use crate::module::functions::{Function, Way};
use crate::module::{self, Module};

/// An operation that is being posted.
pub struct Posting {
    operation: NonNull<Operation>,
}

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

/// None where it shall only be passed on: nothing is recorded, or UCP calls itself.
///
/// # Safety
/// This is called by the function that calls UCX.
#[inline(always)]
pub unsafe fn begin(function: Function, to: To) -> Option<Posting> {
    // SAFETY: as demanded.
    unsafe { begin_at(function, to, stack::pointer()) }
}

#[inline(never)]
unsafe fn begin_at(function: Function, to: To, stack: usize) -> Option<Posting> {
    let module = module::get()?;
    let thread = thread::current(module, stack)?;
    // SAFETY: the thread is this one's, and the record this post's alone.
    unsafe {
        if thread::is_posting(thread) {
            return None;
        }
        let posting = Posting { operation: NonNull::new((*thread).operations.take())? };
        let operation = posting.operation();
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
        (*operation).bytes = 0;
        Some(posting)
    }
}

impl Posting {
    #[inline(always)]
    fn operation(&self) -> *mut Operation {
        self.operation.as_ptr()
    }

    /// What returns a request, or is done at once.
    ///
    /// # Safety
    /// The arguments are what the program gives to UCX; `run` calls that with other parameters.
    #[inline(always)]
    pub unsafe fn request(
        self,
        data: Data,
        param: *const RequestParam,
        run: impl FnOnce(*const RequestParam) -> StatusPtr,
    ) -> StatusPtr {
        // SAFETY: the record is this post's. UCX gets a copy of the program's parameters in which all is set that the mask names.
        unsafe {
            let mut own = MaybeUninit::<RequestParam>::uninit();
            if !self.prepare(data, param, &mut own) {
                return self.passed_on(|| run(param));
            }
            let returned = self.left_to(true, || run(own.as_ptr()));
            self.end(returned)
        }
    }

    /// What is passed on with the program's own arguments, and is as good as done when it returns.
    ///
    /// # Safety
    /// As above; `run` calls UCX.
    #[inline(always)]
    pub unsafe fn unchanged(
        self,
        data: Data,
        param: *const RequestParam,
        run: impl FnOnce() -> StatusPtr,
    ) -> StatusPtr {
        // SAFETY: as in `request`; what the mask does not name is not read of the copy.
        unsafe {
            let mut known = MaybeUninit::<RequestParam>::uninit();
            if params::copy(param, &mut known) {
                self.measure(data, &*known.as_ptr());
            }
            let returned = self.left_to(false, run);
            self.end(if ucs::is_error(returned) { returned } else { null_mut() });
            returned
        }
    }

    /// What tells only whether it could be posted.
    ///
    /// # Safety
    /// `run` calls UCX.
    #[inline(always)]
    pub unsafe fn status(self, bytes: u64, run: impl FnOnce() -> Status) -> Status {
        // SAFETY: the record is this post's: UCX never learns of it.
        unsafe {
            (*self.operation()).bytes = bytes;
            let status = self.left_to(false, run);
            self.end(if status == ucs::INPROGRESS { null_mut() } else { ucs::as_pointer(status) });
            status
        }
    }

    /// The same for what reads or writes memory of others, and may go on after the call.
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    pub unsafe fn one_sided(self, buffer: usize, bytes: usize, far: u64, run: impl FnOnce() -> Status) -> Status {
        let operation = self.operation();
        // SAFETY: the record is this post's until its end.
        unsafe {
            self.status(bytes as u64, || {
                let status = run();
                if status == ucs::INPROGRESS
                    && let Some(worker) = workers::by_number((*operation).worker)
                {
                    let (near, far) = ((buffer, buffer + bytes), (far, far + bytes as u64));
                    let link = Link::to_call_of(operation);
                    worker.with(|in_flight| in_flight.one_sided.remember(OneSided { near, far, link }));
                }
                status
            })
        }
    }

    /// Bytes beside those of the message itself.
    ///
    /// # Safety
    /// Nothing was posted yet.
    pub unsafe fn add_bytes(&self, bytes: usize) {
        // SAFETY: the record is this post's.
        unsafe { (*self.operation()).bytes = (*self.operation()).bytes.wrapping_add(bytes as u64) };
    }

    /// Calls UCX, which an exception of the program may leave.
    #[inline(always)]
    unsafe fn left_to<T>(&self, ucx_knows_it: bool, run: impl FnOnce() -> T) -> T {
        let leaving = Leaving { operation: self.operation(), ucx_knows_it };
        let returned = run();
        forget(leaving);
        returned
    }

    #[cold]
    unsafe fn passed_on<T>(self, run: impl FnOnce() -> T) -> T {
        let leaving = Leaving { operation: self.operation(), ucx_knows_it: false };
        let returned = run();
        drop(leaving);
        returned
    }

    /// Writes what UCX gets instead of the program's. False where it asks for what is not known here.
    #[inline(never)]
    unsafe fn prepare(&self, data: Data, param: *const RequestParam, own: &mut MaybeUninit<RequestParam>) -> bool {
        // SAFETY: `param` is what the program gives to UCX, and the record this post's. What the mask does not name is not read.
        unsafe {
            let operation = self.operation();
            if !params::copy(param, own) {
                return false;
            }
            let own = &mut *own.as_mut_ptr();
            self.measure(data, own);
            let has_callback = own.op_attr_mask & attribute::CALLBACK != 0;
            (*operation).callback.set(if has_callback { own.callback } else { 0 });
            // What a program does not pass it gets back as null.
            let has_user_data = own.op_attr_mask & attribute::USER_DATA != 0;
            (*operation).user_data = if has_user_data { own.user_data } else { null_mut() };
            own.user_data = operation.cast();
            own.op_attr_mask |= attribute::CALLBACK | attribute::USER_DATA;
            let arrives = (*operation).function.described().arrives();
            own.callback = if arrives { self.prepare_arrival(own) } else { sent as SendCallback as usize };
            true
        }
    }

    /// The bytes of the message, and where they lie if they are in one piece.
    unsafe fn measure(&self, data: Data, param: &RequestParam) {
        // SAFETY: the record is this post's, the thread this one's, and `data` what the program describes by that datatype.
        unsafe {
            let operation = self.operation();
            let is_typed = param.op_attr_mask & attribute::DATATYPE != 0;
            let datatype = if is_typed { param.datatype } else { datatype::BYTES };
            let (mut bytes, mut is_generic) = (0, false);
            (*operation).buffer = (0, 0);
            match datatype & ((1 << ucp::DATATYPE_SHIFT) - 1) {
                ucp::DATATYPE_CONTIG => {
                    bytes = data.count.wrapping_mul((datatype >> ucp::DATATYPE_SHIFT) as usize) as u64;
                    let begin = data.buffer as usize;
                    (*operation).buffer = (begin, begin.wrapping_add(bytes as usize));
                }
                ucp::DATATYPE_IOV => bytes = datatype::bytes_of_iov(data),
                ucp::DATATYPE_GENERIC => {
                    (*thread::own()).packed_bytes = 0;
                    is_generic = true;
                }
                _ => {}
            }
            (*operation).bytes = (*operation).bytes.wrapping_add(bytes);
            (*operation).is_generic = is_generic;
        }
    }

    /// Sees to it that what arrived is told even if the receive is done at once. UCX 1.13 fills in no `recv_info` then, so it is
    /// asked for a request and a callback in any case, and [`finish_at_once`] makes of them what the program expects.
    unsafe fn prepare_arrival(&self, own: &mut RequestParam) -> usize {
        // SAFETY: as above; libucp writes into the record until it completes the operation, which it is kept for.
        unsafe {
            let operation = self.operation();
            let is_active = (*operation).function == Function::ucp_am_recv_data_nbx;
            (*operation).info = TagRecvInfo { sender_tag: 0, length: (*operation).bytes as usize };
            let has_place = own.op_attr_mask & attribute::RECV_INFO != 0;
            (*operation).program_info = if has_place { own.recv_info } else { null_mut() };
            (*operation).at_once = AtOnce::No;
            if own.op_attr_mask & attribute::NO_IMM_CMPL == 0 {
                if is_active || own.op_attr_mask & attribute::FORCE_IMM_CMPL != 0 {
                    if !has_place {
                        own.op_attr_mask |= attribute::RECV_INFO;
                        let info = &raw mut (*operation).info;
                        own.recv_info = if is_active { (&raw mut (*info).length).cast() } else { info.cast() };
                    }
                } else {
                    let keeps = own.op_attr_mask & attribute::REQUEST != 0;
                    (*operation).at_once = if keeps { AtOnce::KeepRequest } else { AtOnce::FreeRequest };
                    own.op_attr_mask |= attribute::NO_IMM_CMPL;
                }
            }
            if is_active { received_data as LengthCallback as usize } else { received as TagRecvCallback as usize }
        }
    }

    /// UCX has returned: null, an error or a request.
    #[inline(never)]
    unsafe fn end(self, mut returned: StatusPtr) -> StatusPtr {
        // SAFETY: the record is this post's unless `wait_for` leaves it to the callback.
        unsafe {
            let operation = self.operation();
            thread::leave((*operation).frame);
            if ucs::is_error(returned) {
                discard(operation);
                return returned;
            }
            let arrives = (*operation).function.described().arrives();
            if (*operation).is_generic && !arrives {
                self.add_bytes((*thread::own()).packed_bytes as usize);
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
}

/// Leaves it to its callback. False if that came already.
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

/// A receive that the program may find done when it is posted, and that was: it has no callback, and no request is left.
#[cold]
unsafe fn finish_at_once(operation: *mut Operation, request: *mut c_void) -> StatusPtr {
    // SAFETY: libucp has completed the operation, and leaves its request to whom it returned it. The place is null or the program's.
    unsafe {
        if (*operation).at_once == AtOnce::FreeRequest
            && let Some(free) = real!(Ucp, ucp_request_free, unsafe extern "C-unwind" fn(*mut c_void))
        {
            free(request);
        }
        if let Some(info) = (*operation).program_info.cast::<TagRecvInfo>().as_mut() {
            *info = (*operation).info;
        }
        ucs::as_pointer((*operation).status)
    }
}

unsafe fn told_at_once(operation: *mut Operation) -> u64 {
    // SAFETY: libucp returned that it is done, so it has filled in the place that it was given: the program's, of that function's type,
    // or the record's.
    unsafe {
        let info = (*operation).program_info;
        if info.is_null() {
            (*operation).info.length as u64
        } else if (*operation).function == Function::ucp_am_recv_data_nbx {
            *info.cast::<usize>() as u64
        } else {
            (*info.cast::<TagRecvInfo>()).length as u64
        }
    }
}
