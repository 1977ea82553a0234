//! The record of an operation of UCT that goes on after its call.

use std::sync::atomic::AtomicU8;

use super::operation::Link;
use super::pool::Pooled;
use crate::abi::uct::Completion;

/// Stands in for libucp's completion. The transport gives it back by its address.
#[repr(C)]
pub struct Transfer {
    pub own: Completion,
    pub original: *mut Completion,
    /// As that of an operation.
    pub phase: AtomicU8,
    pub is_linked: bool,
    pub link: Link,
    pub route: u32,
    pub peer: u32,
    pub bytes: u64,
    pub begin_ns: u64,
}

// SAFETY: zeros are a value of every field.
unsafe impl Pooled for Transfer {}
