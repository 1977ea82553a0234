//! Active messages that a transport hands to libucp.

use std::ffi::{c_uint, c_void};

use commsee_hook::{AT_ONCE, Call};
use commsee_runtime::stack;

use super::answers;
use super::interface::Handler;
use crate::abi::ucs::Status;
use crate::inflight::operation::Link;
use crate::inflight::thread::{self, Frame, Kind, Standing};
use crate::inflight::workers;
use crate::module;
use crate::module::memory;
use crate::module::protocol::message::{EAGER_SYNC_ACK, RNDV_ATP, RNDV_ATS, RNDV_DATA, RNDV_RTR, RNDV_RTS};
use crate::module::protocol::{self, Protocol};
use crate::module::routes::Routes;

static ROUTES: Routes = Routes::new();

/// Stands in front of a handler.
///
/// # Safety
/// The transport calls it with a handler that it was given away with.
pub unsafe extern "C-unwind" fn arrived(
    handler: *mut c_void,
    data: *mut c_void,
    length: usize,
    flags: c_uint,
) -> Status {
    // SAFETY: as demanded; the thread is this one's.
    unsafe {
        let handler = &*handler.cast::<Handler>();
        let call = || (handler.callback)(handler.argument, data, length, flags);
        let Some(thread) = module::get().and_then(|module| thread::current(module, stack::pointer())) else {
            return call();
        };
        let kind = Kind::Arrival(handler.id, handler.carrier);
        let Some(mut standing) = Standing::enter(thread, kind, stack::pointer()) else { return call() };
        standing.frame().shows = match handler.id {
            // Unless the receiver finds the data by then, it asks for it.
            RNDV_RTS => Protocol::RendezvousGet,
            id => protocol::shown_by(id),
        };
        let number = number(handler, data, length, standing.frame());
        let status = call();
        count(handler, standing.frame(), number, length);
        status
    }
}

/// Of a request of this process that the message begins with, or 0.
#[inline(always)]
unsafe fn number(handler: &Handler, data: *mut c_void, length: usize, frame: &mut Frame) -> u64 {
    if !matches!(handler.id, EAGER_SYNC_ACK..=RNDV_DATA | RNDV_ATP) || length < 8 || data.is_null() {
        return 0;
    }
    // SAFETY: a message of that length lies there.
    let number = unsafe { data.cast::<u64>().read_unaligned() };
    if matches!(handler.id, EAGER_SYNC_ACK | RNDV_ATS | RNDV_RTR) {
        find_sender(handler, number as usize, frame);
    }
    number
}

/// The number of a sender's request is the address of libucp's record of it.
fn find_sender(handler: &Handler, number: usize, frame: &mut Frame) {
    let Some(worker) = workers::by_number(handler.worker) else { return };
    worker.with(|in_flight| {
        let Some(operation) = in_flight.map.by_request(number) else { return };
        // SAFETY: what is in the map is in use as long as `with` lasts.
        unsafe {
            let shown = &(*operation).shown;
            if handler.id == RNDV_ATS {
                shown.protocol.set(shown.protocol.get().refined(Protocol::RendezvousGet));
            }
            frame.link = Some(Link::to(operation));
        }
    });
}

/// Its handler is through.
fn count(handler: &Handler, frame: &Frame, number: u64, length: usize) {
    let Some(module) = module::get() else { return };
    let (link, sent) = (frame.link.as_ref(), frame.answers());
    if !sent.is_empty() {
        answers::count_all(module, handler.worker, sent, link);
    }
    if let (RNDV_DATA | RNDV_ATP, Some(link)) = (handler.id, link) {
        answers::count_expected(module, handler.worker, number, link);
    }
    let route =
        ROUTES.number(module, "uct-rx", "uct_am", protocol::of_message(handler.id), handler.carrier, memory::NONE);
    let call = link.map_or(&Call::NONE, |link| &link.call);
    module.count(call, route, 0, length as u64, length as u64, AT_ONCE);
}
