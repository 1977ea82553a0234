//! libcommsee_ucx.so: preloaded beside libcommsee.so, it counts what MPI calls become in UCX, above (UCP) and below (UCT).
//!
//! ```text
//! MPI library ── ucp_tag_send_nbx ──▶ ucp/  post ─▶ libucp ── ops.ep_am_short ──▶ uct/  transmission ─▶ transport
//!                                       │ operation                                  │ link
//!                                       └────────────── commsee_hook_count ──────────┘
//! ```
//!
//! Imports lead downwards: `ucp/` and `uct/`, which do not know each other, then `inflight/`, `module/` and `abi/`.
//!
//! Invariants: results, request handles and callbacks are the library's own; nothing is printed to standard output; no
//! `ucs_` function is called or replaced; no lock is waited for without end, or held while UCX or the program runs; records come from
//! pools, and are never freed; nothing panics outside of a guard; exceptions of the program pass through every function that UCX or the
//! program calls, and find no frame of ours on the stack.

#![deny(unsafe_op_in_unsafe_fn)]
// Wrappers take the arguments of UCX's functions, up to eight of them, and answer for them as a whole.
#![allow(clippy::too_many_arguments)]

/// The libraries that are watched.
mod library {
    use commsee_runtime::real::Library;

    pub static UCP: Library = Library { name: c"libucp.so.0", stem: b"libucp" };
    pub static UCT: Library = Library { name: c"libuct.so.0", stem: b"libuct" };
}

/// The real function of UCX of that name.
macro_rules! real {
    (Ucp, $name:ident, $type:ty) => {
        commsee_runtime::real!($crate::library::UCP, $name, $type)
    };
    (Uct, $name:ident, $type:ty) => {
        commsee_runtime::real!($crate::library::UCT, $name, $type)
    };
}

mod abi;
mod inflight;
mod module;
mod ucp;
mod uct;
mod wrapper;
