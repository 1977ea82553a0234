//! To whom endpoints lead.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

use commsee_runtime::pointers::Pointers;

use super::workers;
use crate::module;

/// Endpoints of UCP: the worker's number above, the peer's below.
static OF_UCP: Pointers = Pointers::new(module::say_what_is_lost);
/// Endpoints of UCT: the peer's number.
static OF_UCT: Pointers = Pointers::new(module::say_what_is_lost);

pub fn made(ep: *mut c_void, worker: u32, peer: u32) {
    OF_UCP.set(ep as usize, u64::from(worker) << 32 | u64::from(peer));
}

pub fn gone(ep: *mut c_void) {
    OF_UCP.remove(ep as usize);
}

/// Worker and peer of an endpoint of UCP; the peer is 0 where it is not known.
#[inline(always)]
pub fn of(ep: *mut c_void) -> (u32, u32) {
    OF_UCP.get(ep as usize).map_or((workers::UNKNOWN, 0), |value| ((value >> 32) as u32, value as u32))
}

pub fn uct_made(ep: *mut c_void, peer: u32) {
    OF_UCT.set(ep as usize, u64::from(peer));
}

pub fn uct_gone(ep: *mut c_void) {
    OF_UCT.remove(ep as usize);
}

/// The peer of an endpoint of UCT, or 0.
#[inline(always)]
pub fn uct_peer(ep: *mut c_void) -> u32 {
    OF_UCT.get(ep as usize).map_or(0, |peer| peer as u32)
}

/// The peer that this process is to itself, or 0.
static OWN: AtomicU32 = AtomicU32::new(0);

pub fn tell_own(peer: u32) {
    OWN.store(peer, Ordering::Relaxed);
}

pub fn own_peer() -> u32 {
    OWN.load(Ordering::Relaxed)
}

thread_local!(static PEER: Cell<u32> = const { Cell::new(0) });

/// Makes an endpoint to a peer: those of UCT that are made meanwhile lead there, too.
pub fn while_making<T>(peer: u32, make: impl FnOnce() -> T) -> T {
    let _outer = Outer(PEER.replace(peer));
    make()
}

/// The peer from before, who comes back also behind an exception.
struct Outer(u32);

impl Drop for Outer {
    fn drop(&mut self) {
        PEER.set(self.0);
    }
}

pub fn peer_in_making() -> u32 {
    PEER.get()
}
