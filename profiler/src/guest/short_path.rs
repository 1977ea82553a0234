//! The two paths through a wrapper. A call takes the short one where all is as usual: calls are recorded, by the processor's
//! counter, without a timeline and without datatypes, and the thread is in no other call. One test tells: the short path has a
//! table of real functions of its own, which is empty while anything is not as usual. All else takes the full path.
//!
//! Both are made of the same functions, which take the path as a type: on the short one the tests for what is rare are constants.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering, fence};

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

/// Filled by the first calls that take the full path while the short one is open.
static FUNCTIONS: [AtomicPtr<c_void>; SLOTS] = [const { AtomicPtr::new(ptr::null_mut()) }; SLOTS];
static IS_OPEN: AtomicBool = AtomicBool::new(false);
/// Something is wanted that only the full path does.
static IS_FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// The real function of a slot where its calls may take the short path, else null.
#[inline(always)]
pub fn function(slot: usize) -> *mut c_void {
    FUNCTIONS[slot].load(Ordering::Relaxed)
}

#[inline(always)]
pub fn is_open() -> bool {
    IS_OPEN.load(Ordering::Relaxed)
}

/// The next call of this slot may take the short path, if it is open.
pub fn offer(slot: usize, function: *mut c_void) {
    if !is_open() || !FUNCTIONS[slot].load(Ordering::Relaxed).is_null() {
        return;
    }
    FUNCTIONS[slot].store(function, Ordering::Relaxed);
    // It may have been closed between the two: then one of both sees what the other did.
    fence(Ordering::SeqCst);
    if !is_open() {
        FUNCTIONS[slot].store(ptr::null_mut(), Ordering::Relaxed);
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
    for function in &FUNCTIONS {
        function.store(ptr::null_mut(), Ordering::Relaxed);
    }
}
