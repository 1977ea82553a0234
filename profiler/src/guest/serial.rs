//! Data that calls change one after the other. Only under `MPI_THREAD_MULTIPLE` a lock sees to it; below, the program itself
//! must (MPI-4.1, 11.6), and a lock would be for nothing.
//!
//! Where a handler of a signal has left by a jump, or ended its thread, the data are used on. So they must be fit for use at each instruction:
//! what is incomplete must not be seen before it is complete, and no memory of theirs is freed.

use std::cell::UnsafeCell;

use commsee_runtime::bounded::Bounded;

use crate::guest::state::{self, Alone};

pub struct Serial<T> {
    lock: Bounded,
    value: UnsafeCell<T>,
}

// SAFETY: `value` is only reached through `with`.
unsafe impl<T: Send> Sync for Serial<T> {}

impl<T> Serial<T> {
    pub const fn new(value: T) -> Serial<T> {
        Serial { lock: Bounded::new(), value: UnsafeCell::new(value) }
    }

    /// The work must not come back here. None where nobody can be at the data now: a handler of a signal has interrupted who is, or has left
    /// them by a jump in another thread. The caller says that something is missing.
    #[inline(always)]
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.with_or(|| None, |value| Some(work(value)))
    }

    /// The same; `missing` takes the place of the work.
    #[inline(always)]
    pub fn with_or<R>(&self, missing: impl FnOnce() -> R, work: impl FnOnce(&mut T) -> R) -> R {
        if state::is_threaded() {
            return self.locked(missing, work);
        }
        // SAFETY: see above.
        work(unsafe { &mut *self.value.get() })
    }

    /// The value, where no lock is needed.
    ///
    /// # Safety
    /// Nothing that comes back here is called while it is held.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn of(&self, _: Alone) -> &mut T {
        // SAFETY: as demanded; see above.
        unsafe { &mut *self.value.get() }
    }

    /// The thread ends: what it has left by a jump is for others.
    pub fn let_go(&self) {
        self.lock.let_go();
    }

    /// Apart, so that nothing of it stands in the way of calls without a lock.
    #[cold]
    #[inline(never)]
    fn locked<R>(&self, missing: impl FnOnce() -> R, work: impl FnOnce(&mut T) -> R) -> R {
        let Some(_taken) = self.lock.take_again() else { return missing() };
        // SAFETY: locked, here and by all others.
        work(unsafe { &mut *self.value.get() })
    }
}
