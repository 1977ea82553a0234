//! What was looked up last, kept for whoever asks next.

use std::cell::Cell;

/// A value of a key, which holds as long as a number is the same: a generation of handles, or how often something has changed.
pub struct Latest<K, V> {
    key: Cell<K>,
    then: Cell<u64>,
    value: Cell<V>,
}

/// No such number.
const NEVER: u64 = u64::MAX;

impl<K: Copy + PartialEq, V: Copy> Latest<K, V> {
    /// What stands there means nothing yet.
    pub const fn none(key: K, value: V) -> Latest<K, V> {
        Latest { key: Cell::new(key), then: Cell::new(NEVER), value: Cell::new(value) }
    }

    #[inline(always)]
    pub fn get(&self, key: K, now: u64) -> Option<V> {
        if self.key.get() == key && self.then.get() == now { Some(self.value.get()) } else { None }
    }

    pub fn keep(&self, key: K, now: u64, value: V) {
        self.key.set(key);
        self.value.set(value);
        self.then.set(now);
    }

    pub fn forget(&self) {
        self.then.set(NEVER);
    }
}
