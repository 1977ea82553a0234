//! What the integration tests share: a C program under `tests/programs/` is compiled for each MPI library, launched
//! with the profiler preloaded, and what it says about itself is compared with the profile it left.

use std::path::{Path, PathBuf};

mod cluster;
mod compile;
mod execute;
mod installed;
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
    shared_library, with_fortran,
};
pub use execute::{Done, execute, execute_within_s};
pub use installed::{fortran_symbols, library_file, mpi_symbols, symbols};
pub use invariants::{check as check_invariants, check_files};
pub use launch::{Launch, Run, hook, library, static_library, target_folder, through};
pub use mpi::{Mpi, demand};
pub use profile::{Call, Communicator, Profile};
pub use query::answer;
pub use truth::{Facts, check, check_profile};

/// The folder of the project.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two folders further up")
}

/// Where tests keep what they compile, and what lies there only for a moment.
pub fn temporary_folder() -> PathBuf {
    let folder = target_folder().join("tmp");
    std::fs::create_dir_all(&folder).expect("the folder of temporary files");
    folder
}

/// Runs a program that states what it does, and checks its profile against that.
pub fn holds(mpi: Mpi, program: &str, ranks: usize) {
    check(&Launch::new(mpi, program).ranks(ranks).run().succeeded());
}
