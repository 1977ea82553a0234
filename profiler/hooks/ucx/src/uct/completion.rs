//! Operations of UCT that go on after their call.

use std::sync::atomic::Ordering;

use commsee_runtime::stack;

use crate::abi::ucs;
use crate::abi::uct::Completion;
use crate::inflight::operation::phase;
use crate::inflight::pool::Pool;
use crate::inflight::thread::{self, Kind, Standing};
use crate::inflight::transfer::Transfer;
use crate::module;

/// Called instead of libucp's completion.
///
/// # Safety
/// The transport calls it with the first field of a record that it was given away with.
pub unsafe extern "C-unwind" fn completed(own: *mut Completion) {
    // SAFETY: as demanded; the thread is this one's.
    unsafe {
        let transfer = own.cast::<Transfer>();
        let (status, original) = ((*own).status, (*transfer).original);
        let link = (*transfer).is_linked.then_some((*transfer).link);
        if (*transfer).phase.swap(phase::DONE, Ordering::AcqRel) == phase::PENDING {
            if status == ucs::OK {
                count(transfer);
            }
            Pool::give(transfer);
        }
        let Some(thread) = module::get().and_then(|module| thread::current(module, stack::pointer())) else {
            return invoke(original, status);
        };
        let mut standing = Standing::enter(thread, Kind::Completion, stack::pointer());
        if let Some(standing) = &mut standing {
            standing.frame().link = link;
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

unsafe fn count(transfer: *mut Transfer) {
    let Some(module) = module::get() else { return };
    // SAFETY: the operation was pending, so its post has filled in the record and let go of it.
    unsafe {
        let Transfer { link, route, peer, bytes, begin_ns, .. } = &*transfer;
        let now = module.now_ns();
        module.count(&link.call, *route, *peer, *bytes, *bytes, now.saturating_sub(*begin_ns));
        if link.call.is_traced() {
            module.event(&link.call, *route, *peer, *bytes, *begin_ns, now);
        }
    }
}
