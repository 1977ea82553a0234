//! No panic crosses the boundary to the program: what fails in here switches recording off and is said.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

use crate::{errno, say, state};

/// Runs one of our slow paths. `None` if it panicked; from then on calls are only forwarded.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    errno::kept(|| caught(work))
}

/// The same for what asks nothing of the system, or keeps `errno` itself where it does.
pub fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(value) => Some(value),
        Err(_) => {
            state::stop();
            None
        }
    }
}

/// What is recorded of a call that has returned. A panic ends the recording, and the program gets what its call returned.
#[inline(always)]
pub fn recorded(work: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        state::stop();
    }
}

/// Panics are said in our words. This copy of the standard library is our own, so no hook of the program is replaced.
pub fn install() {
    set_hook(Box::new(|panic| {
        say::warn_of(format_args!("internal error, recording stops (the program goes on): {panic}"));
    }));
}
