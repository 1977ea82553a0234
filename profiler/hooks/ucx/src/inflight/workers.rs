//! UCP workers, with what is pending on each.

use std::cell::{Cell, UnsafeCell};
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use commsee_runtime::memory;
use commsee_runtime::pointers::Pointers;

use super::alike;
use super::pending::Pending;
use crate::module;

pub struct Worker {
    pub number: u32,
    /// Several threads use it at the same time.
    pub several_threads: bool,
    lock: AtomicBool,
    pending: UnsafeCell<Pending>,
}

const MOST: usize = 256;
static WORKERS: [AtomicPtr<Worker>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Numbers of workers that were destroyed.
static UNUSED: Mutex<Vec<u32>> = Mutex::new(Vec::new());
/// From handles of UCP and of UCT to numbers.
static OF_UCP: Pointers = Pointers::new(module::say_what_is_lost);
static OF_UCT: Pointers = Pointers::new(module::say_what_is_lost);

thread_local!(static IN_MAKING: Cell<*mut Worker> = const { Cell::new(null_mut()) });

/// A worker that is about to be made: interfaces that open meanwhile are its own.
pub fn begin(several_threads: bool, request_bytes: usize) -> *mut Worker {
    let Some(pending) = Pending::new(request_bytes) else {
        module::say_what_is_lost();
        return null_mut();
    };
    let mut unused = UNUSED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let unused_number = unused.pop();
    let number = unused_number.map_or_else(|| COUNT.fetch_add(1, Ordering::Relaxed), |number| number as usize);
    if number >= MOST {
        COUNT.store(MOST, Ordering::Relaxed);
        return null_mut();
    }
    let new = Worker {
        number: number as u32,
        several_threads,
        lock: AtomicBool::new(false),
        pending: UnsafeCell::new(pending),
    };
    let worker = if unused_number.is_some() {
        let worker = by_number(number as u32);
        // SAFETY: nobody uses it.
        unsafe { *worker = new };
        worker
    } else {
        // It is known by no number without memory.
        memory::boxed(new).map_or(null_mut(), Box::into_raw)
    };
    WORKERS[number].store(worker, Ordering::Release);
    IN_MAKING.with(|making| making.set(worker));
    worker
}

/// It is made, or `handle` is null where that failed.
pub fn end(worker: *mut Worker, handle: *mut std::ffi::c_void) {
    IN_MAKING.with(|making| making.set(null_mut()));
    // SAFETY: workers are never freed.
    if let Some(worker) = unsafe { worker.as_ref() }
        && !handle.is_null()
    {
        OF_UCP.set(handle as usize, u64::from(worker.number));
        alike::forget_all();
    }
}

/// It is destroyed, and nothing is pending on it any more. Its record serves the next one.
pub fn forget(handle: *mut std::ffi::c_void, worker: *mut Worker) {
    OF_UCP.remove(handle as usize);
    alike::forget_all();
    // SAFETY: workers are never freed.
    if let Some(worker) = unsafe { worker.as_ref() } {
        UNUSED.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(worker.number);
    }
}

/// The worker that an interface on this worker of UCT belongs to; null if none is known.
pub fn of_uct(handle: *mut std::ffi::c_void) -> *mut Worker {
    let making = IN_MAKING.with(Cell::get);
    // SAFETY: workers are never freed.
    match unsafe { making.as_ref() } {
        Some(worker) => {
            OF_UCT.set(handle as usize, u64::from(worker.number));
            making
        }
        None => OF_UCT.get(handle as usize).map_or(null_mut(), |number| by_number(number as u32)),
    }
}

#[inline(always)]
pub fn by_number(number: u32) -> *mut Worker {
    WORKERS.get(number as usize).map_or(null_mut(), |worker| worker.load(Ordering::Acquire))
}

/// Null where none is known.
#[inline(always)]
pub fn of(handle: *mut std::ffi::c_void) -> *mut Worker {
    OF_UCP.get(handle as usize).map_or(null_mut(), |number| by_number(number as u32))
}

impl Worker {
    /// What is pending, for one thread at a time: by the program's own serialization, or by a lock.
    #[inline(always)]
    pub fn with<T>(&self, work: impl FnOnce(&mut Pending) -> T) -> T {
        if !self.several_threads {
            // SAFETY: UCX demands that threads take turns on such a worker.
            return work(unsafe { &mut *self.pending.get() });
        }
        while self.lock.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            std::hint::spin_loop();
        }
        let _held = Held(&self.lock);
        // SAFETY: under the lock.
        work(unsafe { &mut *self.pending.get() })
    }
}

impl Worker {
    /// What is pending on a worker that threads take turns on.
    ///
    /// # Safety
    /// It is such a worker.
    #[inline(always)]
    pub unsafe fn with_turns<T>(&self, work: impl FnOnce(&mut Pending) -> T) -> T {
        // SAFETY: UCX demands that.
        work(unsafe { &mut *self.pending.get() })
    }
}

/// A lock that is held, until this is dropped: also by a panic.
struct Held<'a>(&'a AtomicBool);

impl Drop for Held<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
