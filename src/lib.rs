//! What both ends of commsee share: the profiler that is loaded into an MPI program, and `through`, which reads what
//! the profiler left.
//!
//! - [`calls`]: the table of MPI functions, [`creators`]: the letters that begin a communicator's name;
//! - [`ccl`]: the functions of NCCL and libraries like it;
//! - `bench`: measurements of the machine, as groupbench leaves them;
//! - [`buckets`], [`bytes`], [`ranks`]: message-size buckets, sizes such as `8K`, rank lists such as `0-3,8`;
//! - [`settings`]: the environment variables, [`environment`]: those of other layers, [`job`]: the batch job that they tell;
//! - [`passed_over`]: libraries that are no call sites;
//! - [`host`]: the host and its processes, [`access`]: files that their owner can read;
//! - [`loaded`]: what processes tell the `through run` that started them;
//! - `identity`: what tells communicators apart;
//! - [`shard`]: the file of counters that each process leaves;
//! - `counters`: the table of counters, from which rows, columns and their descriptions follow;
//! - `stream`: what processes counted, on the way to one profile;
//! - `profile`: the SQLite file that all shards together become.

pub mod access;
#[cfg(feature = "profile")]
pub mod bench;
pub mod buckets;
pub mod bytes;
pub mod calls;
pub mod ccl;
#[cfg(feature = "profile")]
pub mod counters;
pub mod creators;
pub mod environment;
pub mod host;
#[cfg(feature = "profile")]
pub mod identity;
pub mod job;
pub mod loaded;
pub mod passed_over;
#[cfg(feature = "profile")]
pub mod profile;
pub mod ranks;
pub mod settings;
pub mod shard;
#[cfg(feature = "profile")]
pub mod stream;
