//! Data of one thread that others seldom need. A lock would cost its owner two atomic operations each time, and hardly ever does another thread
//! wait for it. So the owner only marks that it is inside, by two stores, until another thread comes for the first time. That
//! thread ends the marks of all owners for good, has every processor that runs this process pass a barrier (membarrier(2)), and waits until
//! the owner has left. From then on everyone locks.
//!
//! After Vasudevan, Namjoshi and Edwards, "Simple and fast biased locks" (PACT 2010). Of a send, a receive and the wait for both, locks took a
//! fifth of what commsee costs.
//!
//! A handler of a signal may come while its thread is at such data, and may leave by a jump. It goes without them then, others do after a while,
//! and the owner begins anew once it knows that they were left.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_long};
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering, compiler_fence};
use std::time::Duration;

use crate::bounded::{Bounded, Refused, Taken, Waiting, pause};
use crate::{errno, signals, stack};

/// How owners get at their data: one static for all data of a kind, passed to each call.
pub struct Owners {
    /// By the lock, like all others.
    do_lock: AtomicBool,
    /// And those that do not know it yet have marked where all can see it that they are inside.
    are_marks_seen: AtomicBool,
}

pub struct Biased<T> {
    /// The owner is, without the lock, or has left by a jump.
    is_owner_inside: AtomicBool,
    /// Others have waited for that in vain, and do so more briefly.
    is_given_up: AtomicBool,
    lock: Bounded,
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

    /// Owners lock from now on, though nobody else has come.
    pub fn lock(&self) {
        self.do_lock.store(true, Ordering::Relaxed);
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
        Biased {
            is_owner_inside: AtomicBool::new(false),
            is_given_up: AtomicBool::new(false),
            lock: Bounded::new(),
            value: UnsafeCell::new(value),
        }
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

    /// For the owner: whether it is at them, or has left by a jump.
    #[inline(always)]
    pub fn is_owner_at_it(&self) -> bool {
        self.is_entered() || self.lock.is_own()
    }

    /// Whether the owner is inside without the lock, or has left by a jump.
    #[inline(always)]
    pub fn is_entered(&self) -> bool {
        self.is_owner_inside.load(Ordering::Acquire)
    }

    /// For the owner, while all others wait. The work must not come back here. `missing` where the owner is here already, interrupted by a handler
    /// of a signal, or where another thread never leaves.
    ///
    /// Where somebody has left the data half changed, by a jump, `renewed` makes what takes their place, and is no smaller, if there is memory for
    /// it. It may read them, but trust nothing; they are never dropped.
    #[inline(always)]
    pub fn lock<R>(
        &self,
        renewed: impl FnOnce(&T) -> Option<T>,
        missing: impl FnOnce() -> R,
        work: impl FnOnce(&mut T) -> R,
    ) -> R {
        if let Some(_taken) = self.lock.try_take()
            && !self.is_entered()
        {
            // SAFETY: others lock, too, and the owner is here.
            return work(unsafe { &mut *self.value.get() });
        }
        self.lock_left(renewed, missing, work)
    }

    #[cold]
    #[inline(never)]
    fn lock_left<R>(
        &self,
        renewed: impl FnOnce(&T) -> Option<T>,
        missing: impl FnOnce() -> R,
        work: impl FnOnce(&mut T) -> R,
    ) -> R {
        let Some(_taken) = self.take_left(renewed) else { return missing() };
        // SAFETY: as above.
        work(unsafe { &mut *self.value.get() })
    }

    fn take_left(&self, renewed: impl FnOnce(&T) -> Option<T>) -> Option<Taken<'_>> {
        let taken = match self.lock.take() {
            Ok(taken) if !self.is_entered() => return Some(taken),
            Err(Refused::IsGivenUp) => return None,
            taken => taken,
        };
        if stack::is_in_handler() {
            return None;
        }
        let taken = taken.unwrap_or_else(|_| self.lock.take_over());
        errno::kept(|| {
            signals::undisturbed(|| {
                // SAFETY: locked, and whoever was inside is not any more.
                let Some(anew) = renewed(unsafe { &*self.value.get() }) else {
                    taken.keep();
                    return None;
                };
                // SAFETY: as above.
                unsafe { ptr::write(self.value.get(), anew) };
                self.is_owner_inside.store(false, Ordering::Release);
                Some(taken)
            })
        })
    }

    /// The owner's thread ends, where it may have left them by a jump.
    pub fn let_go(&self, renewed: impl FnOnce(&T) -> Option<T>) {
        if self.is_owner_at_it() {
            self.lock(renewed, || (), |_| ());
        }
    }

    /// For all others, while the owner waits, too. The work must not come back here. `missing` where this thread is here already, interrupted by
    /// a handler of a signal, or where somebody never leaves, or has left by a jump.
    #[inline(always)]
    pub fn lock_out<R>(&self, owners: &Owners, missing: impl FnOnce() -> R, work: impl FnOnce(&mut T) -> R) -> R {
        if !owners.are_marks_seen.load(Ordering::Acquire) {
            owners.end_marks();
        }
        let taken = self.lock.try_take().or_else(|| self.take_as_other());
        let Some(_taken) = taken.filter(|_| !self.is_entered() || self.has_left()) else { return missing() };
        // SAFETY: locked, and the owner does so, too.
        work(unsafe { &mut *self.value.get() })
    }

    #[cold]
    #[inline(never)]
    fn take_as_other(&self) -> Option<Taken<'_>> {
        match self.lock.take() {
            Ok(taken) => return Some(taken),
            Err(Refused::IsOwn) => self.leave(),
            Err(_) => {}
        }
        None
    }

    /// For all others: where this thread has left by a jump, the owner begins anew.
    #[cold]
    pub fn leave(&self) {
        self.lock.leave();
    }

    /// Waits until the owner is not inside without the lock. That takes a few instructions, unless its thread was suspended in them.
    #[cold]
    #[inline(never)]
    fn has_left(&self) -> bool {
        let mut waiting = if self.is_given_up.load(Ordering::Relaxed) { Waiting::brief() } else { Waiting::new() };
        while self.is_entered() {
            if !waiting.go_on() {
                self.is_given_up.store(true, Ordering::Relaxed);
                return false;
            }
        }
        self.is_given_up.store(false, Ordering::Relaxed);
        true
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

fn register() -> bool {
    membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
}

fn membarrier(command: c_int) -> bool {
    // SAFETY: it touches no memory of ours.
    errno::kept(|| unsafe { libc::syscall(libc::SYS_membarrier, c_long::from(command), 0, 0) == 0 })
}
