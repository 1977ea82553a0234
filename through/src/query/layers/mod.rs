//! What layers below MPI did, for people: each question answered from the sums over ranks and peers.

pub mod algorithms;
pub mod amplification;
pub mod calls;
pub mod contributors;
pub mod crossed;
pub mod holders;
pub mod known;
pub mod linkage;
pub mod objects;
pub mod protocols;
pub mod ways;
