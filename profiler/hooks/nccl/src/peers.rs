//! Processes as NCCL knows them: by a communicator and a rank in it.

use xxhash_rust::xxh3::xxh3_64;

/// What no two processes share.
pub fn identity(communicator: [u64; 2], rank: u32) -> u64 {
    let numbers = [communicator[0], communicator[1], u64::from(rank)].map(u64::to_ne_bytes);
    xxh3_64(numbers.as_flattened())
}
