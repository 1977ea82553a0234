//! What is in flight, and what each thread is in the middle of: operations from their post to their completion, by worker.

pub mod answers;
pub mod counting;
pub mod endpoints;
pub mod map;
pub mod one_sided;
pub mod operation;
pub mod pool;
pub mod thread;
pub mod transfer;
pub mod workers;
