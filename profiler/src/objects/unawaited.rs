//! Data of which a call may go without, and that nobody uses once a jump may have left them half changed.

use std::cell::UnsafeCell;

use commsee_runtime::bounded::Bounded;

use crate::shard::memory;

pub struct Unawaited<T> {
    lock: Bounded,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time is at the value, and only once.
unsafe impl<T: Send> Sync for Unawaited<T> {}

impl<T> Unawaited<T> {
    pub const fn new(value: T) -> Unawaited<T> {
        Unawaited { lock: Bounded::new(), value: UnsafeCell::new(value) }
    }

    /// None where the thread itself is at them already, or where nobody will ever be again: then the profile says that a call is missing.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        let Ok(_taken) = self.lock.take() else {
            memory::give_up_call();
            return None;
        };
        // SAFETY: taken.
        Some(work(unsafe { &mut *self.value.get() }))
    }
}
