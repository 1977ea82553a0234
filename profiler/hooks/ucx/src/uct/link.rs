//! To which UCP operation one of UCT belongs.

use std::ffi::c_void;

use super::interface::Interface;
use crate::abi::uct::Ep;
use crate::inflight::endpoints;
use crate::inflight::operation::{Link, Operation, Owner};
use crate::inflight::thread::{self, Frame, Kind, Thread};
use crate::inflight::workers::{self, InFlight};
use crate::module::routes::Reach;

/// What an operation of UCT shows.
#[derive(Clone, Copy)]
pub struct Clue {
    /// The completion, or the argument of the packing function: mostly inside of libucp's record of the request.
    pub pointer: usize,
    /// The first byte of the data here, and at the other end; 0 where it has none.
    pub near: usize,
    pub far: u64,
    /// Of an answer: under which its own will come, or 0.
    pub number: u64,
}

impl Clue {
    #[inline(always)]
    pub fn new<P, N>(pointer: *const P, near: *const N, far: u64) -> Clue {
        Clue { pointer: pointer as usize, near: near as usize, far, number: 0 }
    }
}

/// Looks in this order: what is being posted; the request; the buffer; what arrived or was completed just now; one-sided
/// operations that were posted before; what waits here. A copy from or into a device has both ends here: the message may lie at either, and several messages
/// of one buffer are told apart by what arrived.
///
/// # Safety
/// The thread is this one's, and the endpoint libucp's.
#[inline(always)]
pub unsafe fn find(thread: *mut Thread, interface: &Interface, clue: Clue, ep: *mut Ep) -> Owner {
    // SAFETY: as demanded.
    unsafe {
        match thread::innermost(thread) {
            Some(Frame { kind: Kind::Post(operation), .. }) => Owner::Posted(*operation),
            frame => search(frame.as_deref(), interface, clue, ep),
        }
    }
}

#[inline(never)]
unsafe fn search(frame: Option<&Frame>, interface: &Interface, clue: Clue, ep: *mut Ep) -> Owner {
    let (worker, is_copy) = (interface.worker, interface.reach == Reach::Device);
    let in_flight = |look: &mut dyn FnMut(&mut InFlight) -> Option<Link>| {
        workers::by_number(worker).and_then(|worker| worker.with(|in_flight| look(in_flight)).flatten())
    };
    let peer = endpoints::uct_peer(ep.cast());
    // SAFETY: what is in the map is in use as long as `with` lasts.
    let pending = || unsafe {
        let fits = |operation: *mut Operation| peer != 0 && (*operation).shown.peer.get() == peer;
        in_flight(&mut |InFlight { map, .. }| {
            let found = map
                .by_request(clue.pointer)
                .or_else(|| map.by_request(request_in_context(clue.pointer)?))
                .or_else(|| map.by_buffer(clue.near, fits))
                .or_else(|| if is_copy { map.by_buffer(clue.far as usize, fits) } else { None });
            found.map(|operation| Link::to(operation))
        })
    };
    let around = || frame.filter(|frame| frame.is_progress())?.link;
    let first = || if is_copy { around() } else { None };
    let one_sided = || in_flight(&mut |in_flight| in_flight.one_sided.recall(clue.near, clue.far));
    match (first().or_else(pending).or_else(around).or_else(one_sided), frame.map(|frame| frame.kind)) {
        (Some(link), _) => Owner::Linked(link),
        (None, Some(Kind::Blocking(operation))) => Owner::Posted(operation),
        (None, _) => Owner::Unknown,
    }
}

/// Some packing functions get a structure on libucp's stack that begins with the request.
unsafe fn request_in_context(pointer: usize) -> Option<usize> {
    const REACH: usize = 1 << 14;
    let here = 0u8;
    let stack = (&raw const here).cast::<c_void>() as usize;
    if pointer <= stack || pointer - stack > REACH || !pointer.is_multiple_of(8) {
        return None;
    }
    // SAFETY: between this frame and that of a function that called this one, so it is mapped.
    Some(unsafe { (pointer as *const usize).read() })
}
