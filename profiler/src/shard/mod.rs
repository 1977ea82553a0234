//! The shard: the mapped file that holds what this process counts, and the memory that lies in it or beside it.

#[allow(dead_code)]
pub mod code;
mod file;
pub mod index;
pub mod lock;
pub mod memory;
pub mod paths;
pub mod texts;

pub use file::*;
