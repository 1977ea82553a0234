//! This module as the core knows it.

pub mod functions;
pub mod memory;
pub mod protocol;
pub mod routes;
pub mod version;

commsee_runtime::module!(c"ucx", "UCX");

pub use commsee_runtime::module::Module;
