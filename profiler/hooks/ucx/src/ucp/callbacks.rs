//! libucp's callbacks: they complete an operation, and pass on to the program's.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use commsee_runtime::stack;

use crate::abi::ucp::{LengthCallback, SendCallback, TagRecvCallback, TagRecvInfo};
use crate::abi::ucs::{self, Status};
use crate::inflight::counting;
use crate::inflight::operation::{AtOnce, Link, Operation, phase};
use crate::inflight::thread::{self, Kind, Standing, Thread};
use crate::inflight::workers;
use crate::module::protocol::Protocol;
use crate::module::{self, Module};

/// Of a send, and of all else without data that arrives.
///
/// # Safety
/// libucp calls it, with the record as user data.
pub unsafe extern "C-unwind" fn sent(request: *mut c_void, status: Status, user_data: *mut c_void) {
    // SAFETY: as demanded; the record holds the program's callback for a send.
    unsafe {
        let program = complete(user_data.cast(), status, None);
        // The older form has no user data; an argument more does no harm in the calling conventions that there are.
        program.run(|callback: SendCallback, user_data| callback(request, status, user_data));
    }
}

/// Of a receive.
///
/// # Safety
/// As above.
pub unsafe extern "C-unwind" fn received(
    request: *mut c_void,
    status: Status,
    info: *const TagRecvInfo,
    user_data: *mut c_void,
) {
    // SAFETY: as for `sent`, with a callback for a receive; `info` is null or libucp's.
    unsafe {
        let operation = user_data.cast::<Operation>();
        let told = info.as_ref().copied().unwrap_or(TagRecvInfo { sender_tag: 0, length: 0 });
        (*operation).info = told;
        let program = complete(operation, status, Some(told.length));
        program.run(|callback: TagRecvCallback, user_data| callback(request, status, info, user_data));
    }
}

/// Of data of an active message.
///
/// # Safety
/// As above.
pub unsafe extern "C-unwind" fn received_data(
    request: *mut c_void,
    status: Status,
    length: usize,
    user_data: *mut c_void,
) {
    // SAFETY: as for `sent`, with a callback for data of an active message.
    unsafe {
        let program = complete(user_data.cast(), status, Some(length));
        program.run(|callback: LengthCallback, user_data| callback(request, status, length, user_data));
    }
}

/// What the program wants to be called.
struct Program {
    /// 0 is nothing.
    callback: usize,
    user_data: *mut c_void,
    thread: Option<*mut Thread>,
}

impl Program {
    /// Calls it, if there is one. What it posts are operations of its own, even if it is called inside of a post.
    ///
    /// # Safety
    /// `Callback` is its type, and `complete` has told this.
    #[inline(always)]
    unsafe fn run<Callback>(self, call: impl FnOnce(Callback, *mut c_void)) {
        const { assert!(size_of::<Callback>() == size_of::<usize>()) };
        if self.callback == 0 {
            return;
        }
        // SAFETY: as demanded; the thread is this one's.
        unsafe {
            let _standing = match self.thread {
                Some(thread) if thread::is_posting(thread) => Standing::enter(thread, Kind::Program, stack::pointer()),
                _ => None,
            };
            call(std::mem::transmute_copy(&self.callback), self.user_data);
        }
    }
}

/// Ends an operation, or leaves that to its post.
#[inline(never)]
unsafe fn complete(operation: *mut Operation, status: Status, arrived: Option<usize>) -> Program {
    // SAFETY: libucp completes an operation once. Its record is not given back before, and the phase says whether the post has let go of it.
    unsafe {
        let thread = module::get().and_then(|module| thread::current(module, stack::pointer()));
        let (callback, user_data) = ((*operation).callback.get(), (*operation).user_data);
        let mut program = Program { callback, user_data, thread };
        let is_at_once = arrived.is_some() && (*operation).at_once != AtOnce::No;
        (*operation).failed = status != ucs::OK;
        (*operation).status = status;
        if let Some(bytes) = arrived {
            (*operation).bytes = bytes as u64;
            if let Some(thread) = thread {
                see_arrival(operation, thread);
            }
        }
        if (*operation).phase.swap(phase::DONE, Ordering::AcqRel) == phase::PENDING {
            retire(operation);
        } else if is_at_once {
            program.callback = 0;
        }
        program
    }
}

/// How a receive got its data shows in what its completion runs in.
unsafe fn see_arrival(operation: *mut Operation, thread: *mut Thread) {
    // SAFETY: the record is in use until its completion is through, and the thread is this one's.
    unsafe {
        let Some(frame) = thread::innermost(thread).filter(|frame| frame.is_progress()) else { return };
        let shown = &(*operation).shown;
        let protocol = shown.protocol.get().refined(frame.shows);
        shown.protocol.set(protocol);
        if let (Kind::Arrival(_, carrier), Protocol::Eager | Protocol::RendezvousAm) = (frame.kind, protocol) {
            shown.carrier.set(carrier);
        }
        frame.link = Some(Link::to_call_of(operation));
    }
}

/// A pending operation is over.
unsafe fn retire(operation: *mut Operation) {
    // SAFETY: its post has let go of the record, and its completion alone takes it out.
    unsafe {
        if let Some(worker) = workers::by_number((*operation).worker)
            && worker.with(|in_flight| in_flight.map.take_out(operation)).is_none()
        {
            // The map may still lead to the record, so it must not serve another operation.
            return;
        }
        let now_ns = module::get().map_or(0, Module::now_ns);
        counting::complete(operation, now_ns.saturating_sub((*operation).begin_ns));
    }
}
