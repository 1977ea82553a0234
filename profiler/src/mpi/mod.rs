//! The MPI library below: its ABI, its real functions, the calls that commsee makes itself, and the names that programs find.

pub mod abi;
pub mod in_front;
pub mod linked;
pub mod own;
pub mod pmpi;
pub mod presence;
pub mod real;
pub mod status;
pub mod world;
