//! Whether calls are recorded, and how.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use crate::guest::generation;

/// Before `MPI_Init`, after `MPI_Finalize`, when disabled, or after trouble: calls are forwarded and nothing else.
pub const OFF: u8 = 0;
/// Between `MPI_Pcontrol(0)` and `(1)`: requests and communicators are followed, but nothing is counted.
pub const PAUSED: u8 = 1;
pub const ON: u8 = 2;

pub static STATE: AtomicU8 = AtomicU8::new(OFF);
/// What hook modules go by: the same, but `ON` in a process without MPI, too, where there is nothing but layers to count.
static LAYERS: AtomicU8 = AtomicU8::new(OFF);
/// Calls are counted, and nothing more is wanted of them.
static ONLY_COUNTS: AtomicBool = AtomicBool::new(false);
/// A timeline, datatypes or call sites are wanted.
static WANTS_MORE: AtomicBool = AtomicBool::new(false);
/// Raised whenever the state changes, or what else hook modules remember answers by.
static EPOCH: AtomicU32 = AtomicU32::new(0);
/// Of the bits below: one comparison tells that it is neither.
static UNUSUAL: AtomicU8 = AtomicU8::new(0);
/// Several threads may call MPI at the same time.
const THREADED: u8 = 1;
/// A hook module remembers answers by the epoch.
const WATCHED: u8 = 2;

#[inline(always)]
pub fn is_on() -> bool {
    STATE.load(Ordering::Relaxed) == ON
}

/// It pauses, or is off.
pub fn is_not_on() -> bool {
    !is_on()
}

#[inline(always)]
pub fn is_off() -> bool {
    STATE.load(Ordering::Relaxed) == OFF
}

#[inline(always)]
pub fn only_counts() -> bool {
    ONLY_COUNTS.load(Ordering::Relaxed)
}

/// More is wanted of each call than to be counted.
pub fn want_more() {
    WANTS_MORE.store(true, Ordering::SeqCst);
    settle();
}

/// Whoever found something while calls were only counted looks it up again.
fn settle() {
    ONLY_COUNTS.store(is_on() && !WANTS_MORE.load(Ordering::SeqCst), Ordering::SeqCst);
    next_generation();
}

/// Whether layers are counted.
#[inline(always)]
pub fn layers_are_on() -> bool {
    LAYERS.load(Ordering::Relaxed) == ON
}

#[inline(always)]
pub fn layers_are_off() -> bool {
    LAYERS.load(Ordering::Relaxed) == OFF
}

/// Where a hook module reads it.
pub fn address_for_layers() -> *const u8 {
    LAYERS.as_ptr()
}

pub fn epoch_address() -> *const u32 {
    UNUSUAL.fetch_or(WATCHED, Ordering::Relaxed);
    EPOCH.as_ptr()
}

/// Hook modules raise it themselves, from any thread: so it takes an atomic addition also where calls come one after the other.
#[cold]
pub fn raise_epoch() {
    EPOCH.fetch_add(1, Ordering::AcqRel);
}

/// The same after a handle has got or lost a meaning. Modules ask for the meaning of those that calls under way were given: whoever asked
/// did so in a call before this one, and so did he ask for the epoch's address.
#[inline(always)]
pub fn raise_epoch_of_handles(_: Alone) {
    if UNUSUAL.load(Ordering::Relaxed) & WATCHED != 0 {
        raise_epoch();
    }
}

/// Everything that was set up before is visible to whoever sees the state on.
pub fn start(threaded: bool) {
    // A session may have let several threads in already.
    if threaded {
        several_threads();
    }
    STATE.store(ON, Ordering::Release);
    start_layers();
}

/// The same for layers alone.
pub fn start_layers() {
    LAYERS.store(ON, Ordering::Release);
    settle();
}

/// From now on several threads may call MPI at the same time.
pub fn several_threads() {
    UNUSUAL.fetch_or(THREADED, Ordering::Release);
}

pub fn stop() {
    STATE.store(OFF, Ordering::Release);
    LAYERS.store(OFF, Ordering::Release);
    settle();
}

/// `MPI_Pcontrol`.
pub fn pause(paused: bool) {
    let (from, to) = if paused { (ON, PAUSED) } else { (PAUSED, ON) };
    if STATE.compare_exchange(from, to, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        LAYERS.store(to, Ordering::Release);
        settle();
    }
}

#[inline(always)]
pub fn is_threaded() -> bool {
    UNUSUAL.load(Ordering::Relaxed) & THREADED != 0
}

/// Says that calls come one after the other: no other thread is in one. It does not outlast a call of the library, in which the program
/// may open a session with more threads.
#[derive(Clone, Copy)]
pub struct Alone(());

/// What was found out so far is looked up again, also by hook modules.
pub fn next_generation() {
    generation::end();
    raise_epoch();
}

#[inline(always)]
pub fn alone() -> Option<Alone> {
    if is_threaded() { None } else { Some(Alone(())) }
}
