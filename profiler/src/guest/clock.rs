//! The time stamps: the invariant time-stamp counter on x86-64, the virtual counter on AArch64, the operating
//! system's clock elsewhere. Reading it twice is most of what a call costs.

use std::sync::atomic::{AtomicBool, Ordering};

use vocabulary::shard::{CLOCK_MONOTONIC, Moment};

/// Set once before recording starts: ticks come from the operating system's clock.
static SYSTEM: AtomicBool = AtomicBool::new(false);

/// Chooses the clock; returns its number for the shard's header.
pub fn choose() -> u32 {
    #[cfg(target_arch = "x86_64")]
    if counter::is_invariant() {
        return vocabulary::shard::CLOCK_TSC;
    }
    #[cfg(target_arch = "aarch64")]
    return vocabulary::shard::CLOCK_VIRTUAL_COUNTER;
    #[cfg(not(target_arch = "aarch64"))]
    {
        SYSTEM.store(true, Ordering::Relaxed);
        CLOCK_MONOTONIC
    }
}

/// The time in ticks.
#[inline(always)]
pub fn now() -> u64 {
    if SYSTEM.load(Ordering::Relaxed) { monotonic_ns() } else { counter::read() }
}

/// The time on both clocks.
pub fn moment() -> Moment {
    // Of several readings the one between the closest ticks is least disturbed.
    let reading = || {
        let before = now();
        let monotonic_ns = monotonic_ns();
        let after = now();
        (after.wrapping_sub(before), Moment { ticks: before + after.wrapping_sub(before) / 2, monotonic_ns })
    };
    (0..5).map(|_| reading()).min_by_key(|(width, _)| *width).expect("five readings").1
}

pub fn realtime_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

#[cold]
#[inline(never)]
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure outlives the call.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(target_arch = "x86_64")]
mod counter {
    /// CPUID leaf 0x8000_0007, EDX bit 8: the counter runs at one rate in all power states (Intel SDM 17.17.1).
    pub fn is_invariant() -> bool {
        use std::arch::x86_64::__cpuid;
        __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
    }

    #[inline(always)]
    pub fn read() -> u64 {
        // SAFETY: every x86-64 processor has it.
        unsafe { std::arch::x86_64::_rdtsc() }
    }
}

#[cfg(target_arch = "aarch64")]
mod counter {
    #[inline(always)]
    pub fn read() -> u64 {
        let ticks: u64;
        // SAFETY: Linux lets user code read the virtual counter.
        unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
        ticks
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod counter {
    #[inline(always)]
    pub fn read() -> u64 {
        super::monotonic_ns()
    }
}
