//! This module as the core knows it.

commsee_runtime::module!(c"ucx", "UCX");

pub use commsee_runtime::module::Module;
