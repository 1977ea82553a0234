//! The functions that take the place of MPI's. build.rs writes the exported ones, for C and for Fortran, from the table of
//! calls: each hands over to its body, which calls the real function through `forward` and records. Most bodies are written
//! by build.rs, too; those with a rule of their own stand here: completion and start of requests, matched messages,
//! communicators, windows, files, partitions, and the begin and end.

// Bodies bear the names of MPI's functions.
#![allow(non_snake_case)]

mod array;
mod completion;
mod creators;
mod datatypes;
mod finish;
mod forward;
mod frees;
mod groups;
mod io;
mod lifecycle;
mod look;
mod messages;
mod partitioned;
mod requests;
mod rest;
mod rma;
mod shell;
mod starts;

// build.rs writes every rule as a call in a closure, also where the rule takes no arguments.
#[allow(clippy::redundant_closure)]
mod body {
    use std::ffi::c_int;

    use vocabulary::calls::op;

    pub use super::completion::*;
    pub use super::creators::*;
    pub use super::frees::*;
    pub use super::groups::*;
    pub use super::io::*;
    pub use super::messages::*;
    pub use super::partitioned::*;
    pub use super::requests::*;
    pub use super::rma::*;
    pub use super::starts::*;
    use crate::guest::guard::recorded;
    use crate::mpi::abi::Word;
    use crate::mpi::status;
    use crate::objects::requests::Starts;
    use crate::record::call::{Over, call};
    use crate::record::carriers::{Comm, Window};
    use crate::record::tally::{self, twice};
    use crate::record::{files, nonblocking, persistent, windows};
    use crate::thread::Thread;
    use crate::volume::{self, Context};
    use crate::wrappers::creators;

    include!(concat!(env!("OUT_DIR"), "/bodies.rs"));
}

// build.rs writes every count as one to be widened, also where it is wide already.
#[allow(clippy::useless_conversion)]
mod c {
    use std::ffi::c_int;

    use vocabulary::calls::op;

    use super::body;
    use super::shell::{recorded, shell};
    use crate::guest::caller::Caller;
    use crate::mpi::abi::Word;
    use crate::mpi::presence::where_present;
    use crate::mpi::real;
    use crate::objects::requests::HandleAddress;
    use crate::volume;

    include!(concat!(env!("OUT_DIR"), "/shells.rs"));
}

// build.rs writes every call as one whose places may be read again. Its statics bear the names of entry points.
#[allow(clippy::let_and_return, non_upper_case_globals)]
mod f {
    use std::cell::Cell;

    use vocabulary::calls::op;

    use super::body;
    use super::lifecycle::*;
    use super::shell::{fortran_entry, fortran_shell};
    use crate::fortran::{self, Object};
    use crate::guest::caller::{Address, Caller};
    use crate::guest::state;
    use crate::mpi::abi::Word;
    use crate::mpi::presence::where_present;
    use crate::objects::requests::HandleAddress;
    use crate::record::enter;
    use crate::volume;

    include!(concat!(env!("OUT_DIR"), "/fortran.rs"));
}
