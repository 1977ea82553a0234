//! The record of an operation of UCT that goes on after its call.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

use super::operation::{Pooled, Shared, phase};
use super::thread::Link;
use crate::abi::ucs;
use crate::abi::uct::Completion;

/// Stands in for libucp's completion. The transport gives it back by its address.
#[repr(C)]
pub struct Pending {
    pub own: Completion,
    pub original: *mut Completion,
    pub link: Link,
    pub is_linked: bool,
    pub phase: AtomicU8,
    pub route: u32,
    pub peer: u32,
    pub bytes: u64,
    pub begin_ns: u64,
    next: *mut Pending,
}

// SAFETY: zeros are a value of every field.
unsafe impl Pooled for Pending {
    fn next(this: *mut Pending) -> *mut *mut Pending {
        // SAFETY: the record lies in a chunk of its pool, which is never freed.
        unsafe { &raw mut (*this).next }
    }

    fn shared() -> &'static Mutex<Shared<Pending>> {
        static SHARED: Mutex<Shared<Pending>> = Mutex::new(Shared::new());
        &SHARED
    }
}

impl Pending {
    /// # Safety
    /// A record out of a pool.
    pub unsafe fn prepare(
        this: *mut Pending,
        original: *mut Completion,
        completed: unsafe extern "C-unwind" fn(*mut Completion),
    ) -> *mut Completion {
        // SAFETY: as demanded; until the transport gets it, this thread alone knows the record.
        unsafe {
            (*this).own = Completion { func: Some(completed), count: 1, status: ucs::OK };
            (*this).original = original;
            (*this).phase.store(phase::POSTING, Ordering::Relaxed);
            &raw mut (*this).own
        }
    }
}
