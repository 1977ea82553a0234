//! No panic crosses the boundary to the program: what fails in a library of ours ends its recording, and is said.
//!
//! Nothing of the program's, nor of the library that it calls, may run in here: an exception of theirs is not ours to catch.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::{errno, say, signals, stack};

/// What ends the recording.
static STOP: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Before anything else: what ends the recording, and what is said of that. This copy of the standard library is our own, so no hook of
/// the program is replaced.
pub fn install(stop: fn(), lost: &'static str) {
    STOP.store(stop as *mut (), Ordering::Release);
    set_hook(Box::new(move |panic| {
        static IS_SAID: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
        if !IS_SAID.swap(true, Ordering::Relaxed) {
            say::warn_of(format_args!("internal error, {lost}: {panic}"));
        }
    }));
}

/// Runs one of our slow paths. `None` if it panicked; from then on calls are only forwarded.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    errno::kept(|| caught(work))
}

/// The same for what asks nothing of the system, or keeps `errno` itself where it does.
pub fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(value) => Some(value),
        Err(panic) => {
            broken(panic);
            None
        }
    }
}

/// The same for work that calls the system a great deal: the thread may have been cancelled, and must not end in it.
pub fn uncancelled<T>(work: impl FnOnce() -> T) -> Option<T> {
    signals::not_cancelled(|| guarded(work))
}

/// The same for work that needs much of the stack besides, of which the program's thread may have little.
pub fn with_room<T>(work: impl FnOnce() -> T) -> Option<T> {
    signals::not_cancelled(|| errno::kept(|| stack::with_room(|| caught(work))))
}

/// What is recorded of a call that has returned. A panic ends the recording, and the program gets what its call returned.
#[inline(always)]
pub fn recorded(work: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
        broken(panic);
    }
}

#[cold]
#[inline(never)]
fn broken(panic: Box<dyn Any + Send>) {
    let stop = STOP.load(Ordering::Acquire);
    if !stop.is_null() {
        // SAFETY: `install` put it there.
        unsafe { std::mem::transmute::<*mut (), fn()>(stop)() };
    }
    // To drop what somebody panicked with might panic.
    std::mem::forget(panic);
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
