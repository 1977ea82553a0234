//! Begin and end of a run, and how the counts of its processes become a profile.

pub mod alone;
pub mod control;
pub mod ending;
pub mod gather;
pub mod join;
pub mod lifecycle;
pub mod loaded;
pub mod output;
pub mod partial;
pub mod parting;
pub mod scheduled;
pub mod sessions;
pub mod setup;
pub mod snapshots;
pub mod surroundings;
pub mod tree;
pub mod unseen;
pub mod without_mpi;
