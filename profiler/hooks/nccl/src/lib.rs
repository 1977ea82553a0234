//! libcommsee_nccl.so: preloaded beside libcommsee.so, it counts what a program asks of NCCL, of RCCL, which has the same functions, and of
//! oneCCL, on communicators that have names.
//!
//! ```text
//! program ── ncclAllReduce ──▶ wrappers/ ─▶ calls/ ─▶ libnccl ── profiler plugin ──▶ plugin/
//!                                  communicators/ ◀─┤ commsee_hook_count ◀── how (chosen) ┘
//! ```
//!
//! Invariants: results and handles are the library's own; the library is asked nothing that the program might notice; what it lacks is never
//! called; nothing is printed to standard output; calls that the library makes by itself are not the program's.

#![deny(unsafe_op_in_unsafe_fn)]
// Wrappers take the arguments of the library's functions, and answer for them as a whole.
#![allow(clippy::too_many_arguments, clippy::missing_safety_doc)]

mod abi;
mod calls;
mod chosen;
mod communicators;
mod expected;
mod functions;
mod library;
mod module;
mod peers;
mod plugin;
mod unseen;
mod wrappers;
