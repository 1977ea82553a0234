//! Messages like others before, from post to completion: the short path. Whatever is different in any way is left to [`super::post`] and
//! [`super::complete`], which take all, and make out of it what is known here.

use std::ffi::c_void;
use std::mem::forget;
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use commsee_runtime::thread_state::{nanoseconds, ticks};

use super::functions::{DESCRIBED, Function};
use super::post::{Data, Leaving, Posting, To};
use crate::abi::ucp::{RequestParam, TagRecvCallback, TagRecvInfo, attribute};
use crate::abi::ucs::{self, Status, StatusPtr};
use crate::inflight::alike::{self, Alike};
use crate::inflight::operation::{Operation, phase};
use crate::inflight::thread::{Kind, Thread};
use crate::inflight::tls;
use crate::module::protocol::Protocol;
use crate::module::{self, Module};

/// A message that is being posted.
pub struct Known {
    thread: *mut Thread,
    alike: *mut Alike,
    operation: *mut Operation,
}

/// None where it is no message like the last one that its record was for.
#[inline(always)]
pub unsafe fn begin(function: Function, to: To, data: Data, param: *const RequestParam) -> Option<Known> {
    module::get()?;
    let thread = tls::get();
    // SAFETY: the thread is this one's, which is inside of nothing. A spare record is filled in but for what is written here, and this post's
    // alone until its frame is left. Of what the program gives to UCX that is read which every version has.
    unsafe {
        let alike = alike::find(thread, function as u8, to.handle());
        if alike.is_null() || param.is_null() {
            return None;
        }
        let operation = (*alike).spare;
        if operation.is_null() {
            return None;
        }
        let prepared = &raw mut (*operation).prepared;
        let mask = (*param).op_attr_mask;
        let is_typed = mask & attribute::DATATYPE != 0;
        if mask != (*prepared).mask || is_typed && (*param).datatype != (*prepared).param.datatype {
            return None;
        }
        (*prepared).param.request = (*param).request;
        if mask & (attribute::CALLBACK | attribute::USER_DATA) != 0 {
            let has_callback = mask & attribute::CALLBACK != 0;
            (*operation).callback.set(if has_callback { (*param).callback } else { 0 });
            let has_user_data = mask & attribute::USER_DATA != 0;
            (*operation).user_data = if has_user_data { (*param).user_data } else { null_mut() };
        }
        let described = &DESCRIBED[function as usize];
        let bytes = data.count.wrapping_mul((*prepared).element_bytes);
        (*operation).bytes = bytes as u64;
        (*operation).buffer = (data.buffer as usize, (data.buffer as usize).wrapping_add(bytes));
        (*operation).protocol.set(described.protocol);
        (*operation).carrier.set(0);
        (*operation).carried_bytes.set(0);
        if described.arrives {
            (*operation).peer.set((*alike).peer);
            (*operation).info = TagRecvInfo { sender_tag: 0, length: bytes };
        }
        let frame = &raw mut (*operation).frame;
        (*frame).enter_first(thread);
        Some(Known { thread, alike, operation })
    }
}

impl Known {
    /// Calls UCX.
    #[inline(always)]
    pub unsafe fn run(&self, run: impl FnOnce(*const RequestParam) -> StatusPtr) -> StatusPtr {
        // SAFETY: the record is this post's until its frame is left.
        unsafe {
            let leaving = Leaving { operation: self.operation, thread: self.thread, may_complete: true };
            let returned = run(&raw const (*self.operation).prepared.param);
            forget(leaving);
            (*self.thread).frame = null_mut();
            returned
        }
    }

    /// A send has returned.
    #[inline(always)]
    pub unsafe fn sent(self, function: Function, returned: StatusPtr) -> StatusPtr {
        // SAFETY: UCX has returned, and without a request it knows the record no more.
        unsafe {
            if returned.is_null() && Alike::count(self.alike, self.operation) {
                (*self.operation).generation.set((*self.operation).generation.get().wrapping_add(1));
                return returned;
            }
            self.returned(function, returned)
        }
    }

    /// A receive has returned.
    #[inline(always)]
    pub unsafe fn posted(self, function: Function, returned: StatusPtr) -> StatusPtr {
        // SAFETY: until the operation is pending, its completion touches none of these fields. One thread at a time uses its worker, which is
        // never freed.
        unsafe {
            let (operation, alike) = (self.operation, self.alike);
            let waits = !returned.is_null()
                && !ucs::is_error(returned)
                && (*operation).phase.load(Ordering::Relaxed) == phase::POSTING
                && (*alike).takes_turns
                && (*self.thread).state.tick_factor() != 0
                && (*(*alike).worker).with_turns(|pending| pending.put_in_free_slot(operation));
            if !waits {
                return self.returned(function, returned);
            }
            (*alike).spare = null_mut();
            (*operation).request.set(returned);
            (*operation).begin_ticks = ticks();
            (*operation).phase.store(phase::PENDING, Ordering::Release);
            returned
        }
    }

    #[cold]
    #[inline(never)]
    unsafe fn returned(self, function: Function, returned: StatusPtr) -> StatusPtr {
        let Known { thread, alike, operation } = self;
        // SAFETY: as in `run`.
        unsafe { Posting { thread, operation, alike, function }.left(returned) }
    }
}

/// Completes a receive that is pending, with a plain message that arrives just now. False where it is anything else.
#[inline(always)]
unsafe fn is_completed(operation: *mut Operation, status: Status, info: *const TagRecvInfo) -> bool {
    let (Some(module), thread) = (module::get(), tls::get()) else { return false };
    if status != ucs::OK || info.is_null() || thread.is_null() {
        return false;
    }
    // SAFETY: as in `complete`. The frame is this thread's as long as the stack is no shorter than where it was entered.
    unsafe {
        let Some(frame) = (*thread).frame.as_mut() else { return false };
        let alike = (*operation).alike;
        let is_known = frame.marks.kind == Kind::Arrival
            && frame.marks.is_plain
            && frame.is_around_here()
            && !alike.is_null()
            && Alike::is_of(alike, operation, thread)
            && (*alike).takes_turns
            && (*alike).spare.is_null()
            && (*operation).phase.load(Ordering::Relaxed) == phase::PENDING
            && (*operation).begin_ticks != 0
            && !(*thread).state.is_off();
        if !is_known {
            return false;
        }
        let bytes = (*info).length as u64;
        let is_counted = (*operation).protocol.get() == Protocol::Eager
            && (*operation).peer.get() == (*alike).peer
            && Alike::counts_eager(alike, frame.marks.carrier, bytes)
            && (*(*alike).worker).with_turns(|pending| pending.take_out_of_slot(operation));
        if !is_counted {
            return false;
        }
        let duration_ns = nanoseconds((*thread).state.tick_factor(), (*operation).begin_ticks, ticks());
        add(module, alike, bytes, duration_ns);
        (*operation).generation.set((*operation).generation.get().wrapping_add(1));
        (*operation).phase.store(phase::POSTING, Ordering::Release);
        (*alike).spare = operation;
        frame.set_alike(alike);
        true
    }
}

#[inline(always)]
unsafe fn add(module: &Module, alike: *mut Alike, bytes: u64, duration_ns: u64) {
    // SAFETY: the entry has a counter for these bytes, and the thread may count.
    unsafe { module.add((*alike).counter(), bytes, duration_ns) }
}

/// libucp's callback for receives, which passes on to the program's.
pub unsafe extern "C-unwind" fn received(
    request: *mut c_void,
    status: Status,
    info: *const TagRecvInfo,
    user_data: *mut c_void,
) {
    // SAFETY: what the post gave libucp with this function: the operation's record, which holds the program's callback for a receive.
    unsafe {
        let operation = user_data.cast::<Operation>();
        let (callback, user_data) = ((*operation).callback.get(), (*operation).user_data);
        if !is_completed(operation, status, info) {
            return super::complete::received(request, status, info, operation.cast());
        }
        if callback != 0 {
            // What it posts are operations of its own: no call of UCP is around it.
            let callback = std::mem::transmute::<usize, TagRecvCallback>(callback);
            callback(request, status, info, user_data);
        }
    }
}
