//! libcommsee: preloaded into (or linked with) an MPI program, it counts what the program does by communicator.
//!
//! The way of a call: a wrapper ([`wrappers`]) forwards it to the real function ([`real`]) between two readings of the
//! [`clock`], its rule ([`volume`]) tells the bytes, and [`tally`] adds it to the counters of this [`thread`], which lie
//! in the [`shard`]. [`communicators`] knows what a communicator handle is, [`requests`] to whom a request belongs. At
//! the end [`gather`] brings all shards to rank 0, which writes the profile.
//!
//! Nothing here prints to standard output, ends the program, or calls an `MPI_` function: only `PMPI_` ones.

mod fortran;
mod guest;
mod hooks;
mod mpi;
mod objects;
mod record;
mod rollcall;
mod run;
mod shard;
mod thread;
mod trace;
mod volume;
mod wrappers;
