//! What keeps the program from harm, and what little the other folders need of the system.

pub mod caller;
pub mod clock;
pub mod errno;
pub mod guard;
pub mod latest;
pub mod probe;
pub mod say;
pub mod serial;
pub mod set_once;
pub mod short_path;
pub mod signals;
pub mod stack;
pub mod state;

/// What calls it is not laid out in the way of what does not, and stays a branch of its own.
#[cold]
pub fn rarely() {}
