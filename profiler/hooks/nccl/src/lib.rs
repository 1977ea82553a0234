//! libcommsee_nccl.so: preloaded beside libcommsee.so, it counts what a program asks of NCCL, of RCCL, which has the same functions, and of
//! oneCCL, on communicators that have names.

#![deny(unsafe_op_in_unsafe_fn)]

mod calls;
#[expect(dead_code, reason = "the wrappers count with it")]
mod chosen;
#[expect(dead_code, reason = "the wrappers expect communicators")]
mod expected;
mod functions;
mod module;
mod peers;
mod plugin;
