//! The way of every operation: begun, posted, and counted once it is complete. The hot path of this layer.

use std::ffi::c_void;
use std::mem::{MaybeUninit, forget};
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use commsee_hook::AT_ONCE;

use super::complete::{count, received, received_data, sent};
use super::functions::{DESCRIBED, Function, is_one_sided};
use super::{datatype, params};
use crate::abi::ucp::{self, LengthCallback, RequestParam, SendCallback, TagRecvCallback, TagRecvInfo, attribute};
use crate::abi::ucs::{self, Status, StatusPtr};
use crate::inflight::operation::{AtOnce, Operation, abandon, become_pending, free, phase};
use crate::inflight::pending::Recent;
use crate::inflight::thread::{self, Frame, Kind, Link, Thread};
use crate::inflight::workers::Worker;
use crate::module::{self, Module};

/// An operation that is being posted.
pub struct Posting {
    module: &'static Module,
    thread: *mut Thread,
    operation: *mut Operation,
    /// As in the record; here it is known when the wrapper is compiled.
    function: Function,
}

/// A message as the program describes it.
#[derive(Clone, Copy)]
pub struct Data {
    pub buffer: *const c_void,
    pub count: usize,
}

/// None where it shall only be passed on: nothing is recorded, or UCP calls itself.
#[inline(always)]
pub unsafe fn begin(function: Function, kind: Kind, to: impl FnOnce() -> (*mut Worker, u32)) -> Option<Posting> {
    let module = module::get()?;
    let thread = thread::current(module)?;
    // SAFETY: the thread is this one's. A record out of its pool is this post's alone, and stays where it is.
    unsafe {
        if thread::is_posting(thread) {
            return None;
        }
        let operation = (*thread).operations.take();
        if operation.is_null() {
            return None;
        }
        if !module.here(&raw mut (*operation).call) {
            (*thread).operations.give(operation);
            return None;
        }
        let described = &DESCRIBED[function as usize];
        let (worker, peer) = to();
        (*operation).function = function as u8;
        (*operation).is_one_sided = is_one_sided(function);
        (*operation).protocol.set(described.protocol);
        (*operation).arrives.set(described.arrives);
        (*operation).failed = false;
        (*operation).carrier.set(0);
        (*operation).carried_bytes.set(0);
        (*operation).bytes = 0;
        (*operation).buffer = (0, 0);
        (*operation).callback.set(0);
        (*operation).program_info = null_mut();
        (*operation).worker.set(worker);
        (*operation).peer.set(peer);
        (*operation).phase.store(phase::POSTING, Ordering::Relaxed);
        (*operation).begin_ns = if (*operation).call.is_traced() { module.now_ns() } else { 0 };
        (*operation).frame.kind = kind;
        (*operation).frame.operation = operation;
        Frame::enter(&raw mut (*operation).frame, thread);
        Some(Posting { module, thread, operation, function })
    }
}

impl Posting {
    #[inline(always)]
    fn arrives(&self) -> bool {
        DESCRIBED[self.function as usize].arrives
    }

    /// What returns a request, or is done at once.
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
            let Some(is_generic) = self.prepare(data, param, &mut own) else {
                return self.unrecorded(|| run(param));
            };
            let leaving = Leaving { operation: self.operation, thread: self.thread, may_complete: true };
            let returned = run(own.as_ptr());
            forget(leaving);
            if is_generic && !self.arrives() {
                (*self.operation).bytes = (*self.thread).packed_bytes;
            }
            self.end(returned)
        }
    }

    /// Writes what UCX gets instead of the program's. Whether a generic datatype has to be asked; None where it asks for what is not
    /// known here.
    #[inline(always)]
    unsafe fn prepare(
        &self,
        data: Data,
        param: *const RequestParam,
        own: &mut MaybeUninit<RequestParam>,
    ) -> Option<bool> {
        // SAFETY: `param` is what the program gives to UCX, and the record this post's.
        unsafe {
            let operation = self.operation;
            if !params::copy(param, own) {
                return None;
            }
            // SAFETY: what the mask does not name is not read.
            let own = &mut *own.as_mut_ptr();
            let is_generic = self.measure(data, own);
            if own.op_attr_mask & attribute::CALLBACK != 0 {
                (*operation).callback.set(own.callback);
            }
            // What a program does not pass it gets back as null.
            let has_user_data = own.op_attr_mask & attribute::USER_DATA != 0;
            (*operation).user_data = if has_user_data { own.user_data } else { null_mut() };
            own.user_data = operation.cast();
            own.op_attr_mask |= attribute::CALLBACK | attribute::USER_DATA;
            own.callback = if !self.arrives() { sent as SendCallback as usize } else { self.prepare_arrival(own) };
            Some(is_generic)
        }
    }

    #[cold]
    unsafe fn unrecorded<T>(self, run: impl FnOnce() -> T) -> T {
        let leaving = Leaving { operation: self.operation, thread: self.thread, may_complete: false };
        let returned = run();
        drop(leaving);
        returned
    }

    /// What is passed on with the program's own arguments, and is as good as done when it returns.
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
            let leaving = Leaving { operation: self.operation, thread: self.thread, may_complete: false };
            let returned = run();
            forget(leaving);
            self.end(if ucs::is_error(returned) { returned } else { null_mut() });
            returned
        }
    }

    /// What tells only whether it could be posted.
    #[inline(always)]
    pub unsafe fn status(self, bytes: u64, run: impl FnOnce() -> Status) -> Status {
        // SAFETY: the record is this post's: UCX never learns of it.
        unsafe {
            (*self.operation).bytes = bytes;
            let leaving = Leaving { operation: self.operation, thread: self.thread, may_complete: false };
            let status = run();
            forget(leaving);
            if status == ucs::OK || status == ucs::INPROGRESS {
                self.end(null_mut());
            } else {
                self.give_up();
            }
            status
        }
    }

    /// The same for what reads or writes memory of others, and may go on after the call.
    #[inline(always)]
    pub unsafe fn one_sided(self, buffer: usize, bytes: usize, far: u64, run: impl FnOnce() -> Status) -> Status {
        // SAFETY: the record is this post's, from `begin`.
        let (operation, worker) = unsafe { (self.operation, (*self.operation).worker.get()) };
        // SAFETY: as above; workers are never freed.
        unsafe {
            self.status(bytes as u64, || {
                let status = run();
                if let Some(worker) = worker.as_ref()
                    && status == ucs::INPROGRESS
                {
                    let link = Link { operation: null_mut(), ..Link::to(operation) };
                    let recent = Recent { near: (buffer, buffer + bytes), far: (far, far + bytes as u64), link };
                    worker.with(|pending| pending.remember(recent));
                }
                status
            })
        }
    }

    /// The bytes of the message, and where they lie if they are in one piece. Whether a generic datatype has to be asked.
    #[inline(always)]
    unsafe fn measure(&self, data: Data, param: &RequestParam) -> bool {
        // SAFETY: the record is this post's, the thread this one's, and `data` what the program describes by that datatype.
        unsafe {
            let datatype = if param.op_attr_mask & attribute::DATATYPE != 0 { param.datatype } else { 1 << 3 };
            match datatype & ((1 << ucp::DATATYPE_SHIFT) - 1) {
                ucp::DATATYPE_CONTIG => {
                    let bytes = data.count.wrapping_mul((datatype >> ucp::DATATYPE_SHIFT) as usize);
                    (*self.operation).bytes = (*self.operation).bytes.wrapping_add(bytes as u64);
                    (*self.operation).buffer = (data.buffer as usize, (data.buffer as usize).wrapping_add(bytes));
                    false
                }
                ucp::DATATYPE_IOV => {
                    let bytes = datatype::bytes_of_iov(data);
                    (*self.operation).bytes = (*self.operation).bytes.wrapping_add(bytes);
                    false
                }
                ucp::DATATYPE_GENERIC => {
                    (*self.thread).packed_bytes = 0;
                    true
                }
                _ => false,
            }
        }
    }

    /// Bytes beside those of the message itself.
    pub unsafe fn add_bytes(&self, bytes: usize) {
        // SAFETY: the record is this post's: nothing was posted yet.
        unsafe { (*self.operation).bytes = (*self.operation).bytes.wrapping_add(bytes as u64) };
    }

    /// Sees to it that what arrived is told even if the receive is done at once. UCX 1.13 fills in no `recv_info` then, so it is
    /// asked for a request and a callback in any case, and [`finish_at_once`] makes of them what the program expects.
    #[inline(always)]
    unsafe fn prepare_arrival(&self, own: &mut RequestParam) -> usize {
        // SAFETY: as above; libucp writes into the record until it completes the operation, which it is kept for.
        unsafe {
            let operation = self.operation;
            let is_active = self.function == Function::AmRecvDataNbx;
            (*operation).info = TagRecvInfo { sender_tag: 0, length: (*operation).bytes as usize };
            let has_place = own.op_attr_mask & attribute::RECV_INFO != 0;
            if has_place {
                (*operation).program_info = own.recv_info;
            }
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

    #[inline(always)]
    unsafe fn end(self, mut returned: StatusPtr) -> StatusPtr {
        // SAFETY: UCX has returned, so its frame is the innermost again. The record is this post's unless `wait_for` leaves it to the callback.
        unsafe {
            let operation = self.operation;
            Frame::leave(&raw mut (*operation).frame, self.thread);
            if ucs::is_error(returned) {
                self.free();
                return returned;
            }
            if returned.is_null() {
                if self.arrives() {
                    (*operation).bytes = told_at_once(operation);
                }
            } else if self.wait_for(returned) {
                return returned;
            } else if self.arrives() && (*operation).at_once != AtOnce::No {
                returned = finish_at_once(operation, returned);
            }
            if !(*operation).failed {
                count(self.module, self.function as usize, operation, AT_ONCE);
            }
            self.free();
            returned
        }
    }

    /// Leaves it to its callback. False if that came already.
    #[inline(always)]
    unsafe fn wait_for(&self, request: *mut c_void) -> bool {
        // SAFETY: until the operation is pending, its completion touches none of these fields. Workers are never freed.
        unsafe {
            let operation = self.operation;
            if (*operation).phase.load(Ordering::Acquire) == phase::DONE {
                return false;
            }
            (*operation).request.set(request);
            if !(*operation).call.is_traced() {
                (*operation).begin_ns = self.module.now_ns();
            }
            let Some(worker) = (*operation).worker.get().as_ref() else {
                return become_pending(operation, true);
            };
            worker.with(|pending| {
                pending.put(operation);
                let is_pending = become_pending(operation, worker.several_threads);
                if !is_pending {
                    pending.take_out(operation);
                }
                is_pending
            })
        }
    }

    unsafe fn give_up(self) {
        // SAFETY: UCX took no operation, so nobody else knows the record; its frame is the innermost again.
        unsafe {
            Frame::leave(&raw mut (*self.operation).frame, self.thread);
            self.free();
        }
    }

    #[inline(always)]
    unsafe fn free(&self) {
        // SAFETY: each caller is the last to use the record.
        unsafe { free(self.operation, self.thread) };
    }
}

/// Around a call of UCX: an exception of the program may leave it.
struct Leaving {
    operation: *mut Operation,
    thread: *mut Thread,
    /// UCX knows the record.
    may_complete: bool,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        // SAFETY: what stood in its frame stands no more.
        unsafe {
            Frame::leave(&raw mut (*self.operation).frame, self.thread);
            if self.may_complete {
                abandon(self.operation, self.thread);
            } else {
                free(self.operation, self.thread);
            }
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
        } else if (*operation).function == Function::AmRecvDataNbx as u8 {
            *info.cast::<usize>() as u64
        } else {
            (*info.cast::<TagRecvInfo>()).length as u64
        }
    }
}
