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
use crate::module::functions::Function;
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
    pub call: Call,
    pub shown: Shown,
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

/// The operation that something of UCT belongs to.
#[derive(Clone, Copy)]
pub struct Link {
    pub call: Call,
    pub peer: u32,
    generation: u32,
    /// Whether the operation reads or writes another process's memory.
    pub is_one_sided: bool,
    pub arrives: bool,
    /// Null where only its call is known.
    operation: *mut Operation,
}

impl Link {
    pub const NONE: Link =
        Link { call: Call::NONE, peer: 0, generation: 0, is_one_sided: false, arrives: false, operation: null_mut() };

    /// # Safety
    /// The operation is in use.
    #[inline(always)]
    pub unsafe fn to(operation: *mut Operation) -> Link {
        // SAFETY: as demanded.
        unsafe {
            let described = (*operation).function.described();
            Link {
                call: (*operation).call,
                peer: (*operation).shown.peer.get(),
                generation: (*operation).shown.generation.get(),
                is_one_sided: described.protocol == Protocol::Rma,
                arrives: described.arrives(),
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

    /// What the operation shows, unless its record serves another one by now.
    #[inline(always)]
    pub fn shown(&self) -> Option<&Shown> {
        // SAFETY: null, or a record, which is never freed. Any thread may read and write what it shows.
        unsafe { (!self.operation.is_null()).then(|| &(*self.operation).shown) }
            .filter(|shown| shown.generation.get() == self.generation)
    }
}
