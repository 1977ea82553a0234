//! No panic of ours crosses into UCX, and `errno` stays the program's.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::sync::Once;

use crate::module;

/// Runs something cold. `None` if it panicked; from then on calls are only forwarded.
pub fn cold<T>(work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        // This copy of the standard library is our own: no hook of the program is replaced.
        set_hook(Box::new(|panic| module::say(&format!("internal error, UCX is not seen any more: {panic}"))));
    });
    // SAFETY: errno is this thread's own.
    let place = unsafe { libc::__errno_location() };
    let kept = unsafe { *place };
    let done = catch_unwind(AssertUnwindSafe(work));
    unsafe { *place = kept };
    if done.is_err() {
        module::stop();
    }
    done.ok()
}
