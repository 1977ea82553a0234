//! Data of which a call may go without, so that it never waits for them in vain: a handler of a signal may have interrupted who is at them, and
//! may have left by a jump. To hold signals back would cost two system calls each time.

use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::guest::say::warn_once;
use crate::guest::{errno, signals};
use crate::shard::memory;

/// Nobody is at the data.
const FREE: usize = 0;
/// Who was has left them, and they may be half changed.
const LEFT: usize = usize::MAX;

/// So long somebody else may be at them, suspended by the system: it takes a few instructions otherwise.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_micros(20);
/// So many looks before the first pause: most often that is enough.
const LOOKS: u32 = 200;

pub struct Unawaited<T> {
    /// The thread that is at them, by an address of its own.
    owner: AtomicUsize,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time is at the value, and only once.
unsafe impl<T: Send> Sync for Unawaited<T> {}

impl<T> Unawaited<T> {
    pub const fn new(value: T) -> Unawaited<T> {
        Unawaited { owner: AtomicUsize::new(FREE), value: UnsafeCell::new(value) }
    }

    /// None where the thread itself is at them already, or where nobody will ever be again: then the profile says that a call is missing.
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        let me = errno::place() as usize;
        if !self.take(me) {
            memory::miss_call();
            warn_once!(
                "a handler of a signal has come, or has left by a jump, in the midst of a count: some calls are not counted"
            );
            return None;
        }
        let _release = Release(&self.owner);
        // SAFETY: taken.
        Some(work(unsafe { &mut *self.value.get() }))
    }

    #[inline(always)]
    fn take(&self, me: usize) -> bool {
        match self.owner.compare_exchange(FREE, me, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => true,
            Err(owner) => self.wait(me, owner),
        }
    }

    #[cold]
    #[inline(never)]
    fn wait(&self, me: usize, mut owner: usize) -> bool {
        let (mut looks, mut pauses) = (LOOKS, PATIENCE.as_micros() / PAUSE.as_micros());
        while owner != me && owner != LEFT {
            if looks != 0 {
                looks -= 1;
                spin_loop();
            } else if pauses != 0 {
                pauses -= 1;
                errno::kept(|| signals::not_cancelled(|| signals::rest(PAUSE)));
            } else {
                // If it is only slow, it makes them free again.
                self.owner.compare_exchange(owner, LEFT, Ordering::Relaxed, Ordering::Relaxed).ok();
                return false;
            }
            match self.owner.compare_exchange(FREE, me, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => owner = now,
            }
        }
        false
    }
}

/// Also where the work panics.
struct Release<'a>(&'a AtomicUsize);

impl Drop for Release<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.store(FREE, Ordering::Release);
    }
}
