//! Communicators that no wrapper has made, as the plugin is told of them. One may be used through the wrappers after all, which know its ranks
//! alone.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

struct Unseen {
    ranks: u32,
    rank: u32,
    identity: [u64; 2],
}

static ALL: Mutex<Vec<Unseen>> = Mutex::new(Vec::new());

fn with_all<T>(work: impl FnOnce(&mut Vec<Unseen>) -> T) -> T {
    work(&mut ALL.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// Whether there ever was one.
static HAS_BEEN: AtomicBool = AtomicBool::new(false);

pub fn has_been() -> bool {
    HAS_BEEN.load(Ordering::Relaxed)
}

pub fn add(ranks: u32, rank: u32, identity: [u64; 2]) {
    HAS_BEEN.store(true, Ordering::Relaxed);
    with_all(|all| {
        if all.try_reserve(1).is_ok() {
            all.push(Unseen { ranks, rank, identity });
        }
    });
}

/// How many there are.
pub fn count() -> usize {
    with_all(|all| all.len())
}

/// It is no more.
pub fn remove(ranks: u32, rank: u32, identity: [u64; 2]) {
    with_all(|all| {
        let is_it = |one: &Unseen| (one.ranks, one.rank, one.identity) == (ranks, rank, identity);
        if let Some(place) = all.iter().position(is_it) {
            all.swap_remove(place);
        }
    });
}

/// Who the one with these ranks is, where there is only one.
pub fn only(ranks: u32, rank: u32) -> Option<[u64; 2]> {
    with_all(|all| {
        let mut alike = all.iter().filter(|one| (one.ranks, one.rank) == (ranks, rank)).map(|one| one.identity);
        let only = alike.next()?;
        alike.next().is_none().then_some(only)
    })
}
