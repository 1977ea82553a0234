//! Whether calls are recorded.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use crate::guest::short_path::{self, Path};

/// Before `MPI_Init`, after `MPI_Finalize`, when disabled, or after trouble: calls are forwarded and nothing else.
pub const OFF: u8 = 0;
/// Between `MPI_Pcontrol(0)` and `(1)`: requests and communicators are followed, but nothing is counted.
pub const PAUSED: u8 = 1;
pub const ON: u8 = 2;

pub static STATE: AtomicU8 = AtomicU8::new(OFF);
/// Raised whenever the state changes, or what else hook modules remember answers by.
static EPOCH: AtomicU32 = AtomicU32::new(0);
/// Several threads may call MPI at the same time.
static THREADED: AtomicBool = AtomicBool::new(false);

#[inline(always)]
pub fn is_on() -> bool {
    STATE.load(Ordering::Relaxed) == ON
}

/// Where a hook module reads it.
pub fn address() -> *const u8 {
    STATE.as_ptr()
}

pub fn epoch_address() -> *const u32 {
    EPOCH.as_ptr()
}

pub fn raise_epoch() {
    EPOCH.fetch_add(1, Ordering::AcqRel);
}

#[inline(always)]
pub fn is_on_in<P: Path>() -> bool {
    P::IS_SHORT || is_on()
}

#[inline(always)]
pub fn is_off() -> bool {
    STATE.load(Ordering::Relaxed) == OFF
}

/// Everything that was set up before is visible to whoever sees the state on.
pub fn start(threaded: bool) {
    // A session may have let several threads in already.
    if threaded {
        several_threads();
    }
    STATE.store(ON, Ordering::Release);
    short_path::open();
    raise_epoch();
}

/// From now on several threads may call MPI at the same time.
pub fn several_threads() {
    THREADED.store(true, Ordering::Release);
}

pub fn stop() {
    STATE.store(OFF, Ordering::Release);
    short_path::close();
    raise_epoch();
}

/// `MPI_Pcontrol`.
pub fn pause(paused: bool) {
    let (from, to) = if paused { (ON, PAUSED) } else { (PAUSED, ON) };
    let _ = STATE.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed);
    if !paused {
        short_path::open();
    }
    // Also where another thread has just paused.
    if !is_on() {
        short_path::close();
    }
    raise_epoch();
}

#[inline(always)]
pub fn is_threaded() -> bool {
    THREADED.load(Ordering::Relaxed)
}
