//! Memory of which nobody knows whether it is there.

pub use commsee_runtime::probe::*;
