//! UCP workers, with what is in flight on each.

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use commsee_runtime::bounded::Bounded;
use commsee_runtime::memory;
use commsee_runtime::pointers::Pointers;

use super::answers::Answers;
use super::map::Map;
use super::one_sided::Latest;
use super::operation::Operation;
use crate::module;

pub struct Worker {
    lock: Bounded,
    in_flight: UnsafeCell<InFlight>,
}

// SAFETY: what is in flight is reached under the lock.
unsafe impl Sync for Worker {}

pub struct InFlight {
    pub map: Map,
    pub one_sided: Latest,
    pub answers: Answers,
}

const MOST: usize = 256;
/// The number of no worker.
pub const UNKNOWN: u32 = u32::MAX;

static WORKERS: [AtomicPtr<Worker>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// Numbers of workers that were destroyed.
static UNUSED: Mutex<Vec<u32>> = Mutex::new(Vec::new());
/// From handles of UCP and of UCT to numbers.
static OF_UCP: Pointers = Pointers::new(module::say_what_is_lost);
static OF_UCT: Pointers = Pointers::new(module::say_what_is_lost);

thread_local!(static IN_MAKING: Cell<u32> = const { Cell::new(UNKNOWN) });

fn unused() -> MutexGuard<'static, Vec<u32>> {
    UNUSED.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The number of a worker that is about to be made: interfaces that open meanwhile are its own.
pub fn begin(request_bytes: usize) -> u32 {
    let Some(map) = Map::new(request_bytes) else {
        module::say_what_is_lost();
        return UNKNOWN;
    };
    let known = unused().pop();
    let number = known.unwrap_or_else(|| COUNT.fetch_add(1, Ordering::Relaxed) as u32);
    let Some(place) = WORKERS.get(number as usize) else {
        COUNT.store(MOST, Ordering::Relaxed);
        return UNKNOWN;
    };
    let in_flight = UnsafeCell::new(InFlight { map, one_sided: Latest::new(), answers: Answers::new() });
    let new = Worker { lock: Bounded::new(), in_flight };
    let before = place.load(Ordering::Acquire);
    if before.is_null() {
        // It is known by no number without memory.
        place.store(memory::boxed(new).map_or(null_mut(), Box::into_raw), Ordering::Release);
    } else {
        // SAFETY: its worker was destroyed: nobody uses it.
        unsafe { *before = new };
    }
    IN_MAKING.set(number);
    number
}

/// It is made, or `handle` is null where that failed.
pub fn end(number: u32, handle: *mut c_void) {
    IN_MAKING.set(UNKNOWN);
    if number != UNKNOWN {
        if handle.is_null() {
            unused().push(number);
        } else {
            OF_UCP.set(handle as usize, u64::from(number));
        }
    }
}

/// It is destroyed: its record serves the next one, but where it cannot be had. What is still in flight is told.
pub fn forget(handle: *mut c_void, in_flight: impl FnMut(*mut Operation)) {
    let Some(number) = OF_UCP.remove(handle as usize) else { return };
    let number = number as u32;
    if by_number(number).is_some_and(|worker| worker.with(|it| it.map.drain(in_flight)).is_some()) {
        unused().push(number);
    }
}

/// The worker that an interface on this worker of UCT belongs to.
pub fn of_uct(handle: *mut c_void) -> u32 {
    match IN_MAKING.get() {
        UNKNOWN => OF_UCT.get(handle as usize).map_or(UNKNOWN, |number| number as u32),
        number => {
            OF_UCT.set(handle as usize, u64::from(number));
            number
        }
    }
}

pub fn of(handle: *mut c_void) -> u32 {
    OF_UCP.get(handle as usize).map_or(UNKNOWN, |number| number as u32)
}

/// None where there is none of this number.
#[inline(always)]
pub fn by_number(number: u32) -> Option<&'static Worker> {
    // SAFETY: they are never freed.
    unsafe { WORKERS.get(number as usize)?.load(Ordering::Acquire).as_ref() }
}

/// All that there ever were.
pub fn each() -> impl Iterator<Item = &'static Worker> {
    (0..COUNT.load(Ordering::Acquire).min(MOST) as u32).filter_map(by_number)
}

impl Worker {
    /// What is in flight, for one thread at a time. None where it cannot be had: this is called by a handler of a signal that has interrupted
    /// who has it, or somebody has left by a jump.
    #[inline(always)]
    pub fn with<T>(&self, work: impl FnOnce(&mut InFlight) -> T) -> Option<T> {
        let _taken = self.lock.take()?;
        // SAFETY: under the lock.
        Some(work(unsafe { &mut *self.in_flight.get() }))
    }
}
