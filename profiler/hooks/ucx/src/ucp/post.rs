//! The way of every operation: begun, posted, and counted once it is complete. The hot path of this layer.

use std::ffi::c_void;
use std::mem::{MaybeUninit, forget};
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use commsee_hook::AT_ONCE;
use commsee_runtime::thread_state::{tick_factor, ticks};

use super::complete::{count, received_data, sent};
use super::functions::{DESCRIBED, Function, is_one_sided};
use super::known::received;
use super::{datatype, params};
use crate::abi::ucp::{self, Ep, LengthCallback, RequestParam, SendCallback, TagRecvCallback, TagRecvInfo, attribute};
use crate::abi::ucs::{self, Status, StatusPtr};
use crate::inflight::alike::{self, Alike};
use crate::inflight::endpoints;
use crate::inflight::operation::{
    AtOnce, Operation, Prepared, abandon, become_pending, free, leave_spare, phase, take_spare,
};
use crate::inflight::pending::Recent;
use crate::inflight::thread::{self, Frame, Kind, Link, Marks, Thread};
use crate::inflight::workers::{self, Worker};
use crate::module::{self, Module};

/// An operation that is being posted.
pub struct Posting {
    pub thread: *mut Thread,
    pub operation: *mut Operation,
    /// What is known of such operations, or null.
    pub alike: *mut Alike,
    /// As in the record; here it is known when the wrapper is compiled.
    pub function: Function,
}

/// A message as the program describes it.
#[derive(Clone, Copy)]
pub struct Data {
    pub buffer: *const c_void,
    pub count: usize,
}

/// The handle that it is posted on.
#[derive(Clone, Copy)]
pub enum To {
    Endpoint(Ep),
    Worker(ucp::Worker),
}

impl To {
    #[inline(always)]
    pub fn handle(self) -> usize {
        match self {
            To::Endpoint(handle) | To::Worker(handle) => handle as usize,
        }
    }

    /// The worker, or null, and the peer, or 0.
    fn resolved(self) -> (*mut Worker, u32) {
        match self {
            To::Endpoint(ep) => endpoints::of(ep),
            To::Worker(worker) => (workers::of(worker), 0),
        }
    }
}

/// Where a program names no datatype.
const BYTES: ucp::Datatype = 1 << ucp::DATATYPE_SHIFT;

/// None where it shall only be passed on: nothing is recorded, or UCP calls itself.
#[inline(always)]
pub unsafe fn begin(function: Function, kind: Kind, to: To) -> Option<Posting> {
    // SAFETY: as demanded.
    unsafe { begin_at(function, kind, to, thread::stack()) }
}

/// The same for the function that the program called, whose stack ends there.
#[inline(always)]
pub unsafe fn begin_at(function: Function, kind: Kind, to: To, stack: usize) -> Option<Posting> {
    // SAFETY: the thread is this one's, and the record this post's alone. It stays where it is.
    unsafe {
        let (thread, operation) = record(function, kind, to, stack)?;
        let alike = (*operation).alike;
        (*operation).now.protocol.set(DESCRIBED[function as usize].protocol);
        (*operation).now.carrier.set(0);
        (*operation).now.is_known.set(false);
        (*operation).bytes = 0;
        (*operation).now.phase.store(phase::POSTING, Ordering::Relaxed);
        Frame::enter(&raw mut (*operation).frame, thread, stack);
        Some(Posting { thread, operation, alike, function })
    }
}

/// A record for an operation, and who posts it.
#[inline(never)]
unsafe fn record(function: Function, kind: Kind, to: To, stack: usize) -> Option<(*mut Thread, *mut Operation)> {
    let module = module::get()?;
    let thread = thread::current_at(module, stack)?;
    // SAFETY: as in `begin`.
    unsafe {
        if thread::is_posting(thread) {
            return None;
        }
        let alike = alike::find(thread, function as u8, to.handle());
        if !alike.is_null() && !(*alike).spare.is_null() {
            let spare = (*alike).spare;
            (*spare).now.peer.set((*alike).peer);
            if DESCRIBED[function as usize].arrives {
                take_spare(alike, spare);
            }
            return Some((thread, spare));
        }
        let operation = (*thread).operations.take();
        if operation.is_null() {
            return None;
        }
        let described = &DESCRIBED[function as usize];
        (*operation).now.protocol.set(described.protocol);
        (*operation).function = function as u8;
        (*operation).arrives.set(described.arrives);
        (*operation).failed = false;
        (*operation).prepared.mask = Prepared::NOTHING;
        (*operation).frame.marks = Marks::of(kind);
        (*operation).frame.operation = operation;
        (*operation).frame.posted = null_mut();
        (*operation).begin_ns = 0;
        if alike.is_null() {
            let epoch = (*thread).state.epoch();
            if !module.here(&raw mut (*operation).call) {
                (*thread).operations.give(operation);
                return None;
            }
            let (worker, peer) = to.resolved();
            (*operation).is_one_sided = is_one_sided(function);
            (*operation).worker.set(worker);
            (*operation).now.peer.set(peer);
            if (*operation).call.is_traced() {
                (*operation).begin_ns = module.now_ns();
            }
            alike::remember(thread, operation, to.handle(), epoch);
        } else {
            Alike::describe(alike, operation);
        }
        Some((thread, operation))
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
            let has_callback = own.op_attr_mask & attribute::CALLBACK != 0;
            (*operation).callback.set(if has_callback { own.callback } else { 0 });
            // What a program does not pass it gets back as null.
            let has_user_data = own.op_attr_mask & attribute::USER_DATA != 0;
            (*operation).user_data = if has_user_data { own.user_data } else { null_mut() };
            own.user_data = operation.cast();
            own.op_attr_mask |= attribute::CALLBACK | attribute::USER_DATA;
            let mask = (*param).op_attr_mask;
            own.callback = if !self.arrives() { sent as SendCallback as usize } else { self.prepare_arrival(own) };
            if !self.alike.is_null() {
                self.keep(mask, own);
            }
            Some(is_generic)
        }
    }

    /// Keeps the parameters for the next operation of the kind, if they are simple.
    unsafe fn keep(&self, mask: u32, own: &RequestParam) {
        const SIMPLE: u32 = attribute::REQUEST
            | attribute::CALLBACK
            | attribute::USER_DATA
            | attribute::DATATYPE
            | attribute::NO_IMM_CMPL
            | attribute::FAST_CMPL
            | attribute::MULTI_SEND;
        // SAFETY: the record is this post's. What the mask does not name is not read of the copy.
        unsafe {
            let prepared = &raw mut (*self.operation).prepared;
            let datatype = if mask & attribute::DATATYPE != 0 { own.datatype } else { BYTES };
            let is_in_one_piece = datatype & ((1 << ucp::DATATYPE_SHIFT) - 1) == ucp::DATATYPE_CONTIG;
            if (mask | own.op_attr_mask) & !SIMPLE != 0 || !is_in_one_piece {
                (*prepared).mask = Prepared::NOTHING;
                return;
            }
            let (op_attr_mask, callback, user_data) = (own.op_attr_mask, own.callback, self.operation.cast());
            (*prepared).mask = mask;
            (*prepared).element_bytes = (datatype >> ucp::DATATYPE_SHIFT) as usize;
            (*prepared).param = RequestParam { op_attr_mask, callback, datatype, user_data, ..params::EMPTY };
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
            let datatype = if param.op_attr_mask & attribute::DATATYPE != 0 { param.datatype } else { BYTES };
            match datatype & ((1 << ucp::DATATYPE_SHIFT) - 1) {
                ucp::DATATYPE_CONTIG => {
                    let bytes = data.count.wrapping_mul((datatype >> ucp::DATATYPE_SHIFT) as usize);
                    (*self.operation).bytes = (*self.operation).bytes.wrapping_add(bytes as u64);
                    (*self.operation).buffer = (data.buffer as usize, (data.buffer as usize).wrapping_add(bytes));
                    false
                }
                ucp::DATATYPE_IOV => {
                    (*self.operation).buffer = (0, 0);
                    let bytes = datatype::bytes_of_iov(data);
                    (*self.operation).bytes = (*self.operation).bytes.wrapping_add(bytes);
                    false
                }
                ucp::DATATYPE_GENERIC => {
                    (*self.operation).buffer = (0, 0);
                    (*self.thread).packed_bytes = 0;
                    true
                }
                _ => {
                    (*self.operation).buffer = (0, 0);
                    false
                }
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

    #[inline(always)]
    unsafe fn end(self, returned: StatusPtr) -> StatusPtr {
        // SAFETY: UCX has returned, so its frame is the innermost again.
        unsafe {
            Frame::leave(&raw mut (*self.operation).frame, self.thread);
            self.left(returned)
        }
    }

    /// The same when its frame is left.
    ///
    /// # Safety
    /// UCX has returned.
    #[inline(never)]
    pub unsafe fn left(self, mut returned: StatusPtr) -> StatusPtr {
        // SAFETY: the record is this post's unless `wait_for` leaves it to the callback.
        unsafe {
            let operation = self.operation;
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
            let is_counted = !self.alike.is_null() && !(*operation).failed && Alike::count(self.alike, operation);
            if !is_counted && !(*operation).failed {
                count(self.function as usize, operation, self.alike, AT_ONCE);
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
            if (*operation).now.phase.load(Ordering::Acquire) == phase::DONE {
                return false;
            }
            (*operation).request.set(request);
            leave_spare(operation);
            begin_waiting(operation);
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

/// It goes on from here: the time is taken.
#[inline(always)]
unsafe fn begin_waiting(operation: *mut Operation) {
    // SAFETY: the record is its post's.
    unsafe {
        if (*operation).begin_ns != 0 || tick_factor() == 0 {
            return begin_by_clock(operation);
        }
        (*operation).begin_ticks = ticks();
    }
}

#[cold]
unsafe fn begin_by_clock(operation: *mut Operation) {
    // SAFETY: as above.
    unsafe {
        (*operation).begin_ticks = 0;
        if (*operation).begin_ns == 0 {
            (*operation).begin_ns = module::get().map_or(0, Module::now_ns);
        }
    }
}

/// Around a call of UCX: an exception of the program may leave it.
pub struct Leaving {
    pub operation: *mut Operation,
    pub thread: *mut Thread,
    /// UCX knows the record.
    pub may_complete: bool,
}

impl Drop for Leaving {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: what stood in its frame stands no more.
        unsafe { left_behind(self.operation, self.thread, self.may_complete) };
    }
}

#[cold]
#[inline(never)]
unsafe fn left_behind(operation: *mut Operation, thread: *mut Thread, may_complete: bool) {
    // SAFETY: as above.
    unsafe {
        Frame::leave(&raw mut (*operation).frame, thread);
        if may_complete {
            abandon(operation, thread);
        } else {
            free(operation, thread);
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
