//! A lock that nobody waits for in vain: a handler of a signal may have left, by a jump, the thread that holds it. Then who comes goes without. To hold
//! signals back would cost two system calls each time.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::{errno, signals, stack};

const FREE: usize = 0;
/// It was held for so long that nobody waits any more. Who holds it may still make it free. No thread's word.
const GIVEN_UP: usize = 1;

/// It is held for a few instructions. Who holds it longer was suspended by the system, or has left.
const PATIENCE: Duration = Duration::from_secs(2);
/// So many looks before the first pause: most often that is enough.
const LOOKS: u32 = 200;
const SHORT_PAUSE: Duration = Duration::from_micros(20);
const SHORT_PAUSES: u32 = 200;
const LONG_PAUSE: Duration = Duration::from_millis(1);

/// Free, given up, or the word of the thread that holds it.
#[derive(Default)]
pub struct Bounded(AtomicUsize);

/// It is held as long as this is there.
#[must_use]
pub struct Taken<'a>(&'a Bounded);

impl Bounded {
    pub const fn new() -> Bounded {
        Bounded(AtomicUsize::new(FREE))
    }

    /// None where another thread does not come back from there, or this one has it: it was interrupted by a handler of a signal.
    #[inline(always)]
    pub fn take(&self) -> Option<Taken<'_>> {
        match self.try_take() {
            Some(taken) => Some(taken),
            None => self.wait(),
        }
    }

    /// None where it is not free.
    #[inline(always)]
    pub fn try_take(&self) -> Option<Taken<'_>> {
        let taken = self.0.compare_exchange(FREE, this_thread(), Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok().then(|| Taken(self))
    }

    #[cold]
    #[inline(never)]
    fn wait(&self) -> Option<Taken<'_>> {
        let mut waiting = Waiting::new();
        loop {
            let holder = match self.0.compare_exchange(FREE, this_thread(), Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(Taken(self)),
                Err(holder) => holder,
            };
            if holder == GIVEN_UP || holder == this_thread() {
                return None;
            }
            if !waiting.go_on() {
                _ = self.0.compare_exchange(holder, GIVEN_UP, Ordering::Relaxed, Ordering::Relaxed);
                return None;
            }
        }
    }
}

/// Also where the work panics.
impl Drop for Taken<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.0.store(FREE, Ordering::Release);
    }
}

/// How long somebody waits for another thread. It is not told by a clock, which goes on where all of them are suspended.
pub struct Waiting {
    looks: u32,
    short: u32,
    long: u128,
}

impl Waiting {
    pub fn new() -> Waiting {
        Waiting { looks: LOOKS, short: SHORT_PAUSES, long: PATIENCE.as_nanos() / LONG_PAUSE.as_nanos() }
    }

    /// As long as others are there for, most often.
    pub fn brief() -> Waiting {
        Waiting { looks: LOOKS, short: 1, long: 0 }
    }

    /// Waits a little. False where it has been long enough.
    pub fn go_on(&mut self) -> bool {
        if self.looks != 0 {
            self.looks -= 1;
            spin_loop();
        } else if self.short != 0 {
            self.short -= 1;
            pause(SHORT_PAUSE);
        } else if self.long != 0 {
            self.long -= 1;
            pause(LONG_PAUSE);
        } else {
            return false;
        }
        true
    }
}

impl Default for Waiting {
    fn default() -> Waiting {
        Waiting::new()
    }
}

#[cold]
pub fn pause(duration: Duration) {
    errno::kept(|| signals::not_cancelled(|| signals::rest(duration)));
}

/// No other living thread has the same word.
#[inline(always)]
fn this_thread() -> usize {
    if stack::HAS_THREAD_POINTER { stack::thread_pointer() } else { errno::place() as usize }
}
