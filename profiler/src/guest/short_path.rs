//! The two paths through a wrapper. A call takes the short one where all is as usual: calls are recorded, by the processor's
//! counter, without a timeline and without datatypes, and the thread is in no other call. One test tells: each function
//! has a flag, which is down while anything is not as usual. All else takes the full path.
//!
//! Both are made of the same functions, which take the path as a type: on the short one the tests for what is rare are constants.

use std::sync::atomic::{AtomicBool, Ordering, fence};

use vocabulary::calls::CALLS;

pub trait Path {
    const IS_SHORT: bool;
}

pub enum Short {}
pub enum Full {}

impl Path for Short {
    const IS_SHORT: bool = true;
}

impl Path for Full {
    const IS_SHORT: bool = false;
}

/// Two slots per operation, as in `real.rs`.
const SLOTS: usize = 2 * CALLS.len();

/// Set by the first call of a slot that takes the full path while the short one is open.
pub static OPEN_FOR: [AtomicBool; SLOTS] = [const { AtomicBool::new(false) }; SLOTS];
pub static IS_OPEN: AtomicBool = AtomicBool::new(false);
/// Something is wanted that only the full path does.
static IS_FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// Whether calls of a slot may take the short path: then their real function is known.
#[inline(always)]
pub fn is_open_for(slot: usize) -> bool {
    OPEN_FOR[slot].load(Ordering::Acquire)
}

#[inline(always)]
pub fn is_open() -> bool {
    IS_OPEN.load(Ordering::Relaxed)
}

/// The real function of a slot is known: its next call may take the short path, if that is open.
pub fn offer(slot: usize) {
    if !is_open() || is_open_for(slot) {
        return;
    }
    OPEN_FOR[slot].store(true, Ordering::Release);
    // It may have been closed between the two: then one of both sees what the other did.
    fence(Ordering::SeqCst);
    if !is_open() {
        OPEN_FOR[slot].store(false, Ordering::Relaxed);
    }
}

/// From now on every call takes the full path, for good.
pub fn forbid() {
    IS_FORBIDDEN.store(true, Ordering::SeqCst);
    close();
}

/// Calls are recorded from now on.
pub fn open() {
    if !IS_FORBIDDEN.load(Ordering::SeqCst) {
        IS_OPEN.store(true, Ordering::SeqCst);
    }
}

/// Calls are not recorded any more, or pause.
pub fn close() {
    IS_OPEN.store(false, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    for open in &OPEN_FOR {
        open.store(false, Ordering::Relaxed);
    }
}
