//! What is declared in UCX's headers, as far as it is used here; `tests/ucx_abi.rs` compares it with the installed ones.

pub mod ucp;
pub mod ucs;
pub mod uct;
