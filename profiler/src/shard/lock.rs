//! The lock by which others know that this process lives (`profile/locks.rs`), held without a descriptor: a mapping keeps the open file
//! description, and the lock with it, until the process ends or becomes another program.

use std::ffi::c_void;
use std::path::Path;
use std::ptr::{self, NonNull};

use vocabulary::profile::locks::{self, Reach};
use vocabulary::shard::{LOCKED, LOCKED_FOR_ALL, LOCKED_HERE};

pub struct Lock {
    /// One of `LOCKED…`: who sees it.
    pub kind: u32,
    mapping: NonNull<c_void>,
}

// SAFETY: nobody reads or writes what is mapped.
unsafe impl Send for Lock {}

/// Of address space; the page cannot be touched, so it costs no memory.
const MAPPED_BYTES: usize = 1;

impl Lock {
    /// Of an open file of this process, which may be closed then. `None` where there are no locks.
    ///
    /// A child made by `fork` does not inherit the mapping, so that it cannot keep the lock of a dead parent. What it may inherit for
    /// a moment is the descriptor: only if another thread forks while `MPI_Init` is in here, and until the child calls `exec`.
    pub fn take(file: libc::c_int, path: &Path) -> Option<Lock> {
        // SAFETY: a new mapping without access, at an address that the system chooses.
        let mapping = unsafe { libc::mmap(ptr::null_mut(), MAPPED_BYTES, libc::PROT_NONE, libc::MAP_SHARED, file, 0) };
        if mapping == libc::MAP_FAILED {
            return None;
        }
        let mut lock = Lock { kind: LOCKED, mapping: NonNull::new(mapping)? };
        // SAFETY: our own mapping.
        let is_ours_alone = unsafe { libc::madvise(mapping, MAPPED_BYTES, libc::MADV_DONTFORK) } == 0;
        if !is_ours_alone || !locks::take(file).is_ok_and(|is_taken| is_taken) {
            return None;
        }
        lock.kind = match locks::reach(path.parent().unwrap_or(Path::new("."))) {
            Reach::Local => LOCKED,
            Reach::Hosts => LOCKED_FOR_ALL,
            Reach::Doubtful => LOCKED_HERE,
        };
        Some(lock)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // SAFETY: our own mapping, of which nobody knows the address.
        unsafe { libc::munmap(self.mapping.as_ptr(), MAPPED_BYTES) };
    }
}
