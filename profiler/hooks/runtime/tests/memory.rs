//! Tables where memory is refused: what they hold stays there.
#![cfg(not(miri))]

use commsee_runtime::table::{self, Owned, Shared, Slot, Writer};

/// As large as it is so that few of them fill much memory: each that comes behind the half asks for more in vain.
#[derive(Clone, Copy)]
struct Entry(u64, #[allow(dead_code)] [u64; 127]);

impl Slot for Entry {
    const EMPTY: Entry = Entry(u64::MAX, [0; 127]);

    fn is_empty(&self) -> bool {
        self.0 == u64::MAX
    }

    fn clear(&mut self) {
        *self = Entry::EMPTY;
    }
}

const KEYS: usize = 1 << 20;

/// In a process of its own, since the limit is for all of it.
#[test]
fn a_table_that_cannot_grow_takes_what_fits() {
    // SAFETY: the child only counts, and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(i32::from(!std::panic::catch_unwind(fill).unwrap_or(false))) };
    }
    let mut status = 0;
    // SAFETY: our own child.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(status, 0);
}

fn fill() -> bool {
    let hash = |entry: &Entry| table::hash(entry.0);
    // So many that the next table fits into no arena of the C library's, which it may go on filling under any limit.
    let slots = 1 << 16;
    let Some(owned) = Owned::new(slots) else { return false };
    let (shared, mut writer) = (Shared::<u64>::new(), Writer::new());
    for key in 0..KEYS as u64 {
        assert!(shared.set(&mut writer, key as usize, key));
    }
    let limit = libc::rlimit { rlim_cur: 0, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: this process's own limit.
    unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) };
    let put = |key: u64| match owned.find_or_vacant(table::hash(key), |entry: &Entry| entry.0 == key) {
        Ok(_) => false,
        // SAFETY: found just now.
        Err(vacant) => unsafe { !owned.put(vacant, Entry(key, [0; 127])) || owned.keeps(vacant, hash) },
    };
    let kept = (0..slots as u64).filter(|key| put(*key)).count();
    let is_there = |key: u64| owned.find(table::hash(key), |entry| entry.0 == key).is_some();
    let fits = kept == slots / 8 * 7 && owned.len() == kept && owned.capacity() == slots;
    let is_full = !owned.reserve(hash) && (0..kept as u64).all(is_there) && !is_there(kept as u64);
    let mut taken = 0;
    while shared.set(&mut writer, KEYS + taken, 1) {
        taken += 1;
    }
    let keeps = (0..KEYS).all(|key| shared.get(key) == Some(key as u64)) && shared.get(KEYS + taken).is_none();
    fits && is_full && keeps && shared.remove(&mut writer, 3) == Some(3) && shared.set(&mut writer, 3, 4)
}
