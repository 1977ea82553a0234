//! Data that calls change one after the other. Only under `MPI_THREAD_MULTIPLE` a lock sees to it; below, the program itself
//! must (MPI-4.1, 11.6), and a lock would be for nothing.

use std::cell::UnsafeCell;

use parking_lot::lock_api::RawMutex as _;

use crate::guest::state::{self, Alone};

pub struct Serial<T> {
    lock: parking_lot::RawMutex,
    value: UnsafeCell<T>,
}

// SAFETY: `value` is only reached through `with`.
unsafe impl<T: Send> Sync for Serial<T> {}

impl<T> Serial<T> {
    pub const fn new(value: T) -> Serial<T> {
        Serial { lock: parking_lot::RawMutex::INIT, value: UnsafeCell::new(value) }
    }

    /// The work must not come back here.
    #[inline(always)]
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        if state::is_threaded() {
            return self.locked(work);
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

    /// Apart, so that nothing of it stands in the way of calls without a lock.
    #[cold]
    #[inline(never)]
    fn locked<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        self.lock.lock();
        let _unlock = Unlock(&self.lock);
        // SAFETY: locked, here and by all others.
        work(unsafe { &mut *self.value.get() })
    }
}

/// Also where the work panics: others may be waiting.
struct Unlock<'a>(&'a parking_lot::RawMutex);

impl Drop for Unlock<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: made where it was locked.
        unsafe { self.0.unlock() };
    }
}
