//! What each command does, one file per command. None of them uses another.

pub mod bench;
pub mod correlate;
pub mod diff;
pub mod reorder;
pub mod roofline;
pub mod tune;
