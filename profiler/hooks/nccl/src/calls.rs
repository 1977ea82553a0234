//! The calls of the program that the wrappers see.

use crate::chosen::Chosen;

/// The plugin is told how NCCL does an operation. Whether this thread is in a wrapper, which then counts it.
pub fn chosen(_chosen: &Chosen) -> bool {
    false
}

/// A communicator that a wrapper makes, by the number of [`crate::expected::take`]: the core's number of it, and its identity.
pub fn communicator(_number: u32) -> Option<(u32, [u64; 2])> {
    None
}
