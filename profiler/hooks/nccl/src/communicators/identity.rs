//! Who a communicator is: 128 bits that all its processes compute alike, without a message, from what they all know.

use xxhash_rust::xxh3::xxh3_128;

/// Of a unique id, which no two jobs share, and the number of ranks. A communicator with several ids has the first.
pub fn of_id(id: &[u8], ranks: u32) -> [u64; 2] {
    of(&[b"id", &ranks.to_le_bytes(), id])
}

/// The how-manieth of its parent's splits, and the colour.
pub fn of_split(parent: [u64; 2], nth: u32, color: i32) -> [u64; 2] {
    of(&[b"split", &bytes(parent), &nth.to_le_bytes(), &color.to_le_bytes()])
}

/// The ranks that are left out, which are sorted.
pub fn of_shrink(parent: [u64; 2], nth: u32, excluded: &[i32]) -> [u64; 2] {
    let mut words = Vec::new();
    if words.try_reserve_exact(size_of_val(excluded)).is_ok() {
        words.extend(excluded.iter().flat_map(|rank| rank.to_le_bytes()));
    }
    of(&[b"shrink", &bytes(parent), &nth.to_le_bytes(), &words])
}

/// As its old ranks know it, which have no id.
pub fn of_grown(parent: [u64; 2], nth: u32, ranks: u32) -> [u64; 2] {
    of(&[b"grow", &bytes(parent), &nth.to_le_bytes(), &ranks.to_le_bytes()])
}

/// What this process alone has: all ranks of a clique, or one that was made unseen.
pub fn of_process(now_ns: u64, address: usize) -> [u64; 2] {
    of(&[b"process", &std::process::id().to_le_bytes(), &now_ns.to_le_bytes(), &address.to_le_bytes()])
}

fn bytes(identity: [u64; 2]) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&identity[0].to_le_bytes());
    bytes[8..].copy_from_slice(&identity[1].to_le_bytes());
    bytes
}

/// Each fact with its length, so that none runs into the next.
fn of(facts: &[&[u8]]) -> [u64; 2] {
    let hash = facts.iter().fold(0u128, |hash, fact| {
        let mut words = [0; 48];
        words[..16].copy_from_slice(&hash.to_le_bytes());
        words[16..32].copy_from_slice(&xxh3_128(fact).to_le_bytes());
        words[32..40].copy_from_slice(&(fact.len() as u64).to_le_bytes());
        xxh3_128(&words)
    });
    [(hash >> 64) as u64, hash as u64]
}
