//! The one place in `through` that names a layer or a module: data, for profiles that do not say themselves what a layer is.

/// The layer whose operations are messages: one for what MPI hands over at a time. Its protocols are those of the message.
pub const MESSAGES: &str = "ucp";

/// The layer whose bytes go over the wire: what devices are given, with headers and control messages.
pub const WIRE: &str = "uct";

/// Modules that record what moves between GPUs, for hints.
pub const GPU_MODULES: &str = "nccl,gpu";

/// A module that records both, for hints.
pub const MODULE: &str = "ucx";
