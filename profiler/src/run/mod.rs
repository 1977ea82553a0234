//! Begin and end of a run, and how the counts of its processes become a profile.

pub mod gather;
pub mod last;
pub mod lifecycle;
pub mod sessions;
pub mod setup;
pub mod snapshots;
pub mod tree;
pub mod ungathered;
