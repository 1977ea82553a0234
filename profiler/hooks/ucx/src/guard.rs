//! No panic of ours crosses into UCX, and `errno` stays the program's.
//!
//! What may panic runs under [`cold`]. The hot path has nothing in it that may (`tests/ucx.rs` looks at the compiled library), and so
//! needs no guard. No function of UCX or of the program runs under one: an exception of theirs is not ours to catch.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::module;

/// Makes panics say what they cost. This copy of the standard library is our own: no hook of the program is replaced.
pub fn prepare() {
    set_hook(Box::new(|panic| {
        static IS_SAID: AtomicBool = AtomicBool::new(false);
        if !IS_SAID.swap(true, Ordering::Relaxed) {
            module::say(&format!("internal error, UCX is not seen any more: {panic}"));
        }
    }));
}

/// Runs something cold. `None` if it panicked; from then on calls are only forwarded.
pub fn cold<T>(work: impl FnOnce() -> T) -> Option<T> {
    // SAFETY: errno is this thread's own.
    let place = unsafe { libc::__errno_location() };
    let kept = unsafe { *place };
    let done = catch_unwind(AssertUnwindSafe(work));
    unsafe { *place = kept };
    match done {
        Ok(done) => Some(done),
        Err(panic) => {
            broken(panic);
            None
        }
    }
}

#[cold]
#[inline(never)]
fn broken(panic: Box<dyn Any + Send>) {
    module::stop();
    // To drop what somebody panicked with might panic.
    std::mem::forget(panic);
}
