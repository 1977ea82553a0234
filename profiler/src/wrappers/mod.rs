//! The functions that take the place of MPI's. build.rs writes the exported ones, for C and for Fortran, from the table of
//! calls: each hands over to its body, which calls the real function through `forward` and records. Most bodies are written
//! by build.rs, too; those with a rule of their own stand here: completion and start of requests, matched messages,
//! communicators, windows, files, partitions, and the begin and end.

// Bodies bear the names of MPI's functions.
#![allow(non_snake_case)]

mod completion;
mod creators;
mod datatypes;
mod io;
mod lifecycle;
mod messages;
mod partitioned;
mod rma;

pub use creators::Late;

/// The real function of an operation, as the type that the wrapper's own arguments give.
macro_rules! real_function {
    ($operation:ident, fn($($argument:ty),*)) => {{
        let function = $crate::mpi::real::function(vocabulary::calls::op::$operation as usize);
        // SAFETY: the type repeats the function's declaration in the standard.
        unsafe { std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C-unwind" fn($($argument),*) -> std::ffi::c_int>(function) }
    }};
}
pub(crate) use real_function;

/// Runs the real function between two readings of the clock, with a note of where the thread stands: in a call over the
/// communicator of this record, or in a call that no shard knows of, because there is none yet.
macro_rules! timed {
    ($thread:ident, $record:expr, $operation:ident, $call:expr) => {{
        let record = $record;
        let begin = $crate::guest::clock::now();
        let place = $crate::record::standing::enter_over($thread, record, vocabulary::calls::op::$operation, begin);
        // Where it stands in an unsafe block already, this one is not needed.
        #[allow(unused_unsafe)]
        let code = unsafe { $call };
        let end = $crate::guest::clock::now();
        $crate::record::standing::leave(place, end);
        $crate::record::tally::Done {
            operation: vocabulary::calls::op::$operation,
            code,
            ticks: end.wrapping_sub(begin),
        }
    }};
    ($operation:ident, $call:expr) => {{
        let begin = $crate::guest::clock::now();
        // Where it stands in an unsafe block already, this one is not needed.
        #[allow(unused_unsafe)]
        let code = unsafe { $call };
        let ticks = $crate::guest::clock::now().wrapping_sub(begin);
        $crate::record::tally::Done { operation: vocabulary::calls::op::$operation, code, ticks }
    }};
}
pub(crate) use timed;

// build.rs writes every rule as a call in a closure, also where the rule takes no arguments.
#[allow(clippy::redundant_closure)]
mod body {
    use std::ffi::c_int;

    use vocabulary::calls::op;

    pub use super::completion::*;
    pub use super::creators::*;
    pub use super::io::*;
    pub use super::messages::*;
    pub use super::partitioned::*;
    pub use super::rma::*;
    use crate::guest::clock;
    use crate::guest::guard::recorded;
    use crate::mpi::abi::Word;
    use crate::mpi::status;
    use crate::objects::communicators;
    use crate::objects::requests::Starts;
    use crate::record::tally::{self, Done};
    use crate::record::{files, standing, windows};
    use crate::thread::Thread;
    use crate::wrappers::creators;
    use crate::{trace, volume};

    include!(concat!(env!("OUT_DIR"), "/bodies.rs"));
}

// build.rs writes every count as one to be widened, also where it is wide already.
#[allow(clippy::useless_conversion)]
mod c {
    use std::ffi::c_int;

    use vocabulary::calls::op;

    use super::{body, creators};
    use crate::mpi::abi::Word;
    use crate::mpi::presence::where_present;
    use crate::mpi::real;
    use crate::{thread, volume};

    include!(concat!(env!("OUT_DIR"), "/shells.rs"));
}

// build.rs writes every call as one whose places may be read again.
#[allow(clippy::let_and_return)]
mod f {
    use std::cell::Cell;

    use vocabulary::calls::op;

    use super::lifecycle::*;
    use super::{body, creators};
    use crate::fortran::{self, Object};
    use crate::mpi::abi::Word;
    use crate::mpi::presence::where_present;
    use crate::{thread, volume};

    include!(concat!(env!("OUT_DIR"), "/fortran.rs"));
}
