//! What keeps the program from harm, and what little the other folders need of the system.

pub mod caller;
pub mod clock;
pub mod errno;
pub mod generation;
pub mod guard;
pub mod latest;
pub mod probe;
pub mod say;
pub mod serial;
pub mod set_once;
pub mod signals;
pub mod state;
