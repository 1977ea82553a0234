//! What a program finds in `errno` is its own.

pub use commsee_runtime::errno::*;
