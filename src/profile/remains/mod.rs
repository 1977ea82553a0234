//! What runs leave that did not end in `MPI_Finalize`: who of them lives, where their shards are, and the profile that is made of them.

mod claim;
pub mod debris;
pub mod hosts;
pub mod join;
mod life;
pub mod locks;
pub mod recover;
mod run;

pub use claim::Claim;
pub use life::{State, life};
