//! What was looked up last, kept for whoever asks next. A handler of a signal may call MPI at any instruction of a thread, or leave by a jump: what
//! it finds then is whole, or nothing.

use std::cell::Cell;
use std::sync::atomic::{Ordering, compiler_fence};

/// What comes before is stored when what comes behind is, as a handler of this thread sees it.
#[inline(always)]
pub fn in_order() {
    compiler_fence(Ordering::AcqRel);
}

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

    #[inline(always)]
    pub fn keep(&self, key: K, now: u64, value: V) {
        self.forget();
        in_order();
        self.key.set(key);
        in_order();
        self.value.set(value);
        in_order();
        // Unless a handler has kept another one between these two.
        self.then.set(if self.key.get() == key { now } else { NEVER });
    }

    pub fn forget(&self) {
        self.then.set(NEVER);
    }
}
