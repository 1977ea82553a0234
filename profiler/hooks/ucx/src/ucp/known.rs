//! Messages like others before, from post to completion: the short path. Whatever is different in any way is left to [`super::post`] and
//! [`super::complete`], which take all, and make out of it what is known here.

use std::ffi::c_void;
use std::mem::forget;
use std::ptr::null_mut;
use std::sync::atomic::{Ordering, fence};

use commsee_runtime::thread_state::{nanoseconds, ticks};

use super::functions::{DESCRIBED, Function};
use super::post::{Data, Leaving, Posting, To};
use crate::abi::ucp::{RequestParam, TagRecvCallback, TagRecvInfo, attribute};
use crate::abi::ucs::{self, Status, StatusPtr};
use crate::inflight::alike::{self, Alike, Counter};
use crate::inflight::operation::{AtOnce, Now, Operation, end_of_buffer, phase, put_spare, take_spare, wants_spare};
use crate::inflight::thread::{Frame, Kind, Marks, Standing, Thread};
use crate::inflight::tls;
use crate::module;

/// A message that is being posted.
pub struct Known {
    thread: *mut Thread,
    operation: *mut Operation,
}

/// None where it is no message like the last one that its record was for.
#[inline(always)]
pub unsafe fn begin(function: Function, to: To, data: Data, param: *const RequestParam) -> Option<Known> {
    let thread = tls::get();
    // Where calls are only forwarded no entry is of this epoch.
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
        let bytes = data.count.wrapping_mul((*prepared).element_bytes);
        (*operation).bytes = bytes as u64;
        (*operation).buffer.0 = data.buffer as usize;
        (*operation).now.set_word((*alike).posting);
        if DESCRIBED[function as usize].arrives {
            take_spare(alike, operation);
        }
        (*operation).frame.enter_first(thread);
        Some(Known { thread, operation })
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
    pub unsafe fn sent(self, returned: StatusPtr) -> StatusPtr {
        // SAFETY: UCX has returned, and without a request it knows the record no more.
        unsafe {
            let operation = self.operation;
            if !returned.is_null() || !Alike::count_done((*operation).alike, operation) {
                return sent_otherwise(operation, returned);
            }
            (*operation).generation.set((*operation).generation.get().wrapping_add(1));
            returned
        }
    }

    /// A receive has returned.
    #[inline(always)]
    pub unsafe fn posted(self, returned: StatusPtr) -> StatusPtr {
        // SAFETY: until the operation is pending, its completion touches none of these fields. One thread at a time uses the worker of such
        // operations, which is never freed.
        unsafe {
            let operation = self.operation;
            let alike = (*operation).alike;
            if (*operation).now.word() != (*alike).posting {
                return posted_and_done(operation, returned);
            }
            let Some(waiting) = Alike::waiting(alike) else { return posted_otherwise(operation, returned) };
            let waits = !returned.is_null()
                && !ucs::is_error(returned)
                && (*(*alike).worker).with_turns(|pending| pending.put_in_free_slot(operation));
            if !waits {
                return posted_otherwise(operation, returned);
            }
            end_of_buffer(operation);
            (*operation).request.set(returned);
            (*operation).begin_ticks = ticks();
            (*operation).now.set_word(waiting);
            returned
        }
    }
}

#[cold]
#[inline(never)]
unsafe fn sent_otherwise(operation: *mut Operation, returned: StatusPtr) -> StatusPtr {
    // SAFETY: UCX has returned.
    unsafe { otherwise(Function::TagSendNbx, operation, returned) }
}

#[cold]
#[inline(never)]
unsafe fn posted_otherwise(operation: *mut Operation, returned: StatusPtr) -> StatusPtr {
    // SAFETY: as above.
    unsafe {
        // With a request its callback writes that, maybe in another thread just now.
        if returned.is_null() {
            (*operation).info = TagRecvInfo { sender_tag: 0, length: (*operation).bytes as usize };
        }
        otherwise(Function::TagRecvNbx, operation, returned)
    }
}

/// A receive has returned whose message was there already, so that its callback has come.
#[inline(never)]
unsafe fn posted_and_done(operation: *mut Operation, returned: StatusPtr) -> StatusPtr {
    // What another thread has written that completed it.
    fence(Ordering::Acquire);
    // SAFETY: as above; its completion is through.
    unsafe {
        let alike = (*operation).alike;
        let is_done = (*operation).now.word() == Now::in_phase((*alike).posting, phase::DONE)
            && !(*operation).failed
            && (*operation).at_once == AtOnce::No
            && !returned.is_null()
            && !ucs::is_error(returned)
            && wants_spare(&*alike)
            && Alike::count(alike, operation);
        if !is_done {
            return posted_otherwise(operation, returned);
        }
        (*operation).generation.set((*operation).generation.get().wrapping_add(1));
        (*operation).now.set_word((*alike).posting);
        put_spare(alike, operation);
        returned
    }
}

/// Leaves the rest of a post to where there is room for it.
unsafe fn otherwise(function: Function, operation: *mut Operation, returned: StatusPtr) -> StatusPtr {
    // SAFETY: UCX has returned, and the post is this thread's.
    unsafe {
        end_of_buffer(operation);
        Posting { thread: tls::get(), operation, alike: (*operation).alike, function }.left(returned)
    }
}

/// A receive that is pending, and a plain message that completes it.
struct Arrived {
    alike: *mut Alike,
    frame: *mut Frame,
    counter: *const Counter,
    bytes: u64,
    duration_ns: u64,
}

impl Arrived {
    /// None where it is anything else.
    #[inline(always)]
    unsafe fn find(operation: *mut Operation, status: Status, info: *const TagRecvInfo) -> Option<Arrived> {
        let thread = tls::get();
        if status != ucs::OK || info.is_null() || thread.is_null() {
            return None;
        }
        // SAFETY: as in `complete`: what is known of it stands in a slot and has an entry. The frame is this thread's as long as the stack is no
        // shorter than where it was entered.
        unsafe {
            let frame = (*thread).frame.as_mut()?;
            if !(*operation).now.is_known.get() || !frame.is_around_here() {
                return None;
            }
            let (alike, bytes) = ((*operation).alike, (*info).length as u64);
            if !Alike::is_of(alike, operation, thread) || (*thread).state.is_off() {
                return None;
            }
            let counter = Alike::waited(alike, operation, frame.marks, bytes)?;
            let end_ticks = ticks();
            let duration_ns = nanoseconds((*thread).state.tick_factor(), (*operation).begin_ticks, end_ticks);
            Some(Arrived { alike, frame, counter, bytes, duration_ns })
        }
    }

    /// It is counted: its record is free for the next one. Calls what the program wants to be called.
    #[inline(always)]
    unsafe fn end(self, operation: *mut Operation, request: *mut c_void, status: Status, info: *const TagRecvInfo) {
        // SAFETY: as above.
        unsafe {
            *(*operation).slot = null_mut();
            (*operation).generation.set((*operation).generation.get().wrapping_add(1));
            (*operation).now.set_word((*self.alike).posting);
            put_spare(self.alike, operation);
            (*self.frame).set_first_alike(self.alike);
            // Nobody posts with its record before the callback does.
            let (callback, user_data) = ((*operation).callback.get(), (*operation).user_data);
            if callback != 0 {
                // What it posts are operations of its own: no call of UCP is around it.
                let callback = std::mem::transmute::<usize, TagRecvCallback>(callback);
                callback(request, status, info, user_data);
            }
        }
    }
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
        let Some(arrived) = Arrived::find(operation, status, info) else {
            return received_in_post(request, status, info, operation);
        };
        if !(*arrived.counter).add_timed(arrived.bytes, arrived.duration_ns) {
            return shortest_or_longest(request, status, info, operation, arrived.duration_ns);
        }
        arrived.end(operation, request, status, info);
    }
}

/// The same where none was shorter, or longer, so far: the core is told how long it took. Measured anew it would always be longer, and those
/// as short as it would come here again.
#[cold]
#[inline(never)]
unsafe extern "C-unwind" fn shortest_or_longest(
    request: *mut c_void,
    status: Status,
    info: *const TagRecvInfo,
    operation: *mut Operation,
    duration_ns: u64,
) {
    // SAFETY: as above; nothing has changed since.
    unsafe {
        let (Some(module), Some(arrived)) = (module::get(), Arrived::find(operation, status, info)) else {
            return super::complete::received(request, status, info, operation.cast());
        };
        (*arrived.counter).tell(module, arrived.bytes, duration_ns);
        arrived.end(operation, request, status, info);
    }
}

/// The same of a message that was there already, for a program that is called even so: its post counts it. Leaves all else to
/// [`super::complete`].
#[inline(never)]
unsafe extern "C-unwind" fn received_in_post(
    request: *mut c_void,
    status: Status,
    info: *const TagRecvInfo,
    operation: *mut Operation,
) {
    let thread = tls::get();
    // SAFETY: as above. The post is this thread's, and waits for this to return.
    unsafe {
        let is_own =
            !thread.is_null() && (*thread).frame == &raw mut (*operation).frame && (*operation).frame.is_around_here();
        if !is_own || status != ucs::OK || info.is_null() || (*operation).at_once != AtOnce::No {
            return super::complete::received(request, status, info, operation.cast());
        }
        (*operation).bytes = (*info).length as u64;
        (*operation).now.phase.store(phase::DONE, Ordering::Relaxed);
        let (callback, user_data) = ((*operation).callback.get(), (*operation).user_data);
        if callback != 0 {
            // What it posts are operations of its own.
            let _standing = Standing::enter(thread, Marks::of(Kind::Program));
            let callback = std::mem::transmute::<usize, TagRecvCallback>(callback);
            callback(request, status, info, user_data);
        }
    }
}
