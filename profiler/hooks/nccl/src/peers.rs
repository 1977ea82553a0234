//! Ranks of communicators as the core knows processes: by 64 bits that no two of a job share.

use xxhash_rust::xxh3::xxh3_64;

pub fn identity(communicator: [u64; 2], rank: u32) -> u64 {
    let words = [communicator[0].to_le_bytes(), communicator[1].to_le_bytes(), u64::from(rank).to_le_bytes()];
    xxh3_64(words.as_flattened())
}
