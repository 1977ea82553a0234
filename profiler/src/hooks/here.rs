//! The call that a thread is in, told to a module: the MPI call, the layer call within, and where the program made them.

use commsee_hook::{Call, LEAST_CALL_BYTES, LayeredCall, OPERATION_SHIFT, TRACED};
use vocabulary::shard::ROUTE_BITS;

use super::registry;
use crate::guest::state;
use crate::thread::Thread;
use crate::thread::layer_calls::Belonging;
use crate::thread::transfers::Transferred;
use crate::{sites, thread, trace};

/// This thread, perhaps in the midst of a call, while layers may be counted.
#[inline(always)]
pub fn thread() -> Option<&'static Thread> {
    if state::layers_are_off() { None } else { thread::of_run() }
}

/// The same where it has been seen before.
#[inline(always)]
pub fn known() -> Option<&'static Thread> {
    // SAFETY: null, or this thread, which is never freed.
    if state::layers_are_off() { None } else { unsafe { thread::pointer().as_ref() } }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn commsee_hook_here(call: *mut Call) -> i32 {
    if !state::layers_are_on() {
        return 0;
    }
    // SAFETY: the module passes a place.
    let Some(thread) = known() else { return unsafe { first_here(call) } };
    // SAFETY: the module passes a place. Where a thread stands is written by itself alone, before it came here.
    unsafe {
        match thread.hooks.known() {
            Some(own) => fill(own, thread, call),
            None => first_here(call),
        }
    }
}

#[cold]
#[inline(never)]
unsafe fn first_here(call: *mut Call) -> i32 {
    // SAFETY: as above.
    unsafe {
        match self::thread().and_then(|thread| Some((thread.hooks.get()?, thread))) {
            Some((own, thread)) => fill(own, thread, call),
            None => 0,
        }
    }
}

#[inline(always)]
unsafe fn fill(own: &Transferred, thread: &Thread, call: *mut Call) -> i32 {
    // SAFETY: the module passes a call that begins with its size.
    unsafe {
        if (*call).size != LEAST_CALL_BYTES || !own.layers.are_none() || sites::are_counted() {
            return fill_layered(own, thread, call);
        }
        call.write(innermost(own, thread));
    }
    1
}

/// The MPI call that the thread is in.
#[inline(always)]
fn innermost(own: &Transferred, thread: &Thread) -> Call {
    let flags = if trace::is_on() { TRACED } else { 0 };
    match thread.in_flight.innermost() {
        Some(innermost) => Call {
            comm: own.communicator(innermost),
            operation: (innermost.word >> OPERATION_SHIFT) as u16,
            flags,
            sequence: innermost.begin_ticks,
            thread: innermost.thread,
            ..Call::NONE
        },
        None => Call { flags, thread: thread.in_flight.thread(), ..Call::NONE },
    }
}

/// Where the program made the call that the thread is in, of MPI or of a layer, if calls are counted by that; else 0.
pub fn site(thread: &Thread) -> u32 {
    if sites::are_counted() {
        sites::of_call(thread.in_flight.innermost().map_or(0, |call| call.caller as usize))
    } else {
        0
    }
}

/// With the layer call that the thread is in; no further than the module's structure goes.
#[cold]
#[inline(never)]
unsafe fn fill_layered(own: &Transferred, thread: &Thread, call: *mut Call) -> i32 {
    // SAFETY: as above.
    let size = unsafe { (*call).size };
    if size < LEAST_CALL_BYTES {
        return 0;
    }
    let here = Call { size, ..innermost(own, thread) };
    let mut full = LayeredCall {
        size: here.size,
        comm: here.comm,
        operation: here.operation,
        flags: here.flags,
        thread: here.thread,
        sequence: here.sequence,
        ..LayeredCall::NONE
    };
    if let Some(layer) = own.layers.innermost(&thread.in_flight) {
        full.context = layer.context;
        full.layer_route = layer.route;
        full.layer_communicator = layer.communicator;
        full.layer_module = layer.module;
        full.layer_sequence = layer.sequence;
    } else {
        let belonging = Belonging { site: site(thread), ..Belonging::NONE };
        full.context = own.layers.context(belonging, registry::context) << ROUTE_BITS;
    }
    // SAFETY: the module says that it has room for so many bytes.
    unsafe {
        let bytes = (here.size as usize).min(size_of::<LayeredCall>());
        std::ptr::copy_nonoverlapping((&raw const full).cast::<u8>(), call.cast(), bytes);
    }
    1
}
