//! This module as the core knows it.

commsee_runtime::module!(c"gpu", "the GPU", crate::environment::prepare);

pub use commsee_runtime::module::Module;
