//! libcommsee: preloaded into (or linked with) an MPI program, it counts what the program does by communicator.
//!
//! The way of a call: a wrapper ([`wrappers`]) forwards it to the real function ([`real`]) between two readings of the
//! [`clock`], its rule ([`volume`]) tells the bytes, and [`tally`] adds it to the counters of this [`thread`], which lie
//! in the [`shard`]. [`communicators`] knows what a communicator handle is, [`requests`] to whom a request belongs. At
//! the end [`gather`] brings all shards to rank 0, which writes the profile.
//!
//! Nothing here prints to standard output, ends the program, or calls an `MPI_` function: only `PMPI_` ones.

mod abi;
mod clock;
mod communicators;
mod datatypes;
mod dying;
mod errno;
mod files;
mod fortran;
mod gather;
mod guard;
mod handles;
mod hooks;
mod identity;
mod index;
mod labels;
mod last;
mod lifecycle;
mod linked;
mod lock;
mod memory;
mod message;
mod neighbors;
mod phases;
mod pmpi;
mod presence;
mod probe;
mod real;
mod requests;
mod rollcall;
mod say;
mod serial;
mod sessions;
mod settled;
mod setup;
mod shard;
mod signals;
mod snapshots;
mod standing;
mod state;
mod status;
mod tally;
mod texts;
mod thread;
mod tls;
mod trace;
mod tree;
mod ungathered;
mod volume;
mod windows;
mod world;
mod wrappers;
