//! The record of an operation of UCP, from its post to its completion. [`map`](super::map) draws the states that it goes through.
//!
//! The thread that posts it writes most of it before the operation is pending, and nobody does afterwards but its completion. What others
//! may write or read meanwhile is [`Loose`].

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::AtomicU8;

use commsee_hook::Call;
use commsee_runtime::loose::Loose;

use super::pool::Pooled;
use crate::abi::ucp::TagRecvInfo;
use crate::abi::ucs::Status;
use crate::module::functions::{Described, Function};
use crate::module::memory::Memory;
use crate::module::protocol::Protocol;

/// Where a record stands. The post and the callback may run in different threads, in either order.
pub mod phase {
    pub const POSTING: u8 = 0;
    pub const PENDING: u8 = 1;
    /// The callback has come.
    pub const DONE: u8 = 2;
}

/// What becomes of the request of a receive that is done when it is posted.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum AtOnce {
    /// The program wants a request and a callback in any case.
    No,
    FreeRequest,
    /// It is the program's own.
    KeepRequest,
}

pub struct Operation {
    pub phase: AtomicU8,
    pub function: Function,
    pub at_once: AtOnce,
    /// Its datatype tells how large the message is, while it is packed.
    pub is_generic: bool,
    pub failed: bool,
    pub status: Status,
    /// The number of its worker.
    pub worker: u32,
    /// The place of its post's frame.
    pub frame: usize,
    pub call: Call,
    pub shown: Shown,
    /// Where the message lies here.
    pub memory: Memory,
    /// Of the message; of a receive, what arrived.
    pub bytes: u64,
    pub begin_ns: u64,
    /// From the first byte to behind the last one, where they are in one piece.
    pub buffer: (usize, usize),
    pub request: *mut c_void,
    /// The program's.
    pub callback: Loose<usize>,
    pub user_data: *mut c_void,
    /// Where a receive that is done at once says what arrived.
    pub info: TagRecvInfo,
    /// The program's own place for that.
    pub program_info: *mut c_void,
    /// Its place in the map.
    pub nodes: [Node; NODES],
    /// Those that are pending on a worker have ascending ones.
    pub order: u64,
}

// SAFETY: zeros are a value of every field.
unsafe impl Pooled for Operation {}

/// What transmissions tell of the operation that they belong to.
pub struct Shown {
    pub peer: Loose<u32>,
    pub protocol: Loose<Protocol>,
    /// What took most of its data, or 0.
    pub carrier: Loose<u8>,
    /// What the largest transmission carried; says nothing without a carrier.
    pub carried_bytes: Loose<u64>,
    /// Records are used again, each time with another one.
    generation: Loose<u32>,
}

impl Shown {
    /// The record is used again.
    pub fn renew(&self) {
        self.generation.set(self.generation.get().wrapping_add(1));
    }
}

/// One by its request, two by its buffer.
pub const NODES: usize = 3;

/// An entry of the map, inside of the operation's record.
pub struct Node {
    pub next: *mut Node,
    /// What points here: a head, or another node's `next`. Null where it is not in the map.
    pub link: *mut *mut Node,
    pub operation: *mut Operation,
    pub granule: usize,
    pub class: u8,
}

/// What is known of an operation that is perhaps over.
#[derive(Clone, Copy)]
pub struct Link {
    pub call: Call,
    pub peer: u32,
    generation: u32,
    described: &'static Described,
    /// Null where only its call is known.
    operation: *mut Operation,
}

impl Link {
    pub const NONE: Link = Link {
        call: Call::NONE,
        peer: 0,
        generation: 0,
        described: Function::ucp_tag_send_nbx.described(),
        operation: null_mut(),
    };

    /// # Safety
    /// The operation is in use.
    #[inline(always)]
    pub unsafe fn to(operation: *mut Operation) -> Link {
        // SAFETY: as demanded.
        unsafe {
            Link {
                call: (*operation).call,
                peer: (*operation).shown.peer.get(),
                generation: (*operation).shown.generation.get(),
                described: (*operation).function.described(),
                operation,
            }
        }
    }

    /// The same for an operation that is as good as over.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn to_call_of(operation: *mut Operation) -> Link {
        // SAFETY: as demanded.
        Link { operation: null_mut(), ..unsafe { Link::to(operation) } }
    }
}

/// The operation that something of UCT belongs to.
#[derive(Clone, Copy)]
pub enum Owner {
    /// It is being posted, or waits in a call of UCP: it is there as long as that goes on.
    Posted(*mut Operation),
    Linked(Link),
    Unknown,
}

impl Owner {
    pub fn is_known(&self) -> bool {
        !matches!(self, Owner::Unknown)
    }

    #[inline(always)]
    pub fn call(&self) -> &Call {
        match self {
            // SAFETY: it is in use, and its call stays as it is.
            Owner::Posted(operation) => unsafe { &(**operation).call },
            Owner::Linked(link) => &link.call,
            Owner::Unknown => &Call::NONE,
        }
    }

    /// Or 0.
    #[inline(always)]
    pub fn peer(&self) -> u32 {
        match self {
            // SAFETY: as above.
            Owner::Posted(operation) => unsafe { (**operation).shown.peer.get() },
            Owner::Linked(link) => link.peer,
            Owner::Unknown => 0,
        }
    }

    #[inline(always)]
    pub fn described(&self) -> Option<&'static Described> {
        match self {
            // SAFETY: as above.
            Owner::Posted(operation) => Some(unsafe { (**operation).function.described() }),
            Owner::Linked(link) => Some(link.described),
            Owner::Unknown => None,
        }
    }

    /// What the operation shows, unless its record serves another one by now.
    #[inline(always)]
    pub fn shown(&self) -> Option<&Shown> {
        let (operation, generation) = match self {
            // SAFETY: as above.
            Owner::Posted(operation) => return Some(unsafe { &(**operation).shown }),
            Owner::Linked(link) => (link.operation, link.generation),
            Owner::Unknown => return None,
        };
        // SAFETY: null, or a record, which is never freed. Any thread may read and write what it shows.
        unsafe { (!operation.is_null()).then(|| &(*operation).shown) }
            .filter(|shown| shown.generation.get() == generation)
    }

    /// For what outlives the call in which it was found.
    pub fn link(&self) -> Option<Link> {
        match self {
            // SAFETY: as above.
            Owner::Posted(operation) => Some(unsafe { Link::to(*operation) }),
            Owner::Linked(link) => Some(*link),
            Owner::Unknown => None,
        }
    }
}
