//! By what all processes know a communicator.

pub type Identity = [u64; 2];

/// The identities of the rows `-` and `*`, which are no communicators.
pub const NO_COMM: Identity = [0, 0];
pub const SEVERAL_COMMS: Identity = [0, 1];
