//! The time stamps: the invariant time-stamp counter on x86-64, the virtual counter on AArch64, the operating
//! system's clock elsewhere. Reading it twice is most of what a call costs.

use std::sync::atomic::{AtomicU64, Ordering};

use vocabulary::shard::Moment;

use crate::guest::set_once::Flag;

/// Ticks come from the operating system's clock. Set before recording starts.
static SYSTEM: Flag = Flag::new();

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
        if !SYSTEM.is_raised() {
            // SAFETY: recording has not started.
            unsafe { SYSTEM.raise() };
        }
        vocabulary::shard::CLOCK_MONOTONIC
    }
}

/// The time in ticks.
#[inline(always)]
pub fn now() -> u64 {
    if SYSTEM.is_raised() { monotonic_ns() } else { counter::read() }
}

/// How ticks become nanoseconds while the program runs: from one moment on, by a factor with 32 binary digits behind the point. So it is
/// the same all along, and goes both ways.
static SCALE: Scale = Scale { ticks: AtomicU64::new(0), monotonic_ns: AtomicU64::new(0), factor: AtomicU64::new(0) };

struct Scale {
    ticks: AtomicU64,
    monotonic_ns: AtomicU64,
    /// 0 before it is known.
    factor: AtomicU64,
}

/// Two moments tell how long a tick is: what is told in nanoseconds from now on is right by as much as they are apart.
pub fn scale(from: Moment, to: Moment) {
    let (ticks, ns) = (to.ticks.saturating_sub(from.ticks), to.monotonic_ns.saturating_sub(from.monotonic_ns));
    if ticks == 0 || ns == 0 || SCALE.factor.load(Ordering::Relaxed) != 0 {
        return;
    }
    let factor = (u128::from(ns) << 32) / u128::from(ticks);
    SCALE.ticks.store(to.ticks, Ordering::Relaxed);
    SCALE.monotonic_ns.store(to.monotonic_ns, Ordering::Relaxed);
    SCALE.factor.store(u64::try_from(factor).unwrap_or(0), Ordering::Release);
}

/// `CLOCK_MONOTONIC`, from ticks where their length is known.
#[inline(always)]
pub fn now_ns() -> u64 {
    let factor = SCALE.factor.load(Ordering::Acquire);
    if factor == 0 {
        return monotonic_ns();
    }
    let ticks = now().wrapping_sub(SCALE.ticks.load(Ordering::Relaxed));
    let ns = ((u128::from(ticks) * u128::from(factor)) >> 32) as u64;
    SCALE.monotonic_ns.load(Ordering::Relaxed).wrapping_add(ns)
}

/// Where a hook module reads the factor, if it can read the ticks itself.
pub fn factor_address() -> *const u64 {
    static UNKNOWN: AtomicU64 = AtomicU64::new(0);
    let is_read_alike = cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) && !SYSTEM.is_raised();
    if is_read_alike { SCALE.factor.as_ptr() } else { UNKNOWN.as_ptr() }
}

/// The ticks at a time that [`now_ns`] told, also of one before the length of a tick was known.
pub fn ticks_of(ns: u64) -> u64 {
    let factor = i128::from(SCALE.factor.load(Ordering::Acquire).max(1));
    let since_ns = i128::from(ns) - i128::from(SCALE.monotonic_ns.load(Ordering::Relaxed));
    let ticks = ((since_ns << 32) + factor / 2).div_euclid(factor);
    SCALE.ticks.load(Ordering::Relaxed).wrapping_add(ticks as u64)
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
