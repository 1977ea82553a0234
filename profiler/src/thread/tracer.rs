//! Where one thread writes its events.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use vocabulary::shard::{BLOCK_HEADER_BYTES, BlockHeader, EVENTS, Event, InFlightCall};

use crate::guest::{guard, signals};
use crate::objects::communicators::LastLookUp;
use crate::shard::{self, memory};

const BLOCK_BYTES: usize = 64 << 10;
const CAPACITY: u32 = ((BLOCK_BYTES - BLOCK_HEADER_BYTES) / size_of::<Event>()) as u32;

/// Bytes that blocks of events may still take.
static ALLOWED_BYTES: AtomicU64 = AtomicU64::new(0);

/// Whether there is a timeline.
static WANTED: AtomicBool = AtomicBool::new(false);

/// Events may take so many bytes, one block at least. 0: there is no timeline. Where there was one before `MPI_Init`, it has its bytes.
pub fn allow(bytes: u64) {
    if bytes > 0 && !is_wanted() {
        ALLOWED_BYTES.store(bytes.max(BLOCK_BYTES as u64), Ordering::Release);
        WANTED.store(true, Ordering::Release);
    }
}

#[inline(always)]
pub fn is_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

pub struct Tracer {
    /// The one that is being written, or null.
    block: Cell<*mut BlockHeader>,
    /// Full ones, the oldest first.
    full: RefCell<VecDeque<*mut BlockHeader>>,
    /// The call that was written last: its event, or null where that has made room, and its begin.
    last_call: Cell<*mut Event>,
    last_begin_ticks: Cell<u64>,
    pub tag: Cell<Option<c_int>>,
    /// The number of the receive that the call that was written last makes, if it was matched earlier; 0 is none.
    pub posted: Cell<u32>,
    comm: LastLookUp,
    thread: u32,
}

/// Where a thread keeps its tracer: made with its first event.
pub struct TracerState(Cell<*const Tracer>);

impl TracerState {
    pub const fn empty() -> TracerState {
        TracerState(Cell::new(ptr::null()))
    }

    /// `thread`: its number.
    pub fn get(&self, thread: u32) -> Option<&'static Tracer> {
        // SAFETY: made below, and never freed.
        unsafe { self.0.get().as_ref() }.or_else(|| self.make(thread))
    }

    #[cold]
    fn make(&self, thread: u32) -> Option<&'static Tracer> {
        let new = memory::keep(Tracer {
            block: Cell::new(ptr::null_mut()),
            full: RefCell::new(VecDeque::new()),
            last_call: Cell::new(ptr::null_mut()),
            last_begin_ticks: Cell::new(0),
            tag: Cell::new(None),
            posted: Cell::new(0),
            comm: LastLookUp::none(),
            thread,
        });
        let Some(new) = new else {
            lost();
            return None;
        };
        self.0.set(new);
        Some(new)
    }
}

impl Tracer {
    pub fn communicator(&self, call: &InFlightCall) -> u32 {
        self.comm.of(call)
    }

    pub fn write_call(&self, event: Event) {
        self.tag.set(None);
        self.posted.set(0);
        self.last_begin_ticks.set(event.begin_ticks);
        self.last_call.set(self.write(event));
    }

    /// Where it stands now, or null.
    pub fn write(&self, event: Event) -> *mut Event {
        let block = self.block.get();
        // SAFETY: null, or a block of ours, which is never unmapped.
        let used = unsafe { block.as_ref() }.map_or(CAPACITY, |block| block.used);
        if used >= CAPACITY {
            return if self.next_block() { self.write(event) } else { ptr::null_mut() };
        }
        let place = (block as usize + BLOCK_HEADER_BYTES + used as usize * size_of::<Event>()) as *mut Event;
        // SAFETY: the block has room for one entry behind the used ones.
        unsafe {
            place.write(event);
            fence(Ordering::Release);
            (*block).used = used + 1;
        }
        place
    }

    pub fn settle_call(&self, comm: u32, sequence: u32, bytes: u64) {
        // SAFETY: null, or an event of ours.
        if let Some(event) = unsafe { self.last_call.get().as_mut() } {
            (event.comm, event.route, event.bytes) = (comm, sequence, bytes);
        }
    }

    /// The begin of the call that was written last.
    pub fn last_begin_ticks(&self) -> u64 {
        self.last_begin_ticks.get()
    }

    /// A new block, or the oldest of this thread once more.
    #[cold]
    fn next_block(&self) -> bool {
        guard::guarded(|| signals::undisturbed(|| self.take_block(&mut self.full.borrow_mut()))).unwrap_or(false)
    }

    fn take_block(&self, full: &mut VecDeque<*mut BlockHeader>) -> bool {
        if full.try_reserve(1).is_err() {
            lost();
            return false;
        }
        if !self.block.get().is_null() {
            full.push_back(self.block.replace(ptr::null_mut()));
        }
        let take = |left: u64| left.checked_sub(BLOCK_BYTES as u64);
        // Threads that come when all is taken have one block nevertheless.
        let is_allowed =
            ALLOWED_BYTES.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() || full.is_empty();
        let new = if is_allowed { shard::block(EVENTS, BLOCK_BYTES) } else { None };
        let next = match new {
            Some(new) => new.as_ptr(),
            None => match full.pop_front() {
                Some(oldest) => {
                    let lost = oldest as usize..oldest as usize + BLOCK_BYTES;
                    if lost.contains(&(self.last_call.get() as usize)) {
                        self.last_call.set(ptr::null_mut());
                    }
                    // SAFETY: one of ours, which nobody else writes.
                    unsafe {
                        if let Some(header) = shard::header() {
                            header.lose_events((*oldest).used.into());
                        }
                        (*oldest).used = 0;
                    }
                    shard::calibrate();
                    oldest
                }
                None => {
                    lost();
                    return false;
                }
            },
        };
        // SAFETY: as above.
        unsafe { (*next).reserved[0] = self.thread };
        self.block.set(next);
        true
    }
}

/// An event found no room.
fn lost() {
    if let Some(header) = shard::header() {
        header.lose_events(1);
    }
}
