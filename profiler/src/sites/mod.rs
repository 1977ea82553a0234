//! Where in the code: the call sites of calls, and the birthplaces of what they make, as numbers of the shard's sites; 0 is none. How they
//! are found is in the package `commsee-sites`.

mod rows;

use std::env;

use commsee_sites::{python, registry};
use vocabulary::passed_over;
use vocabulary::settings;

use rows::InShard;

pub use commsee_sites::sites::{of_caller, of_stack};

/// Before recording starts, and once the shard exists. It searches for symbols, which takes the loader's lock: `MPI_Init` opens libraries
/// itself, so a program that calls it where that lock is not to be had hangs without us.
pub fn start() {
    let own = settings::patterns(env::var(settings::PASS_OVER).ok().as_deref());
    let mut patterns: Vec<&str> = passed_over::patterns().collect();
    patterns.extend(own.iter().map(String::as_str));
    registry::start(Box::new(InShard::new()), &patterns);
    python::start();
}

/// Where something is made by the call that returns there.
#[inline(always)]
pub fn birthplace(return_address: usize) -> u32 {
    of_caller(return_address)
}
