//! Records of what is in flight. The thread that begins something takes one from its own pool, and whichever thread ends it gives it back
//! to that pool: no lock, and no more memory than was in flight at once. Records are never freed.

use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering, compiler_fence};

use commsee_runtime::memory;

use crate::module;

/// A thread's own, which never moves. All zeros are an empty one.
pub struct Pool<T> {
    free: Cell<*mut Slot<T>>,
    /// What was given back, by any thread.
    returned: AtomicPtr<Slot<T>>,
}

#[repr(C)]
struct Slot<T> {
    record: T,
    next: *mut Slot<T>,
    home: *const Pool<T>,
}

/// # Safety
/// All zeros are a value of it.
pub unsafe trait Pooled {}

const CHUNK: usize = 64;

impl<T: Pooled> Pool<T> {
    /// Null if there is no memory. What is in the record is of no meaning.
    #[inline(always)]
    pub fn take(&self) -> *mut T {
        // The whole list is taken first: a handler of a signal that comes here now finds none, and not the same record.
        let mut list = self.free.replace(null_mut());
        compiler_fence(Ordering::SeqCst);
        if list.is_null() {
            list = self.refill();
            if list.is_null() {
                return null_mut();
            }
        }
        // SAFETY: a free record of this pool.
        self.free.set(unsafe { (*list).next });
        list.cast()
    }

    #[cold]
    #[inline(never)]
    fn refill(&self) -> *mut Slot<T> {
        let returned = self.returned.swap(null_mut(), Ordering::Acquire);
        if !returned.is_null() {
            return returned;
        }
        let chunk = memory::zeroed::<Slot<T>>(CHUNK);
        if chunk.is_null() {
            module::say_what_is_lost();
            return null_mut();
        }
        for place in 0..CHUNK {
            // SAFETY: inside of the chunk, which is nobody else's yet.
            unsafe {
                let slot = chunk.add(place);
                (*slot).home = self;
                (*slot).next = if place + 1 < CHUNK { slot.add(1) } else { null_mut() };
            }
        }
        chunk
    }

    /// # Safety
    /// The record came from such a pool and nothing refers to it any more.
    #[inline(always)]
    pub unsafe fn give(record: *mut T) {
        let slot = record.cast::<Slot<T>>();
        // SAFETY: records begin their slots, and neither those nor pools are ever freed.
        unsafe {
            let returned = &(*(*slot).home).returned;
            let mut first = returned.load(Ordering::Relaxed);
            loop {
                (*slot).next = first;
                match returned.compare_exchange_weak(first, slot, Ordering::Release, Ordering::Relaxed) {
                    Ok(_) => return,
                    Err(other) => first = other,
                }
            }
        }
    }
}
