//! A thread of the program: where lies what each room knows of one thread. Each room defines its own part.
//! Only the thread itself touches its counters, so that counting needs no lock and no atomic operation.
//!
//! The library's callbacks (of attributes, errors, reductions, generalized requests) call MPI again in the midst of a call, and find
//! the same thread there. So a thread is shared by reference; what it holds is read and written in pieces, and no piece is held
//! while a call is forwarded.

pub mod counters;
pub mod in_flight;
pub mod layer_calls;
pub mod looks;
pub mod tracer;
pub mod transfers;

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use vocabulary::shard::NO_OPERATION;

use crate::guest::set_once::SetOnce;
use crate::guest::signals::Undisturbed;
use crate::guest::{clock, guard, state};
use crate::objects::communicators;
use crate::objects::shortcuts::Shortcuts;
use crate::shard::{self, memory};

use counters::Counters;
use in_flight::InFlight;
use looks::Looks;
use tracer::TracerState;
use transfers::HookState;

/// Not even a neighbour on the heap shares its cache lines. What every call needs comes first.
#[repr(C, align(128))]
pub struct Thread {
    pub counters: Counters,
    /// What was used last, and what is being freed.
    pub communicators: communicators::Recent,
    pub in_flight: InFlight,
    /// What its latest calls of each operation needed.
    pub shortcuts: Shortcuts,
    /// What its calls over several requests remember.
    pub looks: Looks,
    /// The operation of the Fortran call that the library's Fortran layer is doing.
    pub fortran: Cell<u16>,
    /// What hook modules count, from within the calls of this thread.
    pub hooks: HookState,
    /// Where it writes the timeline.
    pub tracer: TracerState,
    /// Tells one call over several communicators from all others of the process.
    last_stamp: Cell<u64>,
    /// Among all threads.
    pub number: u16,
    apart: Apart,
}

/// What other threads reach, too: apart from the thread's own data.
#[repr(align(128))]
struct Apart {
    /// Under the lock of `IDLE`.
    next_idle: Cell<*const Thread>,
}

// SAFETY: other threads touch nothing of a thread but what stands apart.
unsafe impl Sync for Thread {}

/// Ends the calls that a thread has not returned from.
static AT_END: SetOnce<fn(&Thread)> = SetOnce::new();

/// `at_end` sees a thread that ends. SAFETY: recording is off.
pub unsafe fn prepare(at_end: fn(&Thread)) {
    // SAFETY: the caller sees to it.
    unsafe { AT_END.set(at_end) };
    if KEY.load(Ordering::Relaxed) == NO_KEY {
        let mut key = 0;
        // SAFETY: fills the place it is given.
        if unsafe { libc::pthread_key_create(&mut key, Some(leave)) } == 0 {
            KEY.store(key, Ordering::Release);
        }
    }
}

/// By which a thread hands its counters on when it ends. Made before the first thread comes: a handler of a signal could leave a lock taken.
static KEY: AtomicU32 = AtomicU32::new(NO_KEY);
const NO_KEY: libc::pthread_key_t = libc::pthread_key_t::MAX;

/// Threads that have ended. Each leaves its counters to the next one that starts.
static IDLE: Undisturbed<Idle> = Undisturbed::new(Idle { latest: ptr::null(), threads: 0 });

struct Idle {
    latest: *const Thread,
    /// All that there ever were.
    threads: usize,
}

// SAFETY: threads are never freed.
unsafe impl Send for Idle {}

impl Idle {
    /// One that has ended, or a new one where there is memory for it.
    fn take(&mut self) -> Option<&'static Thread> {
        // SAFETY: null, or a thread that has ended.
        if let Some(left) = unsafe { self.latest.as_ref() } {
            self.latest = left.apart.next_idle.get();
            return Some(left);
        }
        let new = Thread::new(self.threads)?;
        self.threads += 1;
        Some(new)
    }
}

/// This thread, if it has been seen before and calls are followed.
#[inline(always)]
pub fn known() -> Option<&'static Thread> {
    // SAFETY: null, or this thread, which is never freed.
    if state::is_off() { None } else { unsafe { tls::get().as_ref() } }
}

/// This thread as a hook module finds it, perhaps in the midst of a call, while anything may be counted.
#[inline(always)]
pub fn here() -> Option<&'static Thread> {
    if state::is_off() { None } else { of_run() }
}

/// This thread. None where there is no memory for it.
#[inline(always)]
pub fn of_run() -> Option<&'static Thread> {
    // SAFETY: as above.
    match unsafe { tls::get().as_ref() } {
        None => guard::guarded(first).flatten(),
        thread => thread,
    }
}

/// This thread's first call.
#[cold]
#[inline(never)]
fn first() -> Option<&'static Thread> {
    let Some(thread) = IDLE.with(Idle::take) else {
        memory::lose_call();
        return None;
    };
    tls::set(ptr::from_ref(thread).cast_mut());
    leave_at_exit(thread);
    thread.in_flight.set(clock::now());
    Some(thread)
}

/// This thread, or null.
#[inline(always)]
pub fn pointer() -> *const Thread {
    tls::get()
}

mod tls {
    commsee_runtime::thread_pointer!(crate::thread::Thread, "commsee_thread");
}

/// Runs the library's Fortran entry point. It may call the C function by its `MPI_` name: that call is this one. Returns whether it did.
pub fn within_fortran(thread: &Thread, operation: u16, call: impl FnOnce()) -> bool {
    // Also where the program leaves the call by an exception, or ends its thread.
    struct Back<'a>(&'a Thread, u16);
    impl Drop for Back<'_> {
        fn drop(&mut self) {
            self.0.fortran.set(self.1);
        }
    }
    let _back = Back(thread, thread.fortran.replace(operation));
    call();
    thread.fortran.get() == NO_OPERATION
}

/// Has the thread hand its counters on when it ends.
fn leave_at_exit(thread: &'static Thread) {
    let key = KEY.load(Ordering::Acquire);
    if key != NO_KEY {
        // SAFETY: plain use of a pthread key.
        unsafe { libc::pthread_setspecific(key, ptr::from_ref(thread).cast()) };
    }
}

unsafe extern "C" fn leave(thread: *mut libc::c_void) {
    tls::set(ptr::null_mut());
    if shard::header().is_none() {
        // A child made by `fork`: another thread may have held the lock when it was made.
        return;
    }
    // SAFETY: it is still this thread's own, and never freed.
    let thread = unsafe { &*thread.cast::<Thread>() };
    // A jump may have left commsee's own code half done: then nobody uses it any more.
    if thread.in_flight.is_ours() {
        return;
    }
    // It may have ended in the midst of calls, by a jump out of them.
    // SAFETY: set before recording starts, and so before any thread is seen.
    (unsafe { AT_END.get() })(thread);
    thread.hooks.leave();
    thread.in_flight.set(0);
    IDLE.with(|idle| thread.apart.next_idle.set(std::mem::replace(&mut idle.latest, thread)));
}

impl Thread {
    /// One more, kept for good. None where there is no memory for it. It is made where it lies: the stack of the thread that calls may be small.
    #[inline(never)]
    fn new(number: usize) -> Option<&'static Thread> {
        let (counters, in_flight, shortcuts) = (Counters::new()?, InFlight::new(number)?, Shortcuts::new()?);
        let place = memory::array::<Thread>(1)?;
        // SAFETY: room for one, which nobody else knows of, and nobody frees.
        unsafe {
            place.write(Thread {
                counters,
                communicators: communicators::Recent::none(),
                in_flight,
                shortcuts,
                looks: Looks::none(),
                fortran: Cell::new(NO_OPERATION),
                hooks: HookState::empty(),
                tracer: TracerState::empty(),
                last_stamp: Cell::new((number as u64) << 48),
                number: number as u16,
                apart: Apart { next_idle: Cell::new(ptr::null()) },
            });
            Some(place.as_ref())
        }
    }

    /// A number that no other call has: this thread's number above a count.
    #[inline(always)]
    pub fn stamp(&self) -> u64 {
        let stamp = self.last_stamp.get() + 1;
        self.last_stamp.set(stamp);
        stamp
    }
}
