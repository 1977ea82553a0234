//! Where in the code calls are made: from what the profiler writes into shards to the profile of several ranks.

extern crate commsee as vocabulary;

// What writes the shard, as the library is compiled with it.
#[allow(dead_code, unused_imports)]
#[path = "../../profiler/src/guest/mod.rs"]
mod guest;
#[allow(dead_code, unused_imports)]
#[path = "../../profiler/src/shard/mod.rs"]
mod shard;

mod merged;
mod process;
mod written;
