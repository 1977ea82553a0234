//! What the integration tests share: a C program under `tests/programs/` is compiled for each MPI library, launched
//! with the profiler preloaded, and what it says about itself is compared with the profile it left.

use std::sync::Mutex;
use std::thread;

mod cluster;
mod compile;
mod execute;
mod installed;
mod invariants;
mod kin;
mod launch;
mod mpi;
mod paths;
pub mod profile;
mod query;
pub mod timeline;
mod truth;

pub use cluster::{Cluster, Job, Running, job_folder, skip, wait_for};
pub use compile::{
    Program, c_source, executable, fortran, fortran_library, fortran_source, mpi_shared_library, plugin,
    shared_library, shared_library_of, source, wide_fortran, with_fortran,
};
pub use execute::{Done, execute, execute_within_s};
pub use installed::{fortran_symbols, interpreter, library_file, mpi_symbols, symbols};
pub use invariants::{check as check_invariants, check_files};
pub use kin::Kin;
pub use launch::{Launch, Run};
pub use mpi::{Mpi, demand};
pub use paths::{fetched, hook, library, root, static_library, target_folder, temporary_folder, through};
pub use profile::{Call, Communicator, Profile};
pub use query::answer;
pub use truth::{Facts, check, check_profile};

/// Checks cases that mostly wait, some of them at a time. The test fails if one of them does.
pub fn side_by_side<Case: Send>(cases: impl IntoIterator<Item = Case, IntoIter: Send>, check: impl Fn(Case) + Sync) {
    const AT_A_TIME: usize = 8;
    let (cases, test) = (Mutex::new(cases.into_iter()), thread::current());
    let next = || cases.lock().expect("the cases").next();
    let check_some = || std::iter::from_fn(next).for_each(&check);
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            let named = thread::Builder::new().name(test.name().unwrap_or("a test").to_owned());
            named.spawn_scoped(scope, check_some).expect("a thread");
        }
    });
}

/// Runs a program that states what it does, and checks its profile against that.
pub fn holds(mpi: Mpi, program: &str, ranks: usize) {
    check(&Launch::new(mpi, program).ranks(ranks).run().succeeded());
}
