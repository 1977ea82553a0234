//! What an operation carries: by its kind, and for active messages by their number in libucp.

use std::sync::atomic::{AtomicU8, Ordering};

use commsee_runtime::loose::Word;

/// In the order of [`NAMES`].
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Protocol {
    /// There is no data, as in a flush.
    None,
    Eager,
    /// Announced first. How the data moves is not known here.
    Rendezvous,
    RendezvousGet,
    RendezvousPut,
    RendezvousAm,
    /// One-sided.
    Rma,
    /// What announces, answers and acknowledges.
    Control,
    /// From or into the memory of a device of this process.
    Copy,
    /// Below, what belongs to no MPI call: connections are made,
    Wireup,
    /// a message is answered for which nobody waits here,
    Reply,
    /// or it could not be found out.
    Unlinked,
}

impl Protocol {
    #[inline(always)]
    pub fn is_rendezvous(self) -> bool {
        (Protocol::Rendezvous as u8..=Protocol::RendezvousAm as u8).contains(&(self as u8))
    }

    /// What a rendezvous that showed only as such turned out to be.
    #[inline(always)]
    pub fn refined(self, shown: Protocol) -> Protocol {
        let is_open = matches!(self, Protocol::Eager | Protocol::Rendezvous);
        if is_open && shown.is_rendezvous() { shown } else { self }
    }
}

impl Word for Protocol {
    type Atomic = AtomicU8;
    const NONE: Protocol = Protocol::None;

    fn new(value: Protocol) -> AtomicU8 {
        AtomicU8::new(value as u8)
    }

    #[inline(always)]
    fn load(place: &AtomicU8) -> Protocol {
        // SAFETY: `store` and `new` alone write it, and 0 is one, too.
        unsafe { std::mem::transmute::<u8, Protocol>(place.load(Ordering::Relaxed)) }
    }

    #[inline(always)]
    fn store(place: &AtomicU8, value: Protocol) {
        place.store(value as u8, Ordering::Relaxed);
    }
}

pub const NAMES: [&str; COUNT] =
    ["", "eager", "rndv", "rndv-get", "rndv-put", "rndv-am", "rma", "control", "copy", "wireup", "reply", "unlinked"];
pub const COUNT: usize = 12;

/// `ucp_am_id_t`, the same from UCX 1.11 to 1.22.
pub mod message {
    pub const WIREUP: u8 = 1;
    pub const EAGER_ONLY: u8 = 2;
    pub const EAGER_MIDDLE: u8 = 4;
    pub const EAGER_SYNC_ONLY: u8 = 6;
    pub const EAGER_SYNC_FIRST: u8 = 7;
    pub const EAGER_SYNC_ACK: u8 = 8;
    pub const RNDV_RTS: u8 = 9;
    pub const RNDV_ATS: u8 = 10;
    pub const RNDV_RTR: u8 = 11;
    pub const RNDV_DATA: u8 = 12;
    pub const OFFLOAD_SYNC_ACK: u8 = 14;
    pub const STREAM_DATA: u8 = 15;
    pub const RNDV_ATP: u8 = 16;
    pub const PUT: u8 = 17;
    pub const GET_REP: u8 = 19;
    pub const ATOMIC_REP: u8 = 21;
    pub const CMPL: u8 = 22;
    pub const AM_SINGLE: u8 = 23;
    pub const AM_SINGLE_REPLY: u8 = 26;
}

/// What an active message carries.
#[inline(always)]
pub fn of_message(id: u8) -> Protocol {
    use message::*;
    match id {
        WIREUP => Protocol::Wireup,
        EAGER_ONLY..=EAGER_MIDDLE | EAGER_SYNC_ONLY | EAGER_SYNC_FIRST | STREAM_DATA => Protocol::Eager,
        AM_SINGLE..=AM_SINGLE_REPLY => Protocol::Eager,
        RNDV_DATA => Protocol::RendezvousAm,
        PUT | GET_REP => Protocol::Rma,
        _ => Protocol::Control,
    }
}

/// How a message is sent that a process gets or sends such a message for: who has put the data says so, and who got it.
#[inline(always)]
pub fn shown_by(id: u8) -> Protocol {
    match id {
        message::RNDV_RTS | message::RNDV_RTR => Protocol::Rendezvous,
        message::RNDV_ATS => Protocol::RendezvousGet,
        message::RNDV_ATP => Protocol::RendezvousPut,
        message::RNDV_DATA => Protocol::RendezvousAm,
        _ => Protocol::None,
    }
}

/// Whether it is sent because something arrived.
pub fn is_answer(id: u8) -> bool {
    use message::*;
    matches!(id, EAGER_SYNC_ACK | OFFLOAD_SYNC_ACK | RNDV_ATS | RNDV_RTR | RNDV_ATP | GET_REP | ATOMIC_REP | CMPL)
}
