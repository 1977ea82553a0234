//! An operation of UCT on its way: what it is counted as. The hot path of this layer.

use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use commsee_hook::AT_ONCE;

use super::answers;
use super::completion::completed;
use super::interfaces::{self, Interface};
use super::link::{self, Clue};
use super::table;
use crate::abi::ucs::{self, Status};
use crate::abi::uct::{Completion, Ep};
use crate::inflight::alike::{Alike, Transmitted};
use crate::inflight::completion::Pending;
use crate::inflight::endpoints;
use crate::inflight::operation::{Operation, phase};
use crate::inflight::thread::{self, Answer, Kind, Link, Thread};
use crate::inflight::tls;
use crate::module::protocol::{self, Protocol, message};
use crate::module::routes::{Carrier, Routes};
use crate::module::{self, Module};

static ROUTES: [Routes; table::NAMES.len()] = [const { Routes::new() }; table::NAMES.len()];

/// How the function at a place of the table moved data.
#[inline(always)]
pub fn route(module: &Module, place: usize, protocol: Protocol, carrier: Carrier) -> u32 {
    match (ROUTES.get(place), table::NAMES.get(place)) {
        (Some(routes), Some(name)) => routes.number(module, "uct", name, protocol, carrier),
        _ => 0,
    }
}

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

/// What is transmitted without a completion inside of the call of UCP that wants it: most is.
#[derive(Clone, Copy)]
pub struct Posted {
    operation: *mut Operation,
    /// What is known of such operations, or null.
    alike: *mut Alike,
}

#[inline(always)]
pub unsafe fn posted(cargo: Cargo) -> Option<Posted> {
    module::get()?;
    // SAFETY: frames live as long as they are linked, and that of a post is part of its operation's record.
    unsafe {
        let frame = tls::get().as_ref()?.frame.as_ref()?;
        if frame.marks.kind != Kind::Post || cargo == Cargo::Message(message::WIREUP) {
            return None;
        }
        let operation = frame.operation;
        let alike = (*operation).alike;
        let is_plain = (*operation).now.peer.get() != 0 && (!alike.is_null() || !(*operation).call.is_traced());
        is_plain.then_some(Posted { operation, alike })
    }
}

/// The number of a message, or 0.
#[inline(always)]
fn id_of(cargo: Cargo) -> u8 {
    match cargo {
        Cargo::Message(id) => id,
        _ => 0,
    }
}

/// The function that was replaced, and the counter for what it transmits inside of the post that goes on, if such was transmitted before.
#[inline(always)]
pub unsafe fn known(ep: *mut Ep, place: usize, cargo: Cargo) -> Option<Known> {
    // SAFETY: an endpoint that libucp uses. Frames live as long as they are linked, and that of a post is part of its operation's record. Its
    // entry is as it was found until the post is over.
    unsafe {
        let frame = tls::get().as_ref()?.frame.as_ref()?;
        let alike = frame.posted.as_ref()?;
        let is_it = alike.transmission.is_of((*ep).iface as usize, place as u8, id_of(cargo));
        is_it.then_some(Known { operation: frame.operation, alike })
    }
}

impl Posted {
    #[cold]
    #[inline(never)]
    pub unsafe fn count(self, ep: *mut Ep, place: usize, cargo: Cargo, bytes: usize) {
        // SAFETY: an endpoint of a watched interface.
        let (Some(module), Some(interface)) = (module::get(), unsafe { interfaces::of(ep) }) else { return };
        // SAFETY: the post that `posted` found goes on: this is inside of it.
        unsafe {
            let operation = self.operation;
            let bytes = bytes as u64;
            let protocol = carried(cargo, (*operation).is_one_sided);
            mark(operation, cargo, protocol, interface.carrier, bytes);
            let route = route(module, place, protocol, interface.carrier);
            module.count(&(*operation).call, route, (*operation).now.peer.get(), bytes, bytes, AT_ONCE);
            if !self.alike.is_null() {
                let (iface, carrier) = ((*ep).iface as usize, interface.carrier);
                let real = interface.table.get(place).copied().unwrap_or(0);
                let id = id_of(cargo);
                let seen = Transmitted { iface, real, place: place as u8, id, carrier, protocol };
                Alike::learn_transmission(self.alike, module, route, bytes, seen);
            }
        }
    }
}

/// What was transmitted inside of the post that goes on, in another way than before.
#[cold]
#[inline(never)]
pub unsafe fn count_posted(ep: *mut Ep, place: usize, cargo: Cargo, bytes: usize) {
    // SAFETY: as in `known`, which found it.
    unsafe {
        if let Some(posted) = posted(cargo) {
            posted.count(ep, place, cargo, bytes);
        }
    }
}

/// What is known of it.
#[derive(Clone, Copy)]
pub struct Known {
    operation: *mut Operation,
    alike: *const Alike,
}

impl Known {
    #[inline(always)]
    pub unsafe fn real(self) -> usize {
        // SAFETY: as in `known`.
        unsafe { (*self.alike).transmission.real }
    }

    /// False where so many bytes have another counter.
    #[inline(always)]
    pub unsafe fn count(self, bytes: usize) -> bool {
        // SAFETY: as above: this is inside of the post, whose thread may count.
        unsafe {
            let bytes = bytes as u64;
            let (operation, transmission) = (self.operation, &(*self.alike).transmission);
            let is_known = transmission.counter.holds(bytes);
            if is_known {
                transmission.counter.add(bytes);
                if (*operation).now.word() == (*self.alike).posting && bytes != 0 {
                    (*operation).now.set_word(transmission.carried);
                    (*operation).carried_bytes.set(bytes);
                } else {
                    carry(operation, transmission.carrier, bytes);
                }
            }
            is_known
        }
    }
}

/// What took most of its data.
#[inline(always)]
unsafe fn carry(operation: *mut Operation, carrier: Carrier, bytes: u64) {
    // SAFETY: records are never freed.
    unsafe {
        let most = if (*operation).now.carrier.get() == 0 { 0 } else { (*operation).carried_bytes.get() };
        if bytes > most {
            (*operation).carried_bytes.set(bytes);
            (*operation).now.carrier.set(carrier);
        }
    }
}

#[inline(always)]
fn carried(cargo: Cargo, is_one_sided: bool) -> Protocol {
    match cargo {
        Cargo::Message(id) => protocol::of_message(id),
        Cargo::Put if !is_one_sided => Protocol::RendezvousPut,
        Cargo::Get if !is_one_sided => Protocol::RendezvousGet,
        Cargo::Put | Cargo::Get | Cargo::Atomic => Protocol::Rma,
        Cargo::Tagged => Protocol::Eager,
        Cargo::TaggedRendezvous => Protocol::Rendezvous,
    }
}

/// Tells the operation above what it turned out to be.
#[inline(always)]
unsafe fn mark(operation: *mut Operation, cargo: Cargo, protocol: Protocol, carrier: Carrier, bytes: u64) {
    // SAFETY: records are never freed.
    unsafe {
        if protocol != Protocol::Control {
            carry(operation, carrier, bytes);
            if protocol.is_rendezvous() {
                (*operation).now.protocol.set(protocol);
            }
        } else if let Cargo::Message(message::RNDV_RTS | message::RNDV_RTR) = cargo
            && (*operation).now.protocol.get() == Protocol::Eager
        {
            (*operation).now.protocol.set(Protocol::Rendezvous);
        }
    }
}

pub struct Transmission {
    module: &'static Module,
    thread: *mut Thread,
    interface: &'static Interface,
    link: Link,
    is_linked: bool,
    cargo: Cargo,
    place: usize,
    peer: u32,
    begin_ns: u64,
    completion: *mut Pending,
    /// Of an answer: under which its own will come, or 0.
    pub number: u64,
}

/// None while nothing is recorded.
#[inline(always)]
pub unsafe fn begin(
    interface: &'static Interface,
    ep: *mut Ep,
    place: usize,
    cargo: Cargo,
    pointer: usize,
    near: usize,
    far: u64,
) -> Option<Transmission> {
    let module = module::get()?;
    let thread = thread::current(module)?;
    // SAFETY: the thread is this one's, and its frames live as long as they are linked.
    unsafe {
        let is_posted = (*thread).frame.as_ref().is_some_and(|frame| frame.marks.kind == Kind::Post);
        let mut peer = if is_posted { 0 } else { endpoints::uct_peer(ep.cast()) };
        let found = if cargo == Cargo::Message(message::WIREUP) {
            None
        } else {
            link::find(thread, interface, Clue { pointer, near, far, peer })
        };
        let is_linked = found.is_some();
        let link = found.unwrap_or(Link::NONE);
        if link.peer != 0 {
            peer = link.peer;
        } else if is_posted {
            peer = endpoints::uct_peer(ep.cast());
        }
        let begin_ns = if link.call.is_traced() { module.now_ns() } else { 0 };
        let completion = null_mut();
        let number = 0;
        Some(Transmission {
            number,
            module,
            thread,
            interface,
            link,
            is_linked,
            cargo,
            place,
            peer,
            begin_ns,
            completion,
        })
    }
}

impl Transmission {
    /// A completion of our own in place of libucp's, where it has one.
    #[inline(always)]
    pub unsafe fn completion(&mut self, original: *mut Completion) -> *mut Completion {
        if original.is_null() {
            return original;
        }
        // SAFETY: the thread is this one's. A record out of its pool is nobody else's until the transport gets it.
        unsafe {
            self.completion = (*self.thread).completions.take();
            if self.completion.is_null() {
                return original;
            }
            (*self.completion).link = self.link;
            (*self.completion).is_linked = self.is_linked;
            Pending::prepare(self.completion, original, completed)
        }
    }

    /// For operations that tell a status.
    #[inline(always)]
    pub unsafe fn end(self, status: Status, bytes: usize) {
        // SAFETY: `begin` made it in this thread, and the transport has returned.
        unsafe {
            if status == ucs::INPROGRESS {
                self.goes_on(bytes);
            } else {
                if status == ucs::OK {
                    self.count(bytes);
                }
                self.give_up();
            }
        }
    }

    /// For those that tell how many bytes were packed, or an error.
    #[inline(always)]
    pub unsafe fn end_packed(self, packed: isize) {
        if packed >= 0 {
            // SAFETY: as in `end`.
            unsafe { self.count(packed as usize) };
        }
    }

    unsafe fn give_up(&self) {
        if !self.completion.is_null() {
            // SAFETY: it came from this thread's pool, and the transport does not keep it.
            unsafe { (*self.thread).completions.give(self.completion) };
        }
    }

    /// Completion is counted when it comes, if it shall be told at all.
    unsafe fn goes_on(self, bytes: usize) {
        // SAFETY: until the phase says that it is pending, its completion reads only what `completion` wrote.
        unsafe {
            if self.completion.is_null() {
                return self.count(bytes);
            }
            let pending = self.completion;
            (*pending).route = self.see(bytes);
            (*pending).peer = self.peer;
            (*pending).bytes = bytes as u64;
            (*pending).begin_ns = if self.begin_ns != 0 { self.begin_ns } else { self.module.now_ns() };
            let place = &(*pending).phase;
            let waits =
                place.compare_exchange(phase::POSTING, phase::PENDING, Ordering::AcqRel, Ordering::Acquire).is_ok();
            if !waits {
                // It came before the call returned.
                let route = (*pending).route;
                self.count_by(route, bytes as u64);
                self.give_up();
            }
        }
    }

    #[inline(always)]
    unsafe fn count(&self, bytes: usize) {
        // SAFETY: what `begin` found is still there: the thread is this one's, and records are never freed.
        unsafe {
            if !self.is_linked && self.waits_for_arrival(bytes) {
                return;
            }
            let route = self.see(bytes);
            self.count_by(route, bytes as u64);
        }
    }

    #[inline(always)]
    fn count_by(&self, route: u32, bytes: u64) {
        self.module.count(&self.link.call, route, self.peer, bytes, bytes, AT_ONCE);
        if self.begin_ns != 0 {
            let now = self.module.now_ns();
            self.module.event(&self.link.call, route, self.peer, bytes, self.begin_ns, now);
        }
    }

    /// Its route. Tells the operation above, and what arrived just now, what it turned out to be.
    #[inline(always)]
    unsafe fn see(&self, bytes: usize) -> u32 {
        // SAFETY: as in `count`.
        let protocol = unsafe { self.protocol(bytes) };
        route(self.module, self.place, protocol, self.interface.carrier)
    }

    #[inline(always)]
    unsafe fn protocol(&self, bytes: usize) -> Protocol {
        if !self.is_linked {
            // SAFETY: as in `count`.
            return unsafe { self.unlinked() };
        }
        let protocol = carried(self.cargo, self.link.is_one_sided);
        // SAFETY: as in `count`.
        unsafe { self.tell(protocol, bytes as u64) };
        protocol
    }

    /// Marks the operation above, unless its record is in use for another one by now.
    #[inline(always)]
    unsafe fn tell(&self, protocol: Protocol, bytes: u64) {
        // SAFETY: records are never freed. This one may serve another operation by now, so what is read and written of it is `Loose`.
        unsafe {
            let operation = self.link.operation;
            if operation.is_null() || (*operation).generation.get() != self.link.generation {
                return;
            }
            mark(operation, self.cargo, protocol, self.interface.carrier, bytes);
            if (*operation).arrives.get() && (*operation).now.peer.get() == 0 {
                (*operation).now.peer.set(self.peer);
            }
            // The first operation of a handler that belongs to something tells to what the others belong.
            if let Some(frame) = (*self.thread).frame.as_mut()
                && frame.marks.kind == Kind::Arrival
                && frame.link().is_none()
            {
                frame.set_link(self.link);
            }
        }
    }

    /// What a handler answers may turn out to belong to what completes in it, or when its own answer comes.
    #[cold]
    unsafe fn waits_for_arrival(&self, bytes: usize) -> bool {
        let Cargo::Message(id) = self.cargo else { return false };
        if !protocol::is_answer(id) {
            return false;
        }
        let (place, carrier) = (self.place as u8, self.interface.carrier);
        let answer = Answer { place, carrier, peer: self.peer, bytes: bytes as u64, number: self.number };
        // SAFETY: frames live as long as they are linked.
        match unsafe { (*self.thread).frame.as_mut() } {
            Some(frame) if frame.marks.kind == Kind::Arrival => frame.keep(answer),
            // SAFETY: the worker of a watched interface: those are never freed.
            _ => unsafe { answers::wait_for_answer(self.module, self.interface.worker, answer) },
        }
    }

    /// Takes what a message that was packed tells, where nothing else did.
    #[cold]
    pub unsafe fn look_again(&mut self, near: usize) {
        if self.is_linked {
            return;
        }
        let clue = Clue { pointer: 0, near, far: 0, peer: self.peer };
        // SAFETY: as in `begin`.
        let found = unsafe { link::find(self.thread, self.interface, clue) };
        if let Some(link) = found {
            self.is_linked = true;
            self.link = link;
        }
    }

    #[cold]
    unsafe fn unlinked(&self) -> Protocol {
        // SAFETY: the thread is this one's, and its frames live as long as they are linked.
        let in_handler =
            unsafe { (*self.thread).frame.as_ref() }.is_some_and(|frame| frame.marks.kind == Kind::Arrival);
        match self.cargo {
            Cargo::Message(message::WIREUP) => Protocol::Wireup,
            Cargo::Message(id) if protocol::is_answer(id) => Protocol::Reply,
            _ if in_handler => Protocol::Reply,
            _ => Protocol::Unlinked,
        }
    }
}
