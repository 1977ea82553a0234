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
use std::ffi::c_int;
use std::mem::offset_of;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use vocabulary::shard::{InFlightCall, NO_OPERATION};

use crate::guest::caller::Caller;
use crate::guest::set_once::SetOnce;
use crate::guest::signals::Undisturbed;
use crate::guest::{clock, guard, stack, state};
use crate::mpi::own;
use crate::objects::communicators;
use crate::objects::freeing::{BeingFreed, Frees};
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
    /// The operation of the Fortran call that is being forwarded to the library's Fortran layer, and its stack pointer.
    passing: Cell<(u16, usize)>,
    /// From where the latest C function was called that passed its call on.
    layer: Cell<u64>,
    /// The call that begins in another one is known to be the program's.
    is_programs: Cell<bool>,
    /// What hook modules count, from within the calls of this thread.
    pub hooks: HookState,
    /// Where it writes the timeline.
    pub tracer: TracerState,
    /// What the hot path leaves to be added and has no register for: bytes received, and the rank that a message went to.
    pub left: Cell<(u64, c_int)>,
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

/// This thread, if calls are recorded.
#[inline(always)]
pub fn recording(operation: u16) -> Option<&'static Thread> {
    if !state::is_on() {
        return None;
    }
    current(operation)
}

/// This thread, also while recording pauses: for calls whose requests and communicators must be followed.
#[inline(always)]
pub fn following(operation: u16) -> Option<&'static Thread> {
    if state::is_off() {
        return None;
    }
    current(operation)
}

#[inline(always)]
fn current(operation: u16) -> Option<&'static Thread> {
    match Here::find().known() {
        None => enter(operation),
        thread => thread,
    }
}

/// This thread, if it has been seen before and calls are followed.
#[inline(always)]
pub fn known() -> Option<&'static Thread> {
    let thread = Here::find().known();
    if state::is_off() { None } else { thread }
}

/// This thread as a hook module finds it, perhaps in the midst of a call, while anything may be counted.
#[inline(always)]
pub fn here() -> Option<&'static Thread> {
    following(NO_OPERATION)
}

#[cold]
#[inline(never)]
fn enter(operation: u16) -> Option<&'static Thread> {
    // SAFETY: null, or this thread, which is never freed.
    if let Some(thread) = unsafe { passing::get().as_ref() } {
        return within(thread, operation);
    }
    guard::guarded(first).flatten()
}

/// Whether the program makes a call, and not the MPI library in another one.
pub fn is_the_programs(caller: Caller) -> bool {
    if own::is_its(caller.address()) {
        return false;
    }
    let (inner, outer) = (own(), passing::get());
    // SAFETY: null, or this thread, which is never freed. In a Fortran call that is passed on only the second one leads to it.
    if let Some(thread) = unsafe { if inner.is_null() { outer } else { inner }.as_ref() } {
        thread.is_programs.set(true);
    }
    true
}

/// This thread has called the library's Fortran layer, which calls a C function now.
fn within(thread: &'static Thread, operation: u16) -> Option<&'static Thread> {
    let (forwarded, frame) = thread.passing.get();
    // It may have jumped out of that call. Then this one has no caller below the frame.
    let is_left = stack::pointer() >= frame && frame != 0;
    if operation != forwarded && !is_left {
        return Some(thread);
    }
    // What its callbacks call from here on is the program's own.
    passing::set(ptr::null_mut());
    set_own(ptr::from_ref(thread).cast_mut());
    is_left.then_some(thread)
}

/// This thread's first call.
fn first() -> Option<&'static Thread> {
    let Some(thread) = IDLE.with(Idle::take) else {
        memory::lose_call();
        return None;
    };
    set_own(ptr::from_ref(thread).cast_mut());
    leave_at_exit(thread);
    thread.in_flight.set(clock::now());
    Some(thread)
}

/// This thread, or null: by a pointer that is reached without a call.
#[inline(always)]
fn own() -> *mut Thread {
    Here::find().known().map_or(ptr::null_mut(), |thread| ptr::from_ref(thread).cast_mut())
}

fn set_own(thread: *mut Thread) {
    tls::set(if thread.is_null() { nobody() } else { thread });
}

/// This thread, which may be one that is none, but never null. No call tests whether its thread has been seen before: one that has not seems to be in
/// a call, and so takes the full path.
pub struct Here(*const Thread);

impl Here {
    #[inline(always)]
    pub fn find() -> Here {
        Here(tls::get())
    }

    /// The thread, if it is one.
    #[inline(always)]
    pub fn known(self) -> Option<&'static Thread> {
        // SAFETY: `set_own` has set it for this thread alone, and it is never freed.
        if self.0.addr().is_multiple_of(align_of::<Thread>()) { Some(unsafe { &*self.0 }) } else { None }
    }

    /// Whether it is in a call, or none.
    #[inline(always)]
    pub fn is_inside(&self) -> bool {
        // SAFETY: of one that is none, what is read here is there; others are never freed.
        unsafe { InFlight::lowest_of(self.0.wrapping_byte_add(offset_of!(Thread, in_flight)).cast()) }.is_inside()
    }

    /// # Safety
    /// It is in no call.
    #[inline(always)]
    pub unsafe fn thread(self) -> &'static Thread {
        // SAFETY: then it is one, which `set_own` has set for this thread alone, and is never freed.
        unsafe { &*self.0 }
    }
}

/// All that is read of a thread that is none. It lies where no thread has it, so that bits of an address tell.
#[repr(align(128))]
struct Nobody {
    lowest: *const InFlightCall,
}

// SAFETY: never written to.
unsafe impl Sync for Nobody {}

static IN_A_CALL: InFlightCall = InFlightCall {
    word: 0,
    comm: 0,
    begin_ticks: 1,
    end_ticks: 0,
    thread: 0,
    level: 0,
    caller: 0,
    fortran_caller: 0,
    fortran_layer: 0,
};

static NOBODY: Nobody = Nobody { lowest: &raw const IN_A_CALL };

/// Where a thread has what is read of [`NOBODY`].
const LOWEST: usize = offset_of!(Thread, in_flight) + InFlight::LOWEST;

const _: () = assert!(align_of::<Nobody>() == align_of::<Thread>() && !LOWEST.is_multiple_of(align_of::<Thread>()));

fn nobody() -> *mut Thread {
    (&raw const NOBODY.lowest).cast_mut().cast::<Thread>().wrapping_byte_sub(LOWEST)
}

mod tls {
    use super::{LOWEST, NOBODY};

    commsee_runtime::thread_pointer!(crate::thread::Thread, "commsee_thread", at first NOBODY - LOWEST);
}

mod passing {
    //! While the library's Fortran layer does a call that is recorded already: this thread, by which only `enter` finds it then.
    commsee_runtime::thread_pointer!(crate::thread::Thread, "commsee_passing_thread");
}

/// Runs the library's Fortran entry point, and returns from where that one called the C function by its `MPI_` name, if it did: then the C
/// wrapper finds no thread and asks in `enter`. So C calls pay nothing for this.
pub fn within_fortran(operation: u16, call: impl FnOnce()) -> Option<u64> {
    let (own, outer) = (own(), passing::get());
    let place = if own.is_null() { outer } else { own };
    // SAFETY: null, or this thread, which is never freed.
    let Some(thread) = (unsafe { place.as_ref() }) else {
        call();
        return None;
    };
    // Also where the program leaves the call by an exception, or ends its thread.
    let back = Back { thread, own, outer, passing: thread.passing.get(), layer: thread.layer.take() };
    thread.passing.set((operation, stack::pointer()));
    passing::set(place);
    set_own(ptr::null_mut());
    call();
    let layer = Some(thread.layer.get()).filter(|layer| passing::get().is_null() && *layer != 0);
    drop(back);
    layer
}

/// A C function passes on a call that was made from there, and does not count it.
pub fn passes_on(caller: Caller) {
    if let Some(thread) = Here::find().known() {
        thread.layer.set(caller.address());
    }
}

struct Back<'a> {
    thread: &'a Thread,
    own: *mut Thread,
    outer: *mut Thread,
    passing: (u16, usize),
    layer: u64,
}

impl Drop for Back<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        set_own(self.own);
        passing::set(self.outer);
        self.thread.passing.set(self.passing);
        self.thread.layer.set(self.layer);
    }
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
    set_own(ptr::null_mut());
    passing::set(ptr::null_mut());
    if shard::header().is_none() {
        // A child made by `fork`: another thread may have held the lock when it was made.
        return;
    }
    // SAFETY: it is still this thread's own, and never freed.
    let thread = unsafe { &*thread.cast::<Thread>() };
    // It may have ended in the midst of calls, by a jump out of them.
    // SAFETY: set before recording starts, and so before any thread is entered.
    (unsafe { AT_END.get() })(thread);
    thread.hooks.leave();
    thread.in_flight.set(0);
    IDLE.with(|idle| thread.apart.next_idle.set(std::mem::replace(&mut idle.latest, thread)));
}

impl Frees for Thread {
    #[inline(always)]
    fn being_freed(&self) -> &BeingFreed {
        &self.communicators.freeing
    }
}

impl Thread {
    /// One more, kept for good. None where there is no memory for it. It is made where it lies: the stack of the thread that calls may be small.
    #[inline(never)]
    fn new(number: usize) -> Option<&'static Thread> {
        let (counters, in_flight) = (Counters::new()?, InFlight::new(number)?);
        let place = memory::array::<Thread>(1)?;
        // SAFETY: room for one, which nobody else knows of, and nobody frees.
        unsafe {
            place.write(Thread {
                counters,
                communicators: communicators::Recent::none(),
                in_flight,
                shortcuts: Shortcuts::none(),
                looks: Looks::none(),
                passing: Cell::new((NO_OPERATION, 0)),
                layer: Cell::new(0),
                is_programs: Cell::new(false),
                hooks: HookState::empty(),
                tracer: TracerState::empty(),
                left: Cell::new((0, 0)),
                last_stamp: Cell::new((number as u64) << 48),
                number: number as u16,
                apart: Apart { next_idle: Cell::new(ptr::null()) },
            });
            Some(place.as_ref())
        }
    }

    /// Whether the thread is in no call.
    #[inline(always)]
    pub fn is_outside(&self) -> bool {
        !self.in_flight.level(0).is_inside()
    }

    /// Whether the call that begins is made in another one, and nobody has asked yet who makes it ([`is_the_programs`]).
    #[inline(always)]
    pub fn is_inside_unasked(&self) -> bool {
        !self.is_outside() && !self.is_programs.take()
    }

    /// A number that no other call has: this thread's number above a count.
    #[inline(always)]
    pub fn stamp(&self) -> u64 {
        let stamp = self.last_stamp.get() + 1;
        self.last_stamp.set(stamp);
        stamp
    }
}
