//! What is in flight, and what each thread is in the middle of: operations from their post to their completion, by worker.

pub mod alike;
pub mod completion;
pub mod endpoints;
mod index;
pub mod operation;
pub mod pending;
pub mod thread;
pub mod tls;
pub mod workers;

pub use index::What;
