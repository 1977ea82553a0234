//! No panic crosses the boundary to the program: what fails in here switches recording off and is said.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

use crate::guest::{errno, say, signals, state};

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

/// The same for work that calls the system a great deal: the thread may have been cancelled, and must not end in it.
pub fn uncancelled<T>(work: impl FnOnce() -> T) -> Option<T> {
    signals::not_cancelled(|| guarded(work))
}

/// What is recorded of a call that has returned. A panic ends the recording, and the program gets what its call returned.
#[inline(always)]
pub fn recorded(work: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        state::stop();
    }
}

/// Undoes what was done before a call, where the program leaves that by an exception or by the end of its thread.
pub struct Undo<F: FnMut()>(pub F);

impl<F: FnMut()> Undo<F> {
    /// The call has returned.
    #[inline(always)]
    pub fn forget(self) {
        std::mem::forget(self);
    }
}

impl<F: FnMut()> Drop for Undo<F> {
    #[inline(always)]
    fn drop(&mut self) {
        caught(&mut self.0);
    }
}

/// Panics are said in our words. This copy of the standard library is our own, so no hook of the program is replaced.
pub fn install() {
    set_hook(Box::new(|panic| {
        say::warn_of(format_args!("internal error, recording stops (the program goes on): {panic}"));
    }));
}
