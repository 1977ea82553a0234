//! What one thread of the program counts: an index over its cells and edges in the shard, and its live requests.
//! Only the thread itself touches its counters, so that counting needs no lock and no atomic operation.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use vocabulary::shard::{self as image, Bound, Communicator, Edge, NO_OPERATION, Use};

use crate::abi::Word;
use crate::datatypes::{self, Recent};
use crate::hooks;
use crate::index::Index;
use crate::requests::Requests;
use crate::standing::Places;
use crate::{clock, shard, state, tls, trace};

/// Not even a neighbour on the heap shares its cache lines.
#[repr(align(128))]
pub struct Thread {
    cells: Index<image::Cell>,
    edges: Index<Edge>,
    /// Only where datatypes are recorded.
    uses: Option<Box<Uses>>,
    /// The communicator that this thread used last, valid in one epoch of the table of communicators.
    pub last_comm: (Word, u32, *mut Communicator),
    /// Where it stands, for those who come after a crash.
    pub places: Places,
    /// What hook modules count, from within the calls of this thread.
    pub hooks: hooks::Place,
    /// Where it writes the timeline.
    pub tracer: trace::Place,
    /// Apart from the thread's own data: other threads reach it, too.
    pub requests: &'static Requests,
    /// Handles of the requests of one completing call, kept here so that no call allocates.
    pub handles: Vec<Word>,
    pub statuses: Vec<u64>,
    /// Communicators that this thread is freeing just now.
    pub dying: Vec<(Word, *mut Communicator)>,
    /// The time of all calls counted so far, so that a call whose callbacks made others is charged for the rest only.
    pub counted_ticks: u64,
    /// Tells one completing call of this thread from all others of the process.
    last_stamp: u64,
}

/// All threads that ever called MPI while recording. A thread that ends leaves its counters to the next one that starts.
static THREADS: Mutex<Threads> = parking_lot::const_mutex(Threads { all: Vec::new(), idle: Vec::new() });
static THREAD_COUNT: AtomicUsize = AtomicUsize::new(0);

struct Threads {
    all: Vec<Address>,
    idle: Vec<Address>,
}

#[derive(Clone, Copy)]
struct Address(*mut Thread);

// SAFETY: other threads touch nothing of a thread but its requests, under their lock.
unsafe impl Send for Address {}

/// This thread, if calls are recorded.
#[inline(always)]
pub fn recording(operation: u16) -> Option<&'static mut Thread> {
    if !state::is_on() {
        return None;
    }
    current(operation)
}

/// This thread, also while recording pauses: for calls whose requests and communicators must be followed.
#[inline(always)]
pub fn following(operation: u16) -> Option<&'static mut Thread> {
    if state::is_off() {
        return None;
    }
    current(operation)
}

#[inline(always)]
fn current(operation: u16) -> Option<&'static mut Thread> {
    let thread = tls::get();
    if thread.is_null() {
        return enter(operation);
    }
    // SAFETY: set by `enter` for this thread alone, and never freed.
    Some(unsafe { &mut *thread })
}

/// The same where the thread has been seen before.
#[inline(always)]
pub fn known() -> Option<*const Thread> {
    let thread = tls::get();
    if state::is_off() || thread.is_null() { None } else { Some(thread) }
}

/// This thread as a hook module finds it, perhaps in the midst of a call, while anything may be counted.
#[inline(always)]
pub fn here() -> Option<*const Thread> {
    if state::is_off() {
        return None;
    }
    let thread = tls::get();
    if thread.is_null() { enter(NO_OPERATION).map(|thread| &raw const *thread) } else { Some(thread) }
}

#[cold]
#[inline(never)]
fn enter(operation: u16) -> Option<&'static mut Thread> {
    if let Some((thread, forwarded)) = FORTRAN.get() {
        if operation == forwarded {
            // What its callbacks call from here on is the program's own.
            FORTRAN.set(None);
            tls::set(thread);
            return None;
        }
        // SAFETY: it is this thread's own.
        return Some(unsafe { &mut *thread });
    }
    crate::guard::guarded(|| {
        let mut threads = THREADS.lock();
        let thread = match threads.idle.pop() {
            Some(left) => left,
            None => {
                let new = Address(Box::into_raw(Box::new(Thread::new(threads.all.len()))));
                threads.all.push(new);
                THREAD_COUNT.store(threads.all.len(), Ordering::Release);
                new
            }
        };
        tls::set(thread.0);
        leave_at_exit(thread.0);
        // SAFETY: it came from a box that is never freed, and no other thread has it.
        let thread = unsafe { &mut *thread.0 };
        thread.places.set(clock::now());
        thread
    })
}

thread_local! {
    /// While the library's Fortran layer does a call that is recorded already: this thread, and the operation.
    static FORTRAN: Cell<Option<(*mut Thread, u16)>> = const { Cell::new(None) };
}

/// Runs the library's Fortran entry point, and returns whether that one called the C function by its `MPI_` name: then the C
/// wrapper finds no thread and asks in `enter`. So C calls pay nothing for this.
pub fn within_fortran(operation: u16, call: impl FnOnce()) -> bool {
    let thread = tls::get();
    let outer = FORTRAN.replace(Some((thread, operation)));
    tls::set(ptr::null_mut());
    call();
    tls::set(thread);
    FORTRAN.replace(outer).is_none()
}

/// Has the thread hand its counters on when it ends.
fn leave_at_exit(thread: *mut Thread) {
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
            libc::pthread_setspecific(key, thread.cast());
        }
    }
}

unsafe extern "C" fn leave(thread: *mut libc::c_void) {
    tls::set(ptr::null_mut());
    if shard::header().is_none() {
        // A child made by `fork`: another thread may have held the lock when it was made.
        return;
    }
    let thread: *mut Thread = thread.cast();
    // SAFETY: it is still this thread's own.
    unsafe { (*thread).places.set(0) };
    THREADS.lock().idle.push(Address(thread));
}

/// The requests of all other threads, one after the other, until one of them answers.
pub fn ask_others<T>(own: *const Thread, mut ask: impl FnMut(&Requests) -> Option<T>) -> Option<T> {
    if THREAD_COUNT.load(Ordering::Acquire) < 2 {
        return None;
    }
    // SAFETY: threads are never freed, and this field never changes.
    let requests = |thread: &Address| unsafe { (&raw const (*thread.0).requests).read() };
    let all: Vec<(*mut Thread, &Requests)> =
        THREADS.lock().all.iter().map(|thread| (thread.0, requests(thread))).collect();
    all.into_iter().filter(|(thread, _)| !ptr::eq(*thread, own)).find_map(|(_, requests)| ask(requests))
}

impl Thread {
    fn new(number: usize) -> Thread {
        Thread {
            cells: Index::new(),
            edges: Index::new(),
            uses: None,
            last_comm: (0, u32::MAX, ptr::null_mut()),
            places: Places::new(number),
            hooks: hooks::Place::empty(),
            tracer: trace::Place::empty(),
            requests: Box::leak(Box::new(Requests::new())),
            handles: Vec::new(),
            statuses: Vec::new(),
            dying: Vec::new(),
            counted_ticks: 0,
            last_stamp: (number as u64) << 48,
        }
    }

    /// The record of a communicator that this thread is freeing.
    pub fn dying(&self, handle: Word) -> Option<*mut Communicator> {
        self.dying.iter().rev().find(|(dying, _)| *dying == handle).map(|(_, record)| *record)
    }

    /// A number that no other look at requests has: this thread's number above a count.
    #[inline(always)]
    pub fn stamp(&mut self) -> u64 {
        self.last_stamp += 1;
        self.last_stamp
    }

    /// The counters of a (communicator, operation, bucket).
    #[inline(always)]
    pub fn cell(&mut self, key: u64) -> &mut image::Cell {
        let cell = match self.cells.find(key) {
            Some(cell) => cell,
            None => self.new_cell(key),
        };
        // SAFETY: the index holds addresses of live entries of this thread only.
        unsafe { &mut *cell }
    }

    /// The counters of this key will be asked for soon: their place in a large index is fetched while the library works.
    #[inline(always)]
    pub fn expect_cell(&self, key: u64) {
        self.cells.expect(key);
    }

    #[cold]
    #[inline(never)]
    fn new_cell(&mut self, key: u64) -> *mut image::Cell {
        self.cells.add(key, image::Cell { key, ticks_min: Bound::LONGEST, ..bytemuck::Zeroable::zeroed() })
    }

    /// The counters of a (communicator, operation, destination), if they exist.
    #[inline(always)]
    pub fn edge(&mut self, key: u64) -> Option<&mut Edge> {
        // SAFETY: as above.
        self.edges.find(key).map(|edge| unsafe { &mut *edge })
    }

    /// The number of a datatype that a successful call was given.
    pub fn datatype(&mut self, datatype: Word, size_bytes: u64) -> Option<u32> {
        datatypes::number_of(&mut self.uses().recent, datatype, size_bytes)
    }

    /// Counts one datatype argument.
    pub fn add_use(&mut self, comm: u32, operation: u16, datatype: u32, bytes: u64) {
        let key = Edge::key(comm, operation, datatype);
        let index = &mut self.uses().index;
        let entry = index.find(key).unwrap_or_else(|| index.add(key, Use { key, calls: 0, bytes: 0 }));
        // SAFETY: the index holds addresses of live entries of this thread only.
        let entry = unsafe { &mut *entry };
        entry.calls += 1;
        entry.bytes = entry.bytes.wrapping_add(bytes);
    }

    fn uses(&mut self) -> &mut Uses {
        self.uses.get_or_insert_with(|| Box::new(Uses { index: Index::new(), recent: Recent::new() }))
    }

    #[cold]
    pub fn new_edge(&mut self, key: u64, world_rank: u32) -> &mut Edge {
        let edge = self.edges.add(key, Edge { key, world_rank, reserved: 0, calls: 0, bytes: 0 });
        // SAFETY: as above.
        unsafe { &mut *edge }
    }
}

/// What a thread knows of datatypes.
struct Uses {
    index: Index<Use>,
    recent: Recent,
}
