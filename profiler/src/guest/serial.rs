//! Data that calls change one after the other. Only under `MPI_THREAD_MULTIPLE` a lock sees to it; below, the program itself
//! must (MPI-4.1, 11.6), and a lock would be for nothing. A call never finds its own thread at them ([`in_flight`](crate::thread::in_flight)).

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

    /// The work must not come back here. None where another thread does not come back from there: the caller says that something is missing.
    #[inline(always)]
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        if state::is_threaded() {
            return self.locked(work);
        }
        // SAFETY: see above.
        Some(work(unsafe { &mut *self.value.get() }))
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
    fn locked<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        let _taken = self.lock.take()?;
        // SAFETY: locked, here and by all others.
        Some(work(unsafe { &mut *self.value.get() }))
    }
}
