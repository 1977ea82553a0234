//! What layers below MPI did, for people: each question answered from the sums over ranks and peers.

pub mod amplification;
pub mod contributors;
pub mod known;
pub mod linkage;
pub mod protocols;
