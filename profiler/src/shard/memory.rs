//! Memory that may be refused. What a call needs is asked for here and may be missing: then the call is forwarded and not
//! counted. What the standard library asks for by itself (texts, paths, tables of rare things) cannot be missing there, for it
//! ends the program: so a small reserve answers when the system does not, and recording stops before that is used up.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::guest::say::warn_once;
use crate::guest::{signals, state};
use crate::shard;

pub use commsee_runtime::memory::{array, asked, keep, zeroed};

/// A call finds no memory for what is to be counted.
#[cold]
#[inline(never)]
pub fn lose_call() {
    miss_call();
    say_refused(format_args!(""));
}

/// A call that is not counted for another reason.
pub fn miss_call() {
    if let Some(header) = shard::header() {
        header.lose_call();
    }
}

/// A call is made in the midst of commsee's own code or too deep in others, or cannot come to what it needs, which another thread does not leave.
#[cold]
#[inline(never)]
pub fn give_up_call() {
    miss_call();
    warn_once!(
        "MPI was called while counting, or nested too deep (as signal handlers and jumps do): some calls are not counted"
    );
}

/// Once, whoever notices first; `why` begins with what stands before it.
pub fn say_refused(why: fmt::Arguments) {
    warn_once!("no memory for more counters: calls that need new ones are not counted{why}");
}

/// Mostly untouched, and then no memory either: the loader maps it as zeros.
const RESERVE_BYTES: usize = 4 << 20;
/// Recording stops when so much of it was needed. The rest is for what comes after, such as the gathering.
const STOP_BYTES: usize = RESERVE_BYTES / 4;

struct Memory;

#[global_allocator]
static MEMORY: Memory = Memory;

static RESERVE: Reserve = Reserve {
    locked: AtomicBool::new(false),
    used: UnsafeCell::new((0, 0)),
    bytes: UnsafeCell::new([0; RESERVE_BYTES]),
};

#[repr(align(64))]
struct Reserve {
    locked: AtomicBool,
    /// Bytes from the begin that were given away, and how many pieces are still in use: without any all is free again.
    used: UnsafeCell<(usize, usize)>,
    bytes: UnsafeCell<[u8; RESERVE_BYTES]>,
}

// SAFETY: `used` is touched under the lock, and `bytes` belong to whom they were given.
unsafe impl Sync for Reserve {}

impl Reserve {
    /// The lock is held for a few instructions, and nothing that may wait or fail comes in between, nor a handler of a signal.
    fn with<R>(&self, work: impl FnOnce(&mut (usize, usize)) -> R) -> R {
        signals::undisturbed(|| {
            while self.locked.swap(true, Ordering::Acquire) {
                std::hint::spin_loop();
            }
            // SAFETY: locked.
            let result = work(unsafe { &mut *self.used.get() });
            self.locked.store(false, Ordering::Release);
            result
        })
    }

    fn begin(&self) -> usize {
        self.bytes.get() as usize
    }

    #[inline(always)]
    fn holds(&self, place: *mut u8) -> bool {
        (place as usize).wrapping_sub(self.begin()) < RESERVE_BYTES
    }

    #[cold]
    #[inline(never)]
    fn alloc(&self, layout: Layout) -> *mut u8 {
        let (place, is_much) = self.with(|(used, pieces)| {
            let begin = (self.begin() + *used).next_multiple_of(layout.align()) - self.begin();
            let end = begin.saturating_add(layout.size());
            if end > RESERVE_BYTES {
                return (ptr::null_mut(), true);
            }
            (*used, *pieces) = (end, *pieces + 1);
            ((self.begin() + begin) as *mut u8, end > STOP_BYTES)
        });
        if is_much && !state::is_off() {
            state::stop();
            warn_once!("no memory: recording stops here (the program goes on)");
        }
        place
    }

    #[cold]
    #[inline(never)]
    fn free(&self, place: *mut u8, bytes: usize) {
        let begin = place as usize - self.begin();
        self.with(|(used, pieces)| {
            *pieces -= 1;
            if *pieces == 0 {
                *used = 0;
            } else if begin + bytes == *used {
                *used = begin;
            }
        });
    }

    /// Whether the piece could be made larger or smaller where it is, which the latest one can.
    fn resize(&self, place: *mut u8, before: usize, bytes: usize) -> bool {
        let begin = place as usize - self.begin();
        self.with(|(used, _)| {
            let fits = begin + before == *used && begin.saturating_add(bytes) <= RESERVE_BYTES;
            if fits {
                *used = begin + bytes;
            }
            fits
        })
    }
}

// SAFETY: memory of the system, or a piece of the reserve that nobody else has. Nothing in here unwinds.
unsafe impl GlobalAlloc for Memory {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        let place = unsafe { System.alloc(layout) };
        if place.is_null() { RESERVE.alloc(layout) } else { place }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let place = unsafe { System.alloc_zeroed(layout) };
        if !place.is_null() {
            return place;
        }
        let place = RESERVE.alloc(layout);
        if !place.is_null() {
            // SAFETY: there is room for so many bytes.
            unsafe { place.write_bytes(0, layout.size()) };
        }
        place
    }

    #[inline]
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`, and the place is none of ours.
        if RESERVE.holds(place) { RESERVE.free(place, layout.size()) } else { unsafe { System.dealloc(place, layout) } }
    }

    #[inline]
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`; both places have room for what is copied.
        unsafe {
            if !RESERVE.holds(place) {
                let moved = System.realloc(place, layout, bytes);
                if !moved.is_null() {
                    return moved;
                }
            } else if RESERVE.resize(place, layout.size(), bytes) {
                return place;
            }
            let Ok(wanted) = Layout::from_size_align(bytes, layout.align()) else { return ptr::null_mut() };
            let moved = self.alloc(wanted);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(place, moved, layout.size().min(bytes));
                self.dealloc(place, layout);
            }
            moved
        }
    }
}
