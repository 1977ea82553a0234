//! Active messages that a transport hands to libucp.

use std::ffi::{c_uint, c_void};

use commsee_hook::{AT_ONCE, Call};

use super::answers;
use crate::abi::ucs::Status;
use crate::abi::uct::AmCallback;
use crate::index::What;
use crate::module::{self, Module};
use crate::protocol::message::{EAGER_SYNC_ACK, RNDV_ATP, RNDV_ATS, RNDV_DATA, RNDV_RTR};
use crate::protocol::{self, Protocol};
use crate::thread::{self, Frame, Kind, Thread};
use crate::ucp;
use crate::ways::{Carrier, Ways};
use crate::workers::Worker;

/// A handler of libucp's, for messages of one number by one interface.
pub struct Arrival {
    pub callback: AmCallback,
    pub argument: *mut c_void,
    pub id: u8,
    pub carrier: Carrier,
    pub worker: *mut Worker,
}

static WAYS: Ways = Ways::new();

/// Stands in front of every such handler.
pub unsafe extern "C" fn arrived(arrival: *mut c_void, data: *mut c_void, length: usize, flags: c_uint) -> Status {
    // SAFETY: what `interfaces::handler` gave away with this function.
    unsafe {
        let arrival = &*arrival.cast::<Arrival>();
        let seen = module::get().and_then(|module| Some((module, thread::current(module)?)));
        match seen {
            Some((module, thread)) => see(arrival, module, thread, data, length, flags),
            None => (arrival.callback)(arrival.argument, data, length, flags),
        }
    }
}

#[inline(always)]
unsafe fn see(
    arrival: &Arrival,
    module: &Module,
    thread: *mut Thread,
    data: *mut c_void,
    length: usize,
    flags: c_uint,
) -> Status {
    unsafe {
        let mut frame = Frame::new(Kind::Arrival);
        frame.message = arrival.id;
        frame.carrier = arrival.carrier;
        // These begin with the number of a request of this process.
        let mut number = 0;
        if matches!(arrival.id, EAGER_SYNC_ACK..=RNDV_DATA | RNDV_ATP) && length >= 8 && !data.is_null() {
            number = data.cast::<u64>().read_unaligned();
            if matches!(arrival.id, EAGER_SYNC_ACK | RNDV_ATS | RNDV_RTR) {
                find_sender(arrival, number as usize, &mut frame);
            }
        }
        Frame::enter(&raw mut frame, thread);
        let status = (arrival.callback)(arrival.argument, data, length, flags);
        Frame::leave(&raw mut frame, thread);
        answers::count_answers(module, arrival.worker, &frame);
        if let (RNDV_DATA | RNDV_ATP, Some(link)) = (arrival.id, frame.link()) {
            answers::count_expected(module, arrival.worker, number, link);
        }
        let protocol = protocol::of_message(arrival.id);
        let way = WAYS.number(module, "uct-rx", "uct_am", protocol, arrival.carrier);
        let call = frame.link().map_or(&Call::NONE, |link| &link.call);
        module.count(call, way, 0, length as u64, length as u64, AT_ONCE);
        status
    }
}

/// The number of a sender's request is the address of libucp's record of it.
unsafe fn find_sender(arrival: &Arrival, number: usize, frame: &mut Frame) {
    unsafe {
        let Some(worker) = arrival.worker.as_ref() else { return };
        worker.with(|pending| {
            let Some(operation) = pending.find(What::Request, number, |_| true) else { return };
            if arrival.id == RNDV_ATS && (*operation).protocol == Protocol::Rendezvous {
                (*operation).protocol = Protocol::RendezvousGet;
            }
            frame.set_link(ucp::link(operation));
        });
    }
}
