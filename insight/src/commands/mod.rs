//! What each command does, one file per command; `bench` has `roofline` below it.

pub mod bench;
pub mod compare;
mod roofline;
pub mod traffic;
pub mod tune;
