//! The identity of a communicator: 128 bits that all its processes compute alike, without a message, from what each of
//! them knows (docs/reference/names.md).

use xxhash_rust::xxh3::xxh3_128_with_seed;

pub type Identity = [u64; 2];

/// Of a kind, what came before and further words.
pub fn hash(kind: u64, identity: Identity, words: &[u64]) -> Identity {
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
    // Each creating call does it, so it is two multiplications, whose upper and lower halves are folded into one word. Both words depend
    // on all that is given: should a factor of one be zero, the other tells.
    let order = u64::from(sequence) << 32 | u64::from(root);
    let [first, second] = parent;
    let fold = |left: u64, right: u64| {
        let product = u128::from(left) * u128::from(right);
        product as u64 ^ (product >> 64) as u64
    };
    let (kind, turned) = (u64::from(letter), second.rotate_left(32));
    [
        fold(first ^ order ^ 0x2d35_8dcc_aa6c_78a5, turned.wrapping_add(kind) ^ 0x8bb8_4b93_962e_acc9) ^ second,
        fold(second.wrapping_add(order) ^ 0x4b33_a62e_d433_d4a3, first.wrapping_add(kind) ^ 0x4d5a_2da5_1de1_aa47)
            ^ turned.wrapping_mul(first | 1),
    ]
}

/// A group, by the world ranks of its members in their order.
pub fn group(members: &[u32]) -> Identity {
    let words: Vec<u64> = members.iter().map(|rank| u64::from(*rank)).collect();
    hash(b'g'.into(), [0; 2], &words)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Each word by itself tells a million communicators apart.
    #[test]
    fn children_differ_in_both_words() {
        let (mut first, mut second, mut made) = (HashSet::new(), HashSet::new(), 0);
        let mut add = |identity: Identity| {
            made += 1;
            first.insert(identity[0]);
            second.insert(identity[1]);
        };
        let neighbors = [group(&[0, 1]), group(&[1, 0]), child(world(), 1, b's', 0), child(world(), 1, b's', 1)];
        for parent in [world(), of_self(0), of_self(1)].into_iter().chain(neighbors) {
            for letter in *b"dDscgik" {
                for sequence in 1..=128 {
                    for root in 0..64 {
                        add(child(parent, sequence, letter, root));
                    }
                }
            }
            // A chain of duplicates, each of the one before, and of splits of splits.
            let mut latest = parent;
            for _ in 0..100_000 {
                latest = child(latest, 1, b'd', 0);
                add(child(latest, 1, b't', 0));
            }
        }
        assert_eq!((first.len(), second.len()), (made, made));
    }

    /// Nothing of what is given is lost.
    #[test]
    fn identities_follow_from_all_that_is_known() {
        let all = [
            child(world(), 1, b'd', 0),
            child(world(), 2, b'd', 0),
            child(world(), 1, b's', 0),
            child(world(), 1, b'd', 1),
            child(of_self(0), 1, b'd', 0),
            hash(b'u'.into(), world(), &[1, 2]),
            hash(b'u'.into(), world(), &[2, 1]),
            hash(b'u'.into(), world(), &[1, 2, 0]),
            hash(b'n'.into(), world(), &[1, 2]),
            hash(b'u'.into(), world(), &[1, 2, 3, 4, 5, 6, 7]),
            group(&[1, 2]),
            group(&[2, 1]),
        ];
        assert_eq!(all.into_iter().collect::<HashSet<_>>().len(), all.len());
    }
}
