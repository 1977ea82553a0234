//! What one thread of the program counts: an index over its cells and edges in the shard, and its live requests.
//! Only the thread itself touches its counters, so that counting needs no lock and no atomic operation.
//!
//! The library's callbacks (of attributes, errors, reductions, generalized requests) call MPI again in the midst of a call, and find
//! the same thread there. So a thread is shared by reference; what it holds is read and written in pieces, and no piece is held
//! while a call is forwarded.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use parking_lot::Mutex;
use vocabulary::shard::{self as image, Bound, Communicator, Edge, NO_OPERATION, STANDING_LEVELS, Use};

use crate::abi::Word;
use crate::datatypes::{self, Recent};
use crate::dying::Dying;
use crate::hooks;
use crate::index::Index;
use crate::requests::{Requests, Unknown};
use crate::standing::{self, Places};
use crate::{clock, memory, shard, state, tls, trace};

/// Not even a neighbour on the heap shares its cache lines.
#[repr(align(128))]
pub struct Thread {
    cells: Index<image::Cell>,
    edges: Index<Edge>,
    /// Only where datatypes are recorded.
    uses: Cell<*const Uses>,
    /// The communicator that this thread used last, valid in one epoch of the table of communicators.
    pub last_comm: Cell<(Word, u32, *mut Communicator)>,
    /// Where it stands, for those who come after a crash.
    pub places: Places,
    /// The stack pointers of the wrappers that the thread is in, by level: they tell a call that it is still in from one that it has
    /// jumped out of.
    pub frames: [Cell<usize>; STANDING_LEVELS],
    /// For each level the begin of a call in which another one was made, and the time of all calls counted by then.
    pub counted_within: [Cell<(u64, u64)>; STANDING_LEVELS],
    /// How often a call was taken for one within another.
    pub nested: Cell<u32>,
    /// The operation of the Fortran call that is being forwarded to the library's Fortran layer, and its stack pointer.
    passing: Cell<(u16, usize)>,
    /// What hook modules count, from within the calls of this thread.
    pub hooks: hooks::Place,
    /// Where it writes the timeline.
    pub tracer: trace::Place,
    /// Handles of the requests of one completing call, kept here so that no call allocates.
    pub handles: Cell<Vec<Word>>,
    pub statuses: Cell<Vec<u64>>,
    /// Communicators and windows that this thread is freeing just now.
    pub dying: Dying,
    /// The time of all calls counted so far, so that a call whose callbacks made others is charged for the rest only.
    pub counted_ticks: Cell<u64>,
    /// Tells one completing call of this thread from all others of the process.
    last_stamp: Cell<u64>,
    /// Handles that were asked for and that no thread knew.
    pub unknown: Unknown,
    apart: Apart,
}

/// What other threads reach, too: apart from the thread's own data.
#[repr(align(128))]
struct Apart {
    requests: Requests,
    /// The thread that came next, once there is one.
    next: AtomicPtr<Thread>,
    /// Under the lock of `IDLE`.
    next_idle: Cell<*const Thread>,
}

// SAFETY: other threads touch nothing of a thread but what stands apart.
unsafe impl Sync for Thread {}

/// The first of all threads that ever called MPI while recording: each knows the next. They are never freed, so nobody needs a lock
/// to go through them.
static FIRST: AtomicPtr<Thread> = AtomicPtr::new(ptr::null_mut());
/// Threads that have ended. Each leaves its counters to the next one that starts.
static IDLE: Mutex<Idle> = parking_lot::const_mutex(Idle { latest: ptr::null(), threads: 0 });

struct Idle {
    latest: *const Thread,
    /// All that there ever were.
    threads: usize,
}

// SAFETY: threads are never freed.
unsafe impl Send for Idle {}

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
    // SAFETY: null, or set by `enter` for this thread alone, and never freed.
    match unsafe { tls::get().as_ref() } {
        None => enter(operation),
        thread => thread,
    }
}

/// The same where the thread has been seen before.
#[inline(always)]
pub fn known() -> Option<&'static Thread> {
    // SAFETY: as above.
    let thread = unsafe { tls::get().as_ref() };
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
    crate::guard::guarded(first).flatten()
}

/// This thread has called the library's Fortran layer, which calls a C function now.
fn within(thread: &'static Thread, operation: u16) -> Option<&'static Thread> {
    let (forwarded, frame) = thread.passing.get();
    // It may have jumped out of that call. Then this one has no caller below the frame.
    let is_left = standing::stack_pointer() >= frame && frame != 0;
    if operation != forwarded && !is_left {
        return Some(thread);
    }
    // What its callbacks call from here on is the program's own.
    passing::set(ptr::null_mut());
    tls::set(ptr::from_ref(thread).cast_mut());
    is_left.then_some(thread)
}

/// This thread's first call.
fn first() -> Option<&'static Thread> {
    let mut idle = IDLE.lock();
    // SAFETY: null, or a thread that has ended.
    let thread = match unsafe { idle.latest.as_ref() } {
        Some(left) => {
            idle.latest = left.apart.next_idle.get();
            left
        }
        None => {
            let Some(new) = Thread::new(idle.threads).and_then(memory::keep) else {
                memory::lose_call();
                return None;
            };
            idle.threads += 1;
            append(new);
            new
        }
    };
    tls::set(ptr::from_ref(thread).cast_mut());
    leave_at_exit(thread);
    thread.places.set(clock::now());
    Some(thread)
}

/// Under the lock of `IDLE`.
fn append(new: &'static Thread) {
    let mut end = &FIRST;
    // SAFETY: threads are never freed.
    while let Some(thread) = unsafe { end.load(Ordering::Acquire).as_ref() } {
        end = &thread.apart.next;
    }
    end.store(ptr::from_ref(new).cast_mut(), Ordering::Release);
}

mod passing {
    //! While the library's Fortran layer does a call that is recorded already: this thread, by which only `enter` finds it then.
    commsee_runtime::thread_pointer!(crate::thread::Thread, "commsee_passing_thread");
}

/// Runs the library's Fortran entry point, and returns whether that one called the C function by its `MPI_` name: then the C
/// wrapper finds no thread and asks in `enter`. So C calls pay nothing for this.
pub fn within_fortran(operation: u16, call: impl FnOnce()) -> bool {
    let (own, outer) = (tls::get(), passing::get());
    let place = if own.is_null() { outer } else { own };
    // SAFETY: null, or this thread, which is never freed.
    let Some(thread) = (unsafe { place.as_ref() }) else {
        call();
        return false;
    };
    // Also where the program leaves the call by an exception, or ends its thread.
    let back = Back { thread, own, outer, passing: thread.passing.get() };
    thread.passing.set((operation, standing::stack_pointer()));
    passing::set(place);
    tls::set(ptr::null_mut());
    call();
    let is_met = passing::get().is_null();
    drop(back);
    is_met
}

struct Back<'a> {
    thread: &'a Thread,
    own: *mut Thread,
    outer: *mut Thread,
    passing: (u16, usize),
}

impl Drop for Back<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        tls::set(self.own);
        passing::set(self.outer);
        self.thread.passing.set(self.passing);
    }
}

/// Has the thread hand its counters on when it ends.
fn leave_at_exit(thread: &'static Thread) {
    static KEY: Mutex<Option<libc::pthread_key_t>> = parking_lot::const_mutex(None);
    let mut key = KEY.lock();
    // SAFETY: plain use of a pthread key.
    unsafe {
        if key.is_none() {
            let mut new = 0;
            if libc::pthread_key_create(&mut new, Some(leave)) == 0 {
                *key = Some(new);
            }
        }
        if let Some(key) = *key {
            libc::pthread_setspecific(key, ptr::from_ref(thread).cast());
        }
    }
}

unsafe extern "C" fn leave(thread: *mut libc::c_void) {
    tls::set(ptr::null_mut());
    passing::set(ptr::null_mut());
    if shard::header().is_none() {
        // A child made by `fork`: another thread may have held the lock when it was made.
        return;
    }
    // SAFETY: it is still this thread's own, and never freed.
    let thread = unsafe { &*thread.cast::<Thread>() };
    // It may have ended in the midst of calls, by a jump out of them.
    standing::end_all(thread);
    thread.hooks.leave();
    thread.places.set(0);
    let mut idle = IDLE.lock();
    thread.apart.next_idle.set(idle.latest);
    idle.latest = thread;
}

/// All other threads.
pub fn others(own: &Thread) -> impl Iterator<Item = &'static Requests> {
    let mut next = &FIRST;
    let own = ptr::from_ref(own);
    std::iter::from_fn(move || {
        loop {
            // SAFETY: threads are never freed.
            let thread = unsafe { next.load(Ordering::Acquire).as_ref() }?;
            next = &thread.apart.next;
            if !ptr::eq(thread, own) {
                return Some(&thread.apart.requests);
            }
        }
    })
}

impl Thread {
    /// None where there is no memory for it.
    fn new(number: usize) -> Option<Thread> {
        Some(Thread {
            cells: Index::new()?,
            edges: Index::new()?,
            uses: Cell::new(ptr::null()),
            last_comm: Cell::new((0, u32::MAX, ptr::null_mut())),
            places: Places::new(number)?,
            frames: [const { Cell::new(0) }; STANDING_LEVELS],
            counted_within: [const { Cell::new((0, 0)) }; STANDING_LEVELS],
            nested: Cell::new(0),
            passing: Cell::new((NO_OPERATION, 0)),
            hooks: hooks::Place::empty(),
            tracer: trace::Place::empty(),
            handles: Cell::new(Vec::new()),
            statuses: Cell::new(Vec::new()),
            dying: Dying::none(),
            counted_ticks: Cell::new(0),
            last_stamp: Cell::new((number as u64) << 48),
            unknown: Unknown::none(),
            apart: Apart {
                requests: Requests::new()?,
                next: AtomicPtr::new(ptr::null_mut()),
                next_idle: Cell::new(ptr::null()),
            },
        })
    }

    #[inline(always)]
    pub fn requests(&self) -> &Requests {
        &self.apart.requests
    }

    /// A number that no other look at requests has: this thread's number above a count.
    #[inline(always)]
    pub fn stamp(&self) -> u64 {
        let stamp = self.last_stamp.get() + 1;
        self.last_stamp.set(stamp);
        stamp
    }

    #[inline(always)]
    pub fn add_counted_ticks(&self, ticks: u64) {
        self.counted_ticks.set(self.counted_ticks.get().wrapping_add(ticks));
    }

    /// Adds to the counters of a (communicator, operation, bucket). The work calls nothing that comes back here.
    #[inline(always)]
    pub fn count<R>(&self, key: u64, work: impl FnOnce(&mut image::Cell) -> R) -> R {
        let cell = match self.cells.find(key) {
            Some(cell) => cell,
            None => self.new_cell(key),
        };
        // SAFETY: the index holds addresses of live entries of this thread only.
        work(unsafe { &mut *cell })
    }

    /// The counters of this key will be asked for soon: their place in a large index is fetched while the library works.
    #[inline(always)]
    pub fn expect_cell(&self, key: u64) {
        self.cells.expect(key);
    }

    #[cold]
    #[inline(never)]
    fn new_cell(&self, key: u64) -> *mut image::Cell {
        self.cells.add(key, image::Cell { key, ticks_min: Bound::LONGEST, ..bytemuck::Zeroable::zeroed() })
    }

    /// Adds messages to the counters of a (communicator, operation, destination), and returns the receiver's world rank, which is
    /// asked for when it is new.
    #[inline(always)]
    pub fn count_edge(&self, key: u64, (count, bytes): (u64, u64), world_rank: impl FnOnce() -> u32) -> u32 {
        let edge = match self.edges.find(key) {
            Some(edge) => edge,
            None => self.new_edge(key, world_rank()),
        };
        // SAFETY: as above.
        let edge = unsafe { &mut *edge };
        edge.calls += count;
        edge.bytes = edge.bytes.wrapping_add(bytes);
        edge.world_rank
    }

    #[cold]
    #[inline(never)]
    fn new_edge(&self, key: u64, world_rank: u32) -> *mut Edge {
        self.edges.add(key, Edge { key, world_rank, reserved: 0, calls: 0, bytes: 0 })
    }

    /// The number of a datatype that a successful call was given.
    pub fn datatype(&self, datatype: Word, size_bytes: u64) -> Option<u32> {
        datatypes::number_of(&self.uses()?.recent, datatype, size_bytes)
    }

    /// Counts one datatype argument.
    pub fn add_use(&self, comm: u32, operation: u16, datatype: u32, bytes: u64) {
        let Some(uses) = self.uses() else { return };
        let key = Edge::key(comm, operation, datatype);
        let entry = uses.index.find(key).unwrap_or_else(|| uses.index.add(key, Use { key, calls: 0, bytes: 0 }));
        // SAFETY: the index holds addresses of live entries of this thread only.
        let entry = unsafe { &mut *entry };
        entry.calls += 1;
        entry.bytes = entry.bytes.wrapping_add(bytes);
    }

    fn uses(&self) -> Option<&Uses> {
        // SAFETY: null, or kept below and never freed.
        if let Some(known) = unsafe { self.uses.get().as_ref() } {
            return Some(known);
        }
        let new = Index::new().map(|index| Uses { index, recent: Recent::new() }).and_then(memory::keep);
        match new {
            Some(new) => self.uses.set(new),
            None => memory::lose_call(),
        }
        new
    }
}

/// What a thread knows of datatypes.
struct Uses {
    index: Index<Use>,
    recent: Recent,
}
