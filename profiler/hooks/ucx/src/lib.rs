//! libcommsee_ucx.so: preloaded beside libcommsee.so, it counts what MPI calls become in UCX, above (UCP) and below (UCT).
//!
//! ```text
//! MPI library ── ucp_tag_send_nbx ──▶ ucp/  post ─▶ libucp ── ops.ep_am_short ──▶ uct/  account ─▶ transport
//!                                       │ operation                                  │ link
//!                                       └────────────── commsee_hook_count ──────────┘
//! ```
//!
//! Invariants: results, request handles and callbacks are the library's own; nothing is printed to standard output; no
//! `ucs_` function is called or replaced; the short path takes no lock, allocates nothing and has nothing that panics; exceptions of the
//! program pass through every function that UCX or the program calls, and find no frame of ours on the stack.

#![deny(unsafe_op_in_unsafe_fn)]

mod abi;
mod endpoints;
mod guard;
mod index;
mod loose;
mod memory;
mod module;
mod operation;
mod pending;
mod pointers;
mod protocol;
mod real;
mod thread;
mod tls;
mod ucp;
mod uct;
mod ways;
mod workers;
