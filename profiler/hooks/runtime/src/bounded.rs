//! A lock that nobody waits for in vain. A handler of a signal may have interrupted the thread that holds it, and may have left by a jump: then
//! who comes goes without. To hold signals back would cost two system calls each time.

use std::hint::spin_loop;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::{errno, signals, stack};

/// Nobody holds it.
const FREE: usize = 0;
/// With it stands who holds it, and that others wait no more. A thread's word is even.
const GIVEN_UP: usize = 1;
/// Nobody holds it, but what it guards was left half changed. No thread's word.
const LEFT: usize = 2;

/// It is held for a few instructions. Who holds it longer was suspended by the system, or has left.
const PATIENCE: Duration = Duration::from_secs(2);
/// So many looks before the first pause: most often that is enough.
const LOOKS: u32 = 200;
const SHORT_PAUSE: Duration = Duration::from_micros(20);
const SHORT_PAUSES: u32 = 200;
const LONG_PAUSE: Duration = Duration::from_millis(1);

pub struct Bounded {
    /// The thread that holds it, by a word of its own.
    holder: AtomicUsize,
}

/// It is held as long as this is there.
#[must_use]
pub struct Taken<'a>(&'a Bounded);

/// Why it was not taken.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// The thread itself holds it: it was interrupted by a handler of a signal, or has jumped.
    IsOwn,
    /// Another thread does, for so long that nobody waits any more. If that is only slow, it makes it free again.
    IsGivenUp,
    /// Another thread has left what it guards half changed, by a jump ([`Bounded::leave`]).
    IsLeft,
}

impl Bounded {
    pub const fn new() -> Bounded {
        Bounded { holder: AtomicUsize::new(FREE) }
    }

    #[inline(always)]
    pub fn take(&self) -> Result<Taken<'_>, Refused> {
        match self.try_take() {
            Some(taken) => Ok(taken),
            None => self.wait(),
        }
    }

    /// None where it is not free.
    #[inline(always)]
    pub fn try_take(&self) -> Option<Taken<'_>> {
        let taken = self.holder.compare_exchange(FREE, this_thread(), Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok().then(|| Taken(self))
    }

    /// The same where what a jump has left is fit for use: a thread takes what it has left itself, where it knows that it has.
    #[inline(always)]
    pub fn take_again(&self) -> Option<Taken<'_>> {
        match self.try_take() {
            Some(taken) => Some(taken),
            None => self.take_left(),
        }
    }

    #[cold]
    #[inline(never)]
    fn take_left(&self) -> Option<Taken<'_>> {
        match self.wait() {
            Ok(taken) => Some(taken),
            Err(Refused::IsOwn) if !stack::is_in_handler() => Some(self.take_over()),
            Err(_) => None,
        }
    }

    /// Takes what this thread has left, or what others have, where no other takes that.
    pub fn take_over(&self) -> Taken<'_> {
        self.holder.store(this_thread(), Ordering::Relaxed);
        Taken(self)
    }

    /// Whether this thread holds it.
    #[inline(always)]
    pub fn is_own(&self) -> bool {
        self.holder.load(Ordering::Relaxed) & !GIVEN_UP == this_thread()
    }

    /// Makes it free where this thread has left it.
    pub fn let_go(&self) {
        if self.is_own() && !stack::is_in_handler() {
            self.holder.store(FREE, Ordering::Release);
        }
    }

    /// The same where what it guards may be half changed.
    pub fn leave(&self) {
        if self.is_own() && !stack::is_in_handler() {
            self.holder.store(LEFT, Ordering::Release);
        }
    }

    #[cold]
    #[inline(never)]
    fn wait(&self) -> Result<Taken<'_>, Refused> {
        let (me, mut waiting) = (this_thread(), Waiting::new());
        loop {
            let holder = match self.holder.compare_exchange(FREE, me, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Ok(Taken(self)),
                Err(holder) => holder,
            };
            if holder & !GIVEN_UP == me {
                return Err(Refused::IsOwn);
            }
            if holder == LEFT {
                return Err(Refused::IsLeft);
            }
            if holder & GIVEN_UP != 0 {
                return Err(Refused::IsGivenUp);
            }
            if !waiting.go_on() {
                self.holder.compare_exchange(holder, holder | GIVEN_UP, Ordering::Relaxed, Ordering::Relaxed).ok();
                return Err(Refused::IsGivenUp);
            }
        }
    }
}

impl Default for Bounded {
    fn default() -> Bounded {
        Bounded::new()
    }
}

/// Also where the work panics.
impl Drop for Taken<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.holder.store(FREE, Ordering::Release);
    }
}

impl Taken<'_> {
    /// It stays taken for good: what it guards is of no use any more.
    pub fn keep(self) {
        mem::forget(self);
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
