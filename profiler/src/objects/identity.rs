//! Identities (`vocabulary::identity`). Of communicators that are not made over a parent by all its processes: by what all members know,
//! and by how many were made with just that.

use std::collections::HashMap;

use vocabulary::identity::hash;
pub use vocabulary::identity::{Identity, child, group, of_self, world};

use crate::guest::signals::Undisturbed;
use crate::shard::memory;

/// Of what all members know, the `n`-th communicator made with just these.
pub fn of_known(kind: u8, parent: Identity, known: &[u64]) -> Identity {
    static SEEN: Undisturbed<Option<HashMap<Identity, u64>>> = Undisturbed::new(None);
    let key = hash(kind.into(), parent, known);
    let count = SEEN.with(|seen| {
        let seen = seen.get_or_insert_default();
        seen.try_reserve(1).ok()?;
        let count = seen.entry(key).or_insert(0);
        *count += 1;
        Some(*count)
    });
    if count.is_none() {
        memory::lose_call();
    }
    hash(b'n'.into(), key, &[count.unwrap_or(0)])
}
