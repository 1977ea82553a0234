//! What is known of a persistent request: what each start of it does, and where that is counted.

use std::ffi::c_int;
use std::ptr;

use vocabulary::shard::Edge;

use crate::objects::shortcuts::Shortcut;

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
    /// The counters of messages there, where [`Persistent::counts`].
    pub edge: *mut Edge,
}

impl Message {
    pub fn new(destination: c_int, world_rank: u32, bytes: u64) -> Message {
        Message { destination, world_rank, bytes, edge: ptr::null_mut() }
    }
}

/// What each start of a persistent request does. It stays where it is as long as the request lives.
pub struct Persistent {
    /// What starts by one operation in one phase need, and a started receive keeps of its call: the key of the counters; as `pending`
    /// those that the start is counted in, with a receive until its message arrives; and those that tell by its size how it was started, of a
    /// receive what arrived last.
    pub counted: Shortcut,
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

impl Persistent {
    /// Whether starts by this operation in this phase are counted where the latest one was.
    #[inline(always)]
    pub fn counts(&self, operation: u16, phase: u8) -> bool {
        self.counted.is_of_call(operation, phase)
    }
}
