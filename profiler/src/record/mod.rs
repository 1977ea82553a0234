//! What a call adds to the counters of its thread, and what must be known for that.

pub mod buckets;
pub mod call;
pub mod carriers;
pub mod completed;
pub mod context;
pub mod enter;
pub mod files;
pub mod nonblocking;
pub mod persistent;
pub mod phases;
pub mod sites;
pub mod tally;
pub mod windows;
