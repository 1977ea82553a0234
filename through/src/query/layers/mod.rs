//! What layers below MPI did, for people: each question answered from the sums over ranks and peers.

pub mod amplification;
pub mod contributors;
pub mod linkage;
pub mod protocols;

/// The layer whose operations are messages: one for what MPI hands over at a time. Its protocols are those of the message.
pub const MESSAGES: &str = "ucp";

/// The layer whose bytes go over the wire: what devices are given, with headers and control messages.
pub const WIRE: &str = "uct";
