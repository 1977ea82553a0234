//! To which UCP operation one of UCT belongs.

use std::ffi::c_void;

use super::interfaces::Interface;
use crate::inflight::What;
use crate::inflight::operation::Operation;
use crate::inflight::pending::Pending;
use crate::inflight::thread::{Frame, Kind, Link, Thread};

/// What an operation of UCT shows.
#[derive(Clone, Copy)]
pub struct Clue {
    /// The completion, or the argument of the packing function: mostly inside of libucp's record of the request.
    pub pointer: usize,
    /// The first byte of the data here, and at the peer; 0 where it has none.
    pub near: usize,
    pub far: u64,
    /// Where the endpoint leads, or 0.
    pub peer: u32,
}

/// Looks in this order: what is being posted; the request; the buffer; what arrived or was completed just now; one-sided
/// operations that were posted before. None where nothing fits.
#[inline(always)]
pub unsafe fn find(thread: *mut Thread, interface: &Interface, clue: Clue) -> Option<Link> {
    // SAFETY: frames live as long as they are linked.
    unsafe {
        let frame = (*thread).frame.as_ref();
        match frame {
            Some(frame) if frame.marks.kind == Kind::Post => Some(Link::to(frame.operation)),
            _ => search(frame, interface, clue),
        }
    }
}

#[inline(never)]
unsafe fn search(frame: Option<&Frame>, interface: &Interface, clue: Clue) -> Option<Link> {
    // SAFETY: workers are never freed, what is pending on one is in use as long as `with` lasts, and a frame of a call of UCP is part of
    // its operation's record.
    unsafe {
        let pending = |look: &mut dyn FnMut(&mut Pending) -> Option<Link>| {
            interface.worker.as_ref().and_then(|worker| worker.with(|pending| look(pending)))
        };
        let found = pending(&mut |pending| {
            let fits = |operation: *mut Operation| clue.peer != 0 && (*operation).now.peer.get() == clue.peer;
            let by_pointer = |pointer| pending.find(What::Request, pointer, |_| true);
            by_pointer(clue.pointer)
                .or_else(|| by_pointer(request_in_context(clue.pointer)?))
                .or_else(|| pending.find(What::Buffer, clue.near, fits))
                .map(|operation| Link::to(operation))
        });
        found
            .or_else(|| {
                let frame = frame.filter(|frame| matches!(frame.marks.kind, Kind::Arrival | Kind::Completion))?;
                frame.link()
            })
            .or_else(|| pending(&mut |pending| pending.recall(clue.near, clue.far)))
            .or_else(|| frame.filter(|frame| frame.marks.kind == Kind::Blocking).map(|frame| Link::to(frame.operation)))
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
