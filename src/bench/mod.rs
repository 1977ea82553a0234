//! Measurements of the machine by groups of ranks: what groupbench writes and `through bench` reads.

pub mod model;
pub mod schema;
pub mod summary;

pub use summary::{Interval, Summary};
