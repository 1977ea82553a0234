//! Data of one thread that others seldom need. A lock would cost its owner two atomic operations each time, and hardly ever does another thread
//! wait for it. So the owner only marks that it is inside, by two stores, until another thread comes for the first time. That
//! thread ends the marks of all owners for good, has every processor that runs this process pass a barrier (membarrier(2)), and waits until
//! the owner has left. From then on everyone locks.
//!
//! After Vasudevan, Namjoshi and Edwards, "Simple and fast biased locks" (PACT 2010). Of a send, a receive and the wait for both, locks took a
//! fifth of what commsee costs.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_long};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence};
use std::time::Duration;

use parking_lot::RawMutex;
use parking_lot::lock_api::RawMutex as _;

use crate::{errno, signals};

/// How owners get at their data: one static for all data of a kind, passed to each call.
pub struct Owners {
    /// By the lock, like all others.
    do_lock: AtomicBool,
    /// And those that do not know it yet have marked where all can see it that they are inside.
    are_marks_seen: AtomicBool,
}

pub struct Biased<T> {
    /// The owner is, without the lock.
    is_owner_inside: AtomicBool,
    lock: RawMutex,
    value: UnsafeCell<T>,
}

/// The owner, without the lock.
pub struct Inside<'a, T>(&'a Biased<T>);

// SAFETY: as told above, no two threads are at the value at the same time.
unsafe impl<T: Send> Sync for Biased<T> {}

impl Owners {
    /// Owners lock as soon as others come.
    pub const fn new() -> Owners {
        Owners { do_lock: AtomicBool::new(false), are_marks_seen: AtomicBool::new(false) }
    }

    /// Several threads may come from now on. Where the kernel has no barrier, owners lock from the beginning. It takes less than a
    /// microsecond while the process has one thread, and some 10 ms later. Nobody may be inside.
    pub fn prepare(&self) {
        if !register() {
            self.do_lock.store(true, Ordering::Release);
            self.are_marks_seen.store(true, Ordering::Release);
        }
    }

    /// Whether [`Biased::enter`] lets nobody in any more.
    #[inline(always)]
    pub fn do_lock(&self) -> bool {
        self.do_lock.load(Ordering::Relaxed)
    }

    #[cold]
    fn end_marks(&self) {
        self.do_lock.store(true, Ordering::SeqCst);
        let expedited = || membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
        // A process that was restored from a checkpoint is not registered any more.
        let is_passed = expedited() || register() && expedited();
        if !is_passed {
            // The kernel refuses what it had granted. A store reaches the other processors by itself in less than a microsecond.
            pause(Duration::from_millis(10));
        }
        self.are_marks_seen.store(true, Ordering::Release);
    }
}

impl Default for Owners {
    fn default() -> Owners {
        Owners::new()
    }
}

impl<T> Biased<T> {
    pub const fn new(value: T) -> Biased<T> {
        Biased { is_owner_inside: AtomicBool::new(false), lock: RawMutex::INIT, value: UnsafeCell::new(value) }
    }

    /// For the owner, without a lock. None where owners must lock.
    ///
    /// # Safety
    /// Only the owner's thread calls it, or calls of different threads come one after the other; and nothing that comes back here is called
    /// before what is returned has been dropped.
    #[inline(always)]
    pub unsafe fn enter(&self, owners: &Owners) -> Option<Inside<'_, T>> {
        self.is_owner_inside.store(true, Ordering::Relaxed);
        // The other half of this barrier is that of `end_marks`.
        compiler_fence(Ordering::SeqCst);
        let inside = Inside(self);
        if owners.do_lock() { None } else { Some(inside) }
    }

    /// For the owner, while all others wait. The work must not come back here.
    #[inline(always)]
    pub fn lock<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        self.lock.lock();
        let _unlock = Unlock(&self.lock);
        // SAFETY: others lock, too, and the owner is here.
        work(unsafe { &mut *self.value.get() })
    }

    /// For all others, while the owner waits, too. The work must not come back here.
    pub fn lock_out<R>(&self, owners: &Owners, work: impl FnOnce(&mut T) -> R) -> R {
        if !owners.are_marks_seen.load(Ordering::Acquire) {
            owners.end_marks();
        }
        self.lock(|value| {
            // For a few instructions, unless its thread was suspended in them.
            while self.is_owner_inside.load(Ordering::Acquire) {
                pause(Duration::from_micros(10));
            }
            work(value)
        })
    }

    /// The value where nobody else comes to it.
    ///
    /// # Safety
    /// That is so, and nothing that comes back here is called while it is held.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn unlocked(&self) -> &mut T {
        // SAFETY: as demanded.
        unsafe { &mut *self.value.get() }
    }
}

impl<T> Deref for Inside<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: others wait until this has been dropped.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Inside<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Inside<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.is_owner_inside.store(false, Ordering::Release);
    }
}

/// Also where the work panics: others may be waiting.
struct Unlock<'a>(&'a RawMutex);

impl Drop for Unlock<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: made where it was locked.
        unsafe { self.0.unlock() };
    }
}

fn register() -> bool {
    membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
}

fn membarrier(command: c_int) -> bool {
    // SAFETY: it touches no memory of ours.
    errno::kept(|| unsafe { libc::syscall(libc::SYS_membarrier, c_long::from(command), 0, 0) == 0 })
}

#[cold]
fn pause(duration: Duration) {
    errno::kept(|| signals::not_cancelled(|| signals::rest(duration)));
}
