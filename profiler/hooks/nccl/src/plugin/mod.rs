//! The profiler plugin that NCCL finds in this library. It tells how NCCL does what the wrappers count: algorithm, protocol, channels, the
//! time on the GPU, what proxies send. For programs that call NCCL past the wrappers it counts by itself.
//!
//! NCCL calls it in its own threads as well as in the program's, and hands it memory that may be another process's: what it gives NCCL
//! are numbers, which it looks up when they come back.

mod abi;
mod api_calls;
mod communicators;
mod datatypes;
mod events;
mod exported;
mod handles;
mod lifecycle;
mod operations;
mod proxies;
mod ring;
mod rows;
mod users;
mod wanted;
