//! Active messages that a transport hands to libucp.

use std::ffi::{c_uint, c_void};

use commsee_hook::{AT_ONCE, Call};

use super::answers;
use crate::abi::ucs::Status;
use crate::abi::uct::AmCallback;
use crate::inflight::What;
use crate::inflight::thread::{self, Frame, Kind, Link, Standing, Thread};
use crate::inflight::workers::Worker;
use crate::module::protocol::message::{EAGER_SYNC_ACK, RNDV_ATP, RNDV_ATS, RNDV_DATA, RNDV_RTR};
use crate::module::protocol::{self, Protocol};
use crate::module::routes::{Carrier, Routes};
use crate::module::{self, Module};

/// A handler of libucp's, for messages of one number by one interface.
pub struct Arrival {
    pub callback: AmCallback,
    pub argument: *mut c_void,
    pub id: u8,
    pub carrier: Carrier,
    pub worker: *mut Worker,
}

static ROUTES: Routes = Routes::new();

/// Stands in front of every such handler.
pub unsafe extern "C-unwind" fn arrived(
    arrival: *mut c_void,
    data: *mut c_void,
    length: usize,
    flags: c_uint,
) -> Status {
    // SAFETY: what `interfaces::handler` gave away with this function.
    unsafe {
        let arrival = &*arrival.cast::<Arrival>();
        let seen = module::get().and_then(|module| begin(arrival, module, thread::current(module)?, data, length));
        let status = (arrival.callback)(arrival.argument, data, length, flags);
        if let Some(seen) = seen {
            end(arrival, seen, length);
        }
        status
    }
}

/// A message that is being handled.
struct Seen {
    module: &'static Module,
    standing: Standing,
    /// Of a request of this process, or 0.
    number: u64,
}

#[inline(always)]
unsafe fn begin(
    arrival: &Arrival,
    module: &'static Module,
    thread: *mut Thread,
    data: *mut c_void,
    length: usize,
) -> Option<Seen> {
    // SAFETY: the thread is this one's, and a message of that length lies at `data`.
    unsafe {
        let mut standing = Standing::enter(thread, Kind::Arrival)?;
        let frame = standing.frame();
        frame.message = arrival.id;
        frame.carrier = arrival.carrier;
        // These begin with the number of a request of this process.
        let mut number = 0;
        if matches!(arrival.id, EAGER_SYNC_ACK..=RNDV_DATA | RNDV_ATP) && length >= 8 && !data.is_null() {
            number = data.cast::<u64>().read_unaligned();
            if matches!(arrival.id, EAGER_SYNC_ACK | RNDV_ATS | RNDV_RTR) {
                find_sender(arrival, number as usize, frame);
            }
        }
        Some(Seen { module, standing, number })
    }
}

#[inline(always)]
unsafe fn end(arrival: &Arrival, seen: Seen, length: usize) {
    let Seen { module, mut standing, number } = seen;
    // SAFETY: the worker of a watched interface: those are never freed.
    unsafe {
        let frame = standing.frame();
        answers::count_answers(module, arrival.worker, frame);
        if let (RNDV_DATA | RNDV_ATP, Some(link)) = (arrival.id, frame.link()) {
            answers::count_expected(module, arrival.worker, number, link);
        }
        let protocol = protocol::of_message(arrival.id);
        let route = ROUTES.number(module, "uct-rx", "uct_am", protocol, arrival.carrier);
        let call = frame.link().map_or(&Call::NONE, |link| &link.call);
        module.count(call, route, 0, length as u64, length as u64, AT_ONCE);
    }
}

/// The number of a sender's request is the address of libucp's record of it.
unsafe fn find_sender(arrival: &Arrival, number: usize, frame: &mut Frame) {
    // SAFETY: workers are never freed, and what is pending on one is in use as long as `with` lasts.
    unsafe {
        let Some(worker) = arrival.worker.as_ref() else { return };
        worker.with(|pending| {
            let Some(operation) = pending.find(What::Request, number, |_| true) else { return };
            if arrival.id == RNDV_ATS && (*operation).protocol.get() == Protocol::Rendezvous {
                (*operation).protocol.set(Protocol::RendezvousGet);
            }
            frame.set_link(Link::to(operation));
        });
    }
}
