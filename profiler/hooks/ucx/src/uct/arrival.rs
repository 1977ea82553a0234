//! Active messages that a transport hands to libucp.

use std::ffi::{c_uint, c_void};

use commsee_hook::{AT_ONCE, Call};

use super::answers;
use crate::abi::ucs::Status;
use crate::abi::uct::AmCallback;
use crate::inflight::alike::{self, Alike};
use crate::inflight::thread::{self, Frame, Link, Marks, Outermost, Standing, Thread, UNLINKED};
use crate::inflight::workers::Worker;
use crate::inflight::{What, tls};
use crate::module;
use crate::module::protocol::message::{EAGER_SYNC_ACK, RNDV_ATP, RNDV_ATS, RNDV_DATA, RNDV_RTR};
use crate::module::protocol::{self, Protocol};
use crate::module::routes::{Carrier, Routes};

/// A handler of libucp's, for messages of one number by one interface.
pub struct Arrival {
    pub callback: AmCallback,
    pub argument: *mut c_void,
    pub id: u8,
    pub carrier: Carrier,
    marks: Marks,
    pub worker: *mut Worker,
}

impl Arrival {
    pub fn new(callback: AmCallback, argument: *mut c_void, id: u8, carrier: Carrier, worker: *mut Worker) -> Arrival {
        let marks = Marks::of_arrival(id, carrier, !begins_with_number(id));
        Arrival { callback, argument, id, carrier, marks, worker }
    }

    /// What stands in front of its callback.
    pub fn entrance(&self) -> AmCallback {
        if self.marks.is_plain { arrived } else { arrived_within }
    }
}

/// Whether a message begins with the number of a request of this process.
fn begins_with_number(id: u8) -> bool {
    matches!(id, EAGER_SYNC_ACK..=RNDV_DATA | RNDV_ATP)
}

static ROUTES: Routes = Routes::new();

/// Stands in front of such a handler for plain messages.
unsafe extern "C-unwind" fn arrived(arrival: *mut c_void, data: *mut c_void, length: usize, flags: c_uint) -> Status {
    // SAFETY: what `interfaces::handler` gave away with this function.
    unsafe {
        let known = &*arrival.cast::<Arrival>();
        let thread = tls::get();
        if thread.is_null() || !(*thread).frame.is_null() {
            return arrived_within(arrival, data, length, flags);
        }
        if module::get().is_none() || !(*thread).state.is_own() {
            return arrived_within(arrival, data, length, flags);
        }
        let mut outermost = Outermost::enter(thread, known.marks);
        let status = (known.callback)(known.argument, data, length, flags);
        if !is_counted(known, thread, outermost.frame(), length) {
            end(known, thread, outermost.frame(), 0, length);
        }
        status
    }
}

/// The same for all messages, and inside of anything.
#[cold]
#[inline(never)]
unsafe extern "C-unwind" fn arrived_within(
    arrival: *mut c_void,
    data: *mut c_void,
    length: usize,
    flags: c_uint,
) -> Status {
    // SAFETY: as above.
    unsafe {
        let arrival = &*arrival.cast::<Arrival>();
        let thread = module::get().and_then(thread::current);
        let Some(mut standing) = thread.and_then(|thread| Standing::enter(thread, arrival.marks)) else {
            return (arrival.callback)(arrival.argument, data, length, flags);
        };
        let (thread, frame) = (standing.thread(), standing.frame());
        let number = if arrival.marks.is_plain { 0 } else { number(arrival, data, length, frame) };
        let status = (arrival.callback)(arrival.argument, data, length, flags);
        let frame = standing.frame();
        if !arrival.marks.is_plain || !is_counted(arrival, thread, frame, length) {
            end(arrival, thread, frame, number, length);
        }
        status
    }
}

/// Of a request of this process that the message begins with, or 0.
unsafe fn number(arrival: &Arrival, data: *mut c_void, length: usize, frame: &mut Frame) -> u64 {
    if length < 8 || data.is_null() {
        return 0;
    }
    // SAFETY: a message of that length lies there.
    unsafe {
        let number = data.cast::<u64>().read_unaligned();
        if matches!(arrival.id, EAGER_SYNC_ACK | RNDV_ATS | RNDV_RTR) {
            find_sender(arrival, number as usize, frame);
        }
        number
    }
}

/// Counts a plain message whose counter is known.
#[inline(always)]
unsafe fn is_counted(arrival: &Arrival, thread: *mut Thread, frame: &Frame, length: usize) -> bool {
    // SAFETY: the thread is this one's. An entry is as it was while there is a frame.
    unsafe {
        if (*thread).state.is_off() {
            return false;
        }
        if !frame.is_as_entered(arrival.marks) {
            return false;
        }
        let counter = match frame.alike().as_ref() {
            Some(alike) => &alike.arrival,
            None => unlinked(thread, arrival),
        };
        counter.count(arrival.marks, length as u64)
    }
}

#[inline(always)]
unsafe fn unlinked<'a>(thread: *mut Thread, arrival: &Arrival) -> &'a mut alike::Arrival {
    // SAFETY: this thread's own; the place is one of those that there are.
    unsafe { &mut *(&raw mut (*thread).unlinked).cast::<alike::Arrival>().add(usize::from(arrival.id) % UNLINKED) }
}

#[cold]
#[inline(never)]
unsafe fn end(arrival: &Arrival, thread: *mut Thread, frame: &mut Frame, number: u64, length: usize) {
    let Some(module) = module::get() else { return };
    // SAFETY: the worker of a watched interface: those are never freed.
    unsafe {
        answers::count_answers(module, arrival.worker, frame);
        let link = frame.link();
        if let (RNDV_DATA | RNDV_ATP, Some(link)) = (arrival.id, &link) {
            answers::count_expected(module, arrival.worker, number, link);
        }
        let protocol = protocol::of_message(arrival.id);
        let route = ROUTES.number(module, "uct-rx", "uct_am", protocol, arrival.carrier);
        let call = link.as_ref().map_or(&Call::NONE, |link| &link.call);
        let bytes = length as u64;
        module.count(call, route, 0, bytes, bytes, AT_ONCE);
        if arrival.marks.is_plain {
            let marks = arrival.marks;
            let alike = frame.alike();
            if !frame.is_as_entered(marks) {
                return;
            }
            if alike.is_null() {
                unlinked(thread, arrival).learn(module, call, route, marks, bytes);
            } else {
                Alike::learn_arrival(alike, module, route, marks, bytes);
            }
        }
    }
}

/// The number of a sender's request is the address of libucp's record of it.
unsafe fn find_sender(arrival: &Arrival, number: usize, frame: &mut Frame) {
    // SAFETY: workers are never freed, and what is pending on one is in use as long as `with` lasts.
    unsafe {
        let Some(worker) = arrival.worker.as_ref() else { return };
        worker.with(|pending| {
            let Some(operation) = pending.find(What::Request, number, |_| true) else { return };
            if arrival.id == RNDV_ATS && (*operation).now.protocol.get() == Protocol::Rendezvous {
                (*operation).now.protocol.set(Protocol::RendezvousGet);
            }
            frame.set_link(Link::to(operation));
        });
    }
}
