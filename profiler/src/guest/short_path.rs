//! The paths through a wrapper. A call takes the short one where all is as usual: calls are recorded, by the processor's
//! counter, without a timeline and without datatypes, and the thread is in no other call. Where calls are counted by call site, it
//! has a form of its own. One comparison tells: each function has a byte, which is [`CLOSED`] while anything is not as usual. All else takes
//! the full path.
//!
//! All are made of the same functions, which take the path as a type: on the short one the tests for what is rare are constants.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering, fence};

use vocabulary::calls::CALLS;

pub trait Path {
    const IS_SHORT: bool;
    /// The short one that counts by call site. On the full one that is asked of each call.
    const IS_SITED: bool = false;
}

pub enum Short {}
pub enum Sited {}
pub enum Full {}

impl Path for Short {
    const IS_SHORT: bool = true;
}

impl Path for Sited {
    const IS_SHORT: bool = true;
    const IS_SITED: bool = true;
}

impl Path for Full {
    const IS_SHORT: bool = false;
}

/// Two slots per operation, as in `real.rs`.
const SLOTS: usize = 2 * CALLS.len();

const CLOSED: u8 = 0;
pub const SHORT: u8 = 1;
/// What the shells tell apart by one comparison with [`SHORT`].
pub const SITED: u8 = 2;

/// Set by the first call of a slot that takes the full path while a short one is open.
pub static OPEN_FOR: [AtomicU8; SLOTS] = [const { AtomicU8::new(CLOSED) }; SLOTS];
pub static OPEN: AtomicU8 = AtomicU8::new(CLOSED);
/// Something is wanted that only the full path does.
static IS_FORBIDDEN: AtomicBool = AtomicBool::new(false);
/// The one that opens.
static WANTED: AtomicU8 = AtomicU8::new(SHORT);

/// Which path the calls of a slot may take: where it is a short one, their real function is known.
#[inline(always)]
pub fn open_for(slot: usize) -> u8 {
    OPEN_FOR[slot].load(Ordering::Acquire)
}

#[inline(always)]
pub fn which() -> u8 {
    OPEN.load(Ordering::Relaxed)
}

/// The real function of a slot is known: its next call may take the short path, if that is open.
pub fn offer(slot: usize) {
    let open = which();
    if open == CLOSED || open_for(slot) != CLOSED {
        return;
    }
    OPEN_FOR[slot].store(open, Ordering::Release);
    // It may have been closed between the two: then one of both sees what the other did.
    fence(Ordering::SeqCst);
    if which() == CLOSED {
        OPEN_FOR[slot].store(CLOSED, Ordering::Relaxed);
    }
}

/// From now on every call takes the full path, for good.
pub fn forbid() {
    IS_FORBIDDEN.store(true, Ordering::SeqCst);
    close();
}

/// Calls are counted by the site that their return address tells. Before any call. On processors where wrappers do not know it, that takes the
/// full path.
pub fn count_sites() {
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        WANTED.store(SITED, Ordering::SeqCst)
    } else {
        forbid()
    }
}

/// Calls are recorded from now on.
pub fn open() {
    if !IS_FORBIDDEN.load(Ordering::SeqCst) {
        OPEN.store(WANTED.load(Ordering::SeqCst), Ordering::SeqCst);
    }
}

/// Calls are not recorded any more, or pause.
pub fn close() {
    OPEN.store(CLOSED, Ordering::Relaxed);
    fence(Ordering::SeqCst);
    for open in &OPEN_FOR {
        open.store(CLOSED, Ordering::Relaxed);
    }
}
