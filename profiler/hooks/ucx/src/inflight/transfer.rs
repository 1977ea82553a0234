//! The record of an operation of UCT that goes on after its call.

use std::sync::atomic::AtomicU8;

use super::operation::Link;
use super::pool::Pooled;
use crate::abi::uct::Completion;
use crate::module::protocol::Protocol;

/// Stands in for libucp's completion. The transport gives it back by its address.
#[repr(C)]
pub struct Transfer {
    pub own: Completion,
    pub original: *mut Completion,
    /// As that of an operation.
    pub phase: AtomicU8,
    /// The number of its worker.
    pub worker: u32,
    pub is_linked: bool,
    pub link: Link,
    /// How it moved data, and how if it turns out to belong to an operation.
    pub route: u32,
    pub linked_route: u32,
    /// How the message is sent to which it belongs.
    pub shows: Protocol,
    pub peer: u32,
    pub bytes: u64,
    pub begin_ns: u64,
}

impl Transfer {
    pub fn known_link(&self) -> Option<Link> {
        self.is_linked.then_some(self.link)
    }
}

// SAFETY: zeros are a value of every field.
unsafe impl Pooled for Transfer {}
