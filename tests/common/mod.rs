//! What the integration tests share: a C program under `tests/programs/` is compiled for each MPI library, launched
//! with the profiler preloaded, and what it says about itself is compared with the profile it left.

// Every test file is a crate of its own and uses its part of this.
#![allow(dead_code, unused_imports)]

mod cluster;
mod compile;
mod invariants;
mod launch;
mod mpi;
pub mod profile;
mod query;
pub mod timeline;
mod truth;

pub use cluster::{Cluster, Job, Running, job_folder, skip, wait_for};
pub use compile::{
    Program, c_source, executable, fortran, fortran_library, fortran_source, mpi_shared_library, plugin,
    shared_library, symbols, with_fortran,
};
pub use invariants::{check as check_invariants, check_files};
pub use launch::{Done, Launch, Run, execute, execute_within_s, hook, library, static_library, target_folder, through};
pub use mpi::{Mpi, demand, fortran_symbols, library_file, mpi_symbols};
pub use profile::{Call, Communicator, Profile};
pub use query::answer;
pub use truth::{Facts, check, check_profile};

/// Runs a program that states what it does, and checks its profile against that.
pub fn holds(mpi: Mpi, program: &str, ranks: usize) {
    check(&Launch::new(mpi, program).ranks(ranks).run().succeeded());
}
