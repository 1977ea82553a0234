//! Signals of writing, and cancelled threads.

pub use commsee_runtime::signals::*;
