//! What the core answers of a thread, read where it lies: a module need not ask again for an operation like the one before.

use std::sync::atomic::{AtomicPtr, Ordering};

use commsee_hook::{COUNTING, InFlight, OFF, OPERATION_SHIFT, ThreadState};

use crate::stack;

/// Where the core keeps it. Only its thread reads it, but for what any thread may ask.
pub struct State(ThreadState);

impl State {
    /// Of no thread.
    pub const NONE: State = State(ThreadState::NONE);

    pub(crate) fn new(told: ThreadState) -> State {
        TICK_FACTOR.store(told.tick_factor.cast_mut(), Ordering::Release);
        State(told)
    }

    /// Whether it is the calling thread's.
    ///
    /// # Safety
    /// It is of a thread.
    #[inline(always)]
    pub unsafe fn is_owned(&self) -> bool {
        // SAFETY: as demanded; what the core points to is never freed.
        unsafe { self.0.owner.read_volatile() == stack::thread_pointer() as u64 }
    }

    /// Whether it is the calling thread's, and its counters may be added to.
    ///
    /// # Safety
    /// It is of a thread.
    #[inline(always)]
    pub unsafe fn is_own(&self) -> bool {
        // SAFETY: as demanded.
        unsafe { self.is_owned() && !self.is_off() }
    }

    /// # Safety
    /// It is of a thread.
    #[inline(always)]
    pub unsafe fn is_off(&self) -> bool {
        // SAFETY: as above.
        unsafe { self.0.state.read_volatile() == OFF }
    }

    /// Whether it is in one call of MPI's, within no other and in none of a layer's. Calls with one [`State::comm`], and alike by
    /// [`State::is_of`], are answered alike then in one epoch. Otherwise the core has to be asked.
    ///
    /// # Safety
    /// It is of a thread.
    #[inline(always)]
    pub unsafe fn is_in_one_call(&self) -> bool {
        // SAFETY: as above. Behind the outer call lies the one that was made within it.
        unsafe {
            self.0.outside.read_volatile() == stack::thread_pointer() as u64
                && is_inside(self.0.call)
                && !is_inside(self.0.call.add(1))
        }
    }

    /// What the outer call was given.
    ///
    /// # Safety
    /// It is of a thread.
    #[inline(always)]
    pub unsafe fn comm(&self) -> u64 {
        // SAFETY: as above.
        unsafe { (&raw const (*self.0.call).comm).read_volatile() }
    }

    /// Its operation, and what that is, above bits that tell nothing.
    ///
    /// # Safety
    /// It is of a thread.
    #[inline(always)]
    pub unsafe fn operation(&self) -> u64 {
        // SAFETY: as above.
        unsafe { (&raw const (*self.0.call).operation).read_volatile() }
    }

    /// Whether that is the one that another call had.
    ///
    /// # Safety
    /// It is of a thread.
    #[inline(always)]
    pub unsafe fn is_of(&self, operation: u64) -> bool {
        // SAFETY: as above.
        (unsafe { self.operation() } ^ operation) >> OPERATION_SHIFT == 0
    }

    /// Whether it is in no call of MPI's and in none of a layer's. Where this is so in one epoch, the core answers alike.
    ///
    /// # Safety
    /// It is of a thread.
    #[inline(always)]
    pub unsafe fn is_outside(&self) -> bool {
        // SAFETY: as above.
        unsafe {
            self.0.outside.read_volatile() == stack::thread_pointer() as u64
                && !is_inside(self.0.call)
                && !is_inside(self.0.call.add(1))
        }
    }

    /// # Safety
    /// It is of a thread.
    #[inline(always)]
    pub unsafe fn is_counting(&self) -> bool {
        // SAFETY: as above.
        unsafe { self.0.state.read_volatile() == COUNTING }
    }

    /// As [`tick_factor`].
    ///
    /// # Safety
    /// It is of a thread.
    #[inline(always)]
    pub unsafe fn tick_factor(&self) -> u64 {
        // SAFETY: as above.
        unsafe { self.0.tick_factor.read_volatile() }
    }

    /// Another one when answers may have changed.
    ///
    /// # Safety
    /// It is of a thread.
    #[inline(always)]
    pub unsafe fn epoch(&self) -> u32 {
        // SAFETY: as above.
        unsafe { self.0.epoch.read_volatile() }
    }
}

/// Where the core keeps it: the same for all threads.
static TICK_FACTOR: AtomicPtr<u64> = AtomicPtr::new((&raw const UNKNOWN).cast_mut());
static UNKNOWN: u64 = 0;

/// The nanoseconds of 2^32 [`ticks`]; 0 where the core has to be asked for the time.
#[inline(always)]
pub fn tick_factor() -> u64 {
    // SAFETY: the core's, which is never freed, or the constant above.
    unsafe { TICK_FACTOR.load(Ordering::Relaxed).read_volatile() }
}

#[inline(always)]
unsafe fn is_inside(call: *const InFlight) -> bool {
    // SAFETY: the core's, of this thread.
    unsafe { (&raw const (*call).begin).read_volatile() > (&raw const (*call).end).read_volatile() }
}

/// The processor's counter.
#[inline(always)]
pub fn ticks() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has it.
    unsafe {
        std::arch::x86_64::_rdtsc()
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: Linux lets user code read the virtual counter.
        unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
        ticks
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        0
    }
}

/// The nanoseconds between two readings; 0 where the later one is the lower, on another processor.
#[inline(always)]
pub fn nanoseconds(factor: u64, from: u64, to: u64) -> u64 {
    ((u128::from(to.saturating_sub(from)) * u128::from(factor)) >> 32) as u64
}
