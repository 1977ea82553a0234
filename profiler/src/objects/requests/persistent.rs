//! What is known of a persistent request: what each start of it does, and where that is counted.

use std::ffi::c_int;
use std::ptr;

use vocabulary::shard::{Cell, Edge, NO_OPERATION};

/// What the start of a persistent request brings with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// All its bytes and messages.
    Sends,
    /// Bytes that are known only when its message has arrived.
    Receives,
    /// Nothing: each partition is a message of its own when it is ready.
    Partitions,
}

/// A message that each start sends.
pub struct Message {
    /// Rank in the communicator.
    pub destination: c_int,
    pub world_rank: u32,
    pub bytes: u64,
    /// The counters of messages there, where [`Counted`] is known.
    pub edge: *mut Edge,
}

impl Message {
    pub fn new(destination: c_int, world_rank: u32, bytes: u64) -> Message {
        Message { destination, world_rank, bytes, edge: ptr::null_mut() }
    }
}

/// What each start of a persistent request does. It stays where it is as long as the request lives.
pub struct Persistent {
    pub counted: Counted,
    pub starts: Starts,
    /// What is added to the bucket of its calls.
    pub mark: u8,
    /// What is known by then: nothing of what receives, or sends by partitions.
    pub sent: u64,
    pub received: u64,
    /// Of the message, or of a partition.
    pub message_bytes: u64,
    pub messages: Box<[Message]>,
    /// Rank in the communicator and world rank of the receiver of partitions, if there is one.
    pub partitions_to: Option<(c_int, u32)>,
    /// Number and bytes of each datatype argument, where they are recorded.
    pub datatypes: Box<[(u32, u64)]>,
    /// Of what it sends, where there is a timeline.
    pub tag: Option<c_int>,
}

/// Where starts by one operation in one phase are counted, so that most are not looked for.
pub struct Counted {
    pub operation: u16,
    pub phase: u8,
    /// The key of the counters, without a bucket.
    pub cells: u64,
    /// Those that a start by `MPI_Start` is counted in, with a receive until its message arrives.
    pub start: *mut Cell,
    /// Of what sends, those that tell by its size how it was started.
    pub sized: *mut Cell,
}

impl Counted {
    pub fn none() -> Counted {
        Counted { operation: NO_OPERATION, phase: 0, cells: 0, start: ptr::null_mut(), sized: ptr::null_mut() }
    }
}
