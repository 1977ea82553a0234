//! The identity of a communicator: 128 bits that all its processes compute alike, without a message, from what each of
//! them knows (docs/reference/names.md).

use std::collections::HashMap;

use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::shard::memory;

pub type Identity = [u64; 2];

fn hash(kind: u64, identity: Identity, words: &[u64]) -> Identity {
    // Those of a few words are hashed without a list on the heap: each creating call does it.
    let mut few = [0; 6];
    let many: Vec<u64>;
    let all: &[u64] = match few.get_mut(..words.len() + 2) {
        Some(all) => {
            all[..2].copy_from_slice(&identity);
            all[2..].copy_from_slice(words);
            all
        }
        None => {
            many = identity.into_iter().chain(words.iter().copied()).collect();
            &many
        }
    };
    let hash = xxh3_128_with_seed(bytemuck::cast_slice(all), kind);
    [hash as u64, (hash >> 64) as u64]
}

/// `MPI_COMM_WORLD`.
pub fn world() -> Identity {
    hash(b'W'.into(), [0; 2], &[])
}

/// `MPI_COMM_SELF` of one process.
pub fn of_self(world_rank: u32) -> Identity {
    hash(b'S'.into(), [0; 2], &[world_rank.into()])
}

/// Made by the `sequence`-th creating call over its parent. MPI demands one order of collective calls per
/// communicator (MPI-4.1, 6.12), so every process counts alike; the letter and the new rank 0 tell siblings apart.
pub fn child(parent: Identity, sequence: u32, letter: u8, root: u32) -> Identity {
    // In the second byte of the kind no letter can be taken for another kind.
    hash(u64::from(letter) << 8, parent, &[u64::from(sequence) << 32 | u64::from(root)])
}

/// Of what all members know, the `n`-th communicator made with just these.
pub fn of_known(kind: u8, parent: Identity, known: &[u64]) -> Identity {
    static SEEN: Mutex<Option<HashMap<Identity, u64>>> = parking_lot::const_mutex(None);
    let key = hash(kind.into(), parent, known);
    let mut seen = SEEN.lock();
    let seen = seen.get_or_insert_default();
    if seen.try_reserve(1).is_err() {
        memory::lose_call();
        return hash(b'n'.into(), key, &[0]);
    }
    let count = seen.entry(key).or_insert(0);
    *count += 1;
    hash(b'n'.into(), key, &[*count])
}

/// A group, by the world ranks of its members in their order.
pub fn group(members: &[u32]) -> Identity {
    let words: Vec<u64> = members.iter().map(|rank| u64::from(*rank)).collect();
    hash(b'g'.into(), [0; 2], &words)
}
