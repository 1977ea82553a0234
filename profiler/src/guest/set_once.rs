//! A value that is set once, before recording starts, and only read from then on: reading costs no test.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;

pub struct SetOnce<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: see `set` and `get`.
unsafe impl<T: Sync> Sync for SetOnce<T> {}

impl<T> SetOnce<T> {
    pub const fn new() -> SetOnce<T> {
        SetOnce(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// SAFETY: called before any `get`, and not while another thread calls either: in `MPI_Init`, before `state::start`,
    /// whose release makes the value visible to those who see the state on.
    pub unsafe fn set(&self, value: T) {
        // SAFETY: nobody else reads or writes it now, as the caller sees to.
        unsafe { (*self.0.get()).write(value) };
    }

    /// SAFETY: called after `set`.
    #[inline(always)]
    pub unsafe fn get(&self) -> &T {
        // SAFETY: it was set, as the caller sees to, and is never written again.
        unsafe { (*self.0.get()).assume_init_ref() }
    }
}

/// Whether something is wanted: told before recording starts, and never taken back. A compiler joins its reading with a test, as it does not
/// with atomic ones.
pub struct Flag(UnsafeCell<bool>);

// SAFETY: see `raise`.
unsafe impl Sync for Flag {}

impl Flag {
    pub const fn new() -> Flag {
        Flag(UnsafeCell::new(false))
    }

    /// SAFETY: before recording starts: nobody reads it meanwhile who would go another way by it.
    #[cfg_attr(target_arch = "aarch64", allow(dead_code))]
    pub unsafe fn raise(&self) {
        // SAFETY: as demanded.
        unsafe { *self.0.get() = true };
    }

    #[inline(always)]
    pub fn is_raised(&self) -> bool {
        // SAFETY: as above.
        unsafe { *self.0.get() }
    }
}
