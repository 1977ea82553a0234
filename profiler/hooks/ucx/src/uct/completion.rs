//! Operations of UCT that go on after their call.

use std::sync::atomic::Ordering;

use crate::abi::ucs;
use crate::abi::uct::Completion;
use crate::inflight::completion::Pending;
use crate::inflight::operation::{give_to_all, phase};
use crate::inflight::thread::{self, Kind, Marks, Standing};
use crate::module;

/// Called instead of libucp's completion.
pub unsafe extern "C-unwind" fn completed(own: *mut Completion) {
    // SAFETY: the first field of a record that this function was given away with.
    unsafe {
        let pending = own.cast::<Pending>();
        let status = (*own).status;
        let original = (*pending).original;
        let (link, is_linked) = ((*pending).link, (*pending).is_linked);
        let thread = module::get().and_then(thread::current);
        if (*pending).phase.swap(phase::DONE, Ordering::AcqRel) == phase::PENDING {
            if status == ucs::OK {
                count(pending);
            }
            match thread {
                Some(thread) => (*thread).completions.give(pending),
                None => give_to_all(pending),
            }
        }
        let mut standing = thread.and_then(|thread| Standing::enter(thread, Marks::of(Kind::Completion)));
        if let Some(standing) = &mut standing
            && is_linked
        {
            standing.frame().set_link(link);
        }
        invoke(original, status);
        drop(standing);
    }
}

/// `uct_invoke_completion`: one of the operations that it counts is done, with its first error kept.
unsafe fn invoke(completion: *mut Completion, status: ucs::Status) {
    // SAFETY: null, or libucp's own, which it keeps until all operations that it counts are done.
    unsafe {
        if completion.is_null() {
            return;
        }
        if status != ucs::OK && (*completion).status == ucs::OK {
            (*completion).status = status;
        }
        (*completion).count -= 1;
        if (*completion).count == 0
            && let Some(func) = (*completion).func
        {
            func(completion);
        }
    }
}

unsafe fn count(pending: *mut Pending) {
    let Some(module) = module::get() else { return };
    // SAFETY: the operation was pending, so its post has filled in the record and let go of it.
    unsafe {
        let Pending { link, route, peer, bytes, begin_ns, .. } = &*pending;
        let now = module.now_ns();
        module.count(&link.call, *route, *peer, *bytes, *bytes, now.saturating_sub(*begin_ns));
        if link.call.is_traced() {
            module.event(&link.call, *route, *peer, *bytes, *begin_ns, now);
        }
    }
}
