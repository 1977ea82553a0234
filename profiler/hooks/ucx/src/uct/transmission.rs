//! An operation of UCT on its way: what it is counted as.

use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use commsee_hook::AT_ONCE;
use commsee_runtime::stack;

use super::completion::completed;
use super::interface::Interface;
use super::link::{self, Clue};
use super::{answers, route};
use crate::abi::ucs::{self, Status};
use crate::abi::uct::{Completion, Ep};
use crate::inflight::answers::Answer;
use crate::inflight::endpoints;
use crate::inflight::operation::{Link, Owner, Shown, phase};
use crate::inflight::pool::Pool;
use crate::inflight::thread::{self, Frame, Kind, Thread};
use crate::inflight::transfer::Transfer;
use crate::module::protocol::{self, Protocol, message};
use crate::module::routes::Reach;
use crate::module::{self, Module};

/// What an operation carries as far as its own arguments tell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Cargo {
    Message(u8),
    Put,
    Get,
    Atomic,
    /// By the transport's own matching of tags.
    Tagged,
    /// Such a transfer that is announced first.
    TaggedRendezvous,
}

impl Cargo {
    #[inline(always)]
    fn protocol(self, reach: Reach, is_one_sided: bool) -> Protocol {
        match self {
            Cargo::Message(id) => protocol::of_message(id),
            Cargo::Put | Cargo::Get if reach == Reach::Device => Protocol::Copy,
            Cargo::Put if !is_one_sided => Protocol::RendezvousPut,
            Cargo::Get if !is_one_sided => Protocol::RendezvousGet,
            Cargo::Put | Cargo::Get | Cargo::Atomic => Protocol::Rma,
            Cargo::Tagged => Protocol::Eager,
            Cargo::TaggedRendezvous => Protocol::Rendezvous,
        }
    }

    /// How the message is sent that it belongs to. A copy does not tell.
    #[inline(always)]
    fn shows(self, reach: Reach) -> Protocol {
        match self {
            Cargo::Message(id) => protocol::shown_by(id),
            Cargo::Tagged => Protocol::None,
            _ => self.protocol(reach, false),
        }
    }
}

pub struct Transmission {
    module: &'static Module,
    thread: *mut Thread,
    interface: &'static Interface,
    cargo: Cargo,
    /// Of its function in the table.
    place: usize,
    owner: Owner,
    ep: *mut Ep,
    begin_ns: u64,
    transfer: *mut Transfer,
    /// Of an answer: under which its own will come, or 0.
    number: u64,
}

/// None while nothing is recorded.
///
/// # Safety
/// The endpoint is one of the interface's.
#[inline(always)]
pub unsafe fn begin(
    interface: &'static Interface,
    ep: *mut Ep,
    place: usize,
    cargo: Cargo,
    clue: Clue,
) -> Option<Transmission> {
    let module = module::get()?;
    let thread = thread::current(module, stack::pointer())?;
    let owner = if cargo == Cargo::Message(message::WIREUP) {
        Owner::Unknown
    } else {
        // SAFETY: the thread is this one's.
        unsafe { link::find(thread, interface, clue, ep) }
    };
    let begin_ns = if owner.call().is_traced() { module.now_ns() } else { 0 };
    let (number, transfer) = (clue.number, null_mut());
    Some(Transmission { module, thread, interface, cargo, place, owner, ep, begin_ns, transfer, number })
}

impl Transmission {
    /// A completion of our own in place of libucp's, where it has one.
    ///
    /// # Safety
    /// The transport gets it now.
    pub unsafe fn completion(&mut self, original: *mut Completion) -> *mut Completion {
        if original.is_null() {
            return original;
        }
        // SAFETY: the thread is this one's. A record out of its pool is nobody else's until the transport gets it.
        unsafe {
            let transfer = (*self.thread).transfers.take();
            if transfer.is_null() {
                return original;
            }
            self.transfer = transfer;
            (*transfer).own = Completion { func: Some(completed), count: 1, status: ucs::OK };
            (*transfer).original = original;
            (*transfer).phase.store(phase::POSTING, Ordering::Relaxed);
            (*transfer).worker = self.interface.worker;
            (*transfer).shows = self.cargo.shows(self.interface.reach);
            (*transfer).is_linked = self.owner.is_known();
            (*transfer).link = self.owner.link().unwrap_or(Link::NONE);
            &raw mut (*transfer).own
        }
    }

    /// The transport has returned a status.
    ///
    /// # Safety
    /// In the thread in which it began.
    #[inline(always)]
    pub unsafe fn end(self, status: Status, bytes: usize) {
        // SAFETY: as demanded. Unless it goes on, the transport does not keep the record.
        unsafe {
            if status == ucs::INPROGRESS && !self.transfer.is_null() {
                return self.goes_on(bytes);
            }
            if status == ucs::OK || status == ucs::INPROGRESS {
                self.count(bytes);
            }
            if !self.transfer.is_null() {
                Pool::give(self.transfer);
            }
        }
    }

    /// The transport has returned how many bytes were packed, or an error.
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    pub unsafe fn end_packed(self, packed: isize) {
        if packed >= 0 {
            // SAFETY: as demanded.
            unsafe { self.count(packed as usize) };
        }
    }

    /// It is counted when its completion comes.
    unsafe fn goes_on(self, bytes: usize) {
        // SAFETY: until the phase says that it is pending, its completion reads only what `completion` wrote.
        unsafe {
            let transfer = self.transfer;
            let route = self.route(bytes);
            (*transfer).route = route;
            (*transfer).linked_route = self.number(self.cargo.protocol(self.interface.reach, false));
            (*transfer).peer = self.peer();
            (*transfer).bytes = bytes as u64;
            (*transfer).begin_ns = if self.begin_ns != 0 { self.begin_ns } else { self.module.now_ns() };
            let place = &(*transfer).phase;
            if place.compare_exchange(phase::POSTING, phase::PENDING, Ordering::AcqRel, Ordering::Acquire).is_err() {
                // It came before the call returned.
                self.count_by(route, bytes as u64);
                Pool::give(transfer);
            }
        }
    }

    #[inline(always)]
    unsafe fn count(&self, bytes: usize) {
        // SAFETY: the thread is this one's.
        unsafe {
            if self.owner.is_known() || !self.is_kept_as_answer(bytes) {
                self.count_by(self.route(bytes), bytes as u64);
            }
        }
    }

    fn count_by(&self, route: u32, bytes: u64) {
        let (call, peer) = (self.owner.call(), self.peer());
        self.module.count(call, route, peer, bytes, bytes, AT_ONCE);
        if self.begin_ns != 0 {
            self.module.event(call, route, peer, bytes, self.begin_ns, self.module.now_ns());
        }
    }

    /// That of the operation above, else that of the endpoint. A copy stays in this process.
    fn peer(&self) -> u32 {
        if self.interface.reach == Reach::Device {
            return endpoints::own_peer();
        }
        match self.owner.peer() {
            0 => endpoints::uct_peer(self.ep.cast()),
            peer => peer,
        }
    }

    /// Its route. Tells the operation above, and what arrived just now, what it turned out to be.
    unsafe fn route(&self, bytes: usize) -> u32 {
        let protocol = match self.owner.described() {
            Some(described) => {
                let protocol = self.cargo.protocol(self.interface.reach, described.is_one_sided());
                if let Some(shown) = self.owner.shown() {
                    // SAFETY: the thread is this one's.
                    let frame = unsafe { thread::innermost(self.thread) }.filter(|frame| frame.is_progress());
                    if self.interface.reach == Reach::Device {
                        self.mark_copied(shown, described.arrives(), frame.as_deref());
                    } else {
                        self.mark(shown, protocol, bytes as u64);
                        if described.arrives() && shown.peer.get() == 0 {
                            shown.peer.set(self.peer());
                        }
                    }
                    // The first operation of UCX's progress that belongs to something tells to what the others belong.
                    if let Some(frame) = frame.filter(|frame| frame.link.is_none()) {
                        frame.link = self.owner.link();
                    }
                }
                protocol
            }
            // SAFETY: as above.
            None => unsafe { self.unlinked() },
        };
        self.number(protocol)
    }

    fn number(&self, protocol: Protocol) -> u32 {
        route::number(self.module, self.place, protocol, self.interface.carrier)
    }

    /// A copy tells by which transport only where no other takes the data. For a receive, what brought the data tells how it was sent.
    fn mark_copied(&self, shown: &Shown, arrives: bool, frame: Option<&Frame>) {
        if shown.carrier.get() == 0 {
            let is_data = |id| matches!(protocol::of_message(id), Protocol::Eager | Protocol::RendezvousAm);
            shown.carrier.set(match frame.map(|frame| frame.kind) {
                Some(Kind::Arrival(id, brought)) if arrives && is_data(id) => brought,
                _ => self.interface.carrier,
            });
            shown.carried_bytes.set(0);
        }
        if let (true, Some(frame)) = (arrives, frame) {
            shown.protocol.set(shown.protocol.get().refined(frame.shows));
        }
    }

    fn mark(&self, shown: &Shown, protocol: Protocol, bytes: u64) {
        if protocol != Protocol::Control {
            let most = if shown.carrier.get() == 0 { 0 } else { shown.carried_bytes.get() };
            if bytes > most {
                shown.carried_bytes.set(bytes);
                shown.carrier.set(self.interface.carrier);
            }
            if protocol.is_rendezvous() {
                shown.protocol.set(protocol);
            }
        } else {
            shown.protocol.set(shown.protocol.get().refined(self.cargo.shows(self.interface.reach)));
        }
    }

    /// What a handler answers may turn out to belong to what completes in it, or when its own answer comes.
    #[cold]
    unsafe fn is_kept_as_answer(&self, bytes: usize) -> bool {
        let Cargo::Message(id) = self.cargo else { return false };
        if !protocol::is_answer(id) {
            return false;
        }
        let (place, carrier) = (self.place as u8, self.interface.carrier);
        let answer = Answer { place, carrier, peer: self.peer(), bytes: bytes as u64, number: self.number };
        // SAFETY: the thread is this one's.
        let frame = unsafe { thread::innermost(self.thread) }.filter(|frame| frame.is_progress());
        frame.is_some_and(|frame| frame.keep(answer)) || answers::expect(self.module, self.interface.worker, answer)
    }

    /// Takes what a message that was packed tells, where nothing else did.
    ///
    /// # Safety
    /// In the thread in which it began.
    #[cold]
    pub unsafe fn look_again(&mut self, clue: Clue) {
        self.number = clue.number;
        if !self.owner.is_known() {
            // SAFETY: as demanded.
            self.owner = unsafe { link::find(self.thread, self.interface, clue, self.ep) };
        }
    }

    #[cold]
    unsafe fn unlinked(&self) -> Protocol {
        // SAFETY: the thread is this one's.
        let frame = unsafe { thread::innermost(self.thread) };
        match self.cargo {
            Cargo::Message(message::WIREUP) => Protocol::Wireup,
            Cargo::Message(id) if protocol::is_answer(id) => Protocol::Reply,
            _ if frame.is_some_and(|frame| frame.is_progress()) => Protocol::Reply,
            _ => Protocol::Unlinked,
        }
    }
}
