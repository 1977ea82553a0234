//! No panic crosses the boundary to the program: what fails in here switches recording off and is said.

pub use commsee_runtime::guard::*;

use crate::guest::state;

/// To be called first.
pub fn install() {
    commsee_runtime::guard::install(state::stop, "recording stops (the program goes on)");
}
