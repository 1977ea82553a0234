//! Identities (`vocabulary::identity`). Of communicators that are not made over a parent by all its processes: by what all members know,
//! and by how many were made with just that.

use std::collections::HashMap;

use parking_lot::Mutex;
use vocabulary::identity::hash;
pub use vocabulary::identity::{Identity, child, group, of_self, world};

use crate::shard::memory;

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
