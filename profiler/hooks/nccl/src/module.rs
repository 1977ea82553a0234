//! This module as the core knows it.

commsee_runtime::module!(c"nccl", "NCCL");

pub use commsee_runtime::module::Module;
