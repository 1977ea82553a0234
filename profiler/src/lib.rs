//! libcommsee: preloaded into (or linked with) an MPI program, it counts what the program does by communicator.
//!
//! A call enters [`wrappers`], which forward it to the real function ([`mpi`]) between two readings of the clock. What it was given is
//! looked up in [`objects`], its rule in [`volume`] tells the bytes, and [`record`] adds it to the counters of its [`thread`], which lie
//! in the [`shard`]. At the end [`run`] brings all shards to rank 0, which writes the profile. No folder imports one that imports it:
//! docs/architecture.md has their floors.
//!
//! Nothing here prints to standard output, ends the program, or calls an `MPI_` function: only `PMPI_` ones.

// Wrappers take the arguments of MPI's functions, up to eleven of them, and answer for them as a whole.
#![allow(clippy::too_many_arguments, clippy::not_unsafe_ptr_arg_deref)]

mod fortran;
mod guest;
mod hooks;
mod mpi;
mod objects;
mod record;
mod rollcall;
mod run;
mod shard;
mod sites;
mod thread;
mod trace;
mod volume;
mod wrappers;
