//! Operations of UCT that go on after their call.

use std::sync::atomic::Ordering;

use commsee_hook::Call;
use commsee_runtime::stack;

use super::answers;
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
    // SAFETY: as demanded; the thread is this one's. Until the phase says that it is over, only what `Transmission::completion` wrote is read.
    unsafe {
        let transfer = own.cast::<Transfer>();
        let (status, original) = ((*own).status, (*transfer).original);
        let (link, shows, worker) = ((*transfer).known_link(), (*transfer).shows, (*transfer).worker);
        let mut unlinked = None;
        if (*transfer).phase.swap(phase::DONE, Ordering::AcqRel) == phase::PENDING {
            let known = transfer.read();
            Pool::give(transfer);
            match link {
                _ if status != ucs::OK => {}
                Some(link) => count(&known, known.route, &link.call),
                None => unlinked = Some(known),
            }
        }
        let thread = module::get().and_then(|module| thread::current(module, stack::pointer()));
        let mut standing = thread.and_then(|thread| Standing::enter(thread, Kind::Completion, stack::pointer()));
        if let Some(standing) = &mut standing {
            standing.frame().link = link;
            standing.frame().shows = shows;
        }
        invoke(original, status);
        let frame = standing.as_mut().map(|standing| &*standing.frame());
        // What libucp went on with may have shown to what it belongs.
        let found = frame.and_then(|frame| frame.link.as_ref());
        if let (Some(module), Some(frame)) = (module::get(), frame)
            && !frame.answers().is_empty()
        {
            answers::count_all(module, worker, frame.answers(), found);
        }
        match (unlinked, found) {
            (Some(known), Some(link)) => count(&known, known.linked_route, &link.call),
            (Some(known), None) => count(&known, known.route, &Call::NONE),
            (None, _) => {}
        }
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

/// It is over: its post has filled in the record.
fn count(transfer: &Transfer, route: u32, call: &Call) {
    let Some(module) = module::get() else { return };
    let Transfer { peer, bytes, begin_ns, .. } = *transfer;
    let now = module.now_ns();
    module.count(call, route, peer, bytes, bytes, now.saturating_sub(begin_ns));
    if call.is_traced() {
        module.event(call, route, peer, bytes, begin_ns, now);
    }
}
