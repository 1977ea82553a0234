//! Where one thread writes its events.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use vocabulary::shard::{BLOCK_HEADER_BYTES, BlockHeader, EVENTS, Event, Standing};

use crate::communicators::LastLookUp;
use crate::{guard, shard};

use super::lost;

const BLOCK_BYTES: usize = 64 << 10;
const CAPACITY: u32 = ((BLOCK_BYTES - BLOCK_HEADER_BYTES) / size_of::<Event>()) as u32;

/// Bytes that blocks of events may still take.
static ALLOWED_BYTES: AtomicU64 = AtomicU64::new(0);

pub fn allow(bytes: u64) {
    // One block at least.
    let bytes = if bytes == 0 { 0 } else { bytes.max(BLOCK_BYTES as u64) };
    ALLOWED_BYTES.store(bytes, Ordering::Release);
}

pub struct Tracer {
    /// The one that is being written, or null.
    block: Cell<*mut BlockHeader>,
    /// Full ones, the oldest first.
    full: RefCell<VecDeque<*mut BlockHeader>>,
    last_call: Cell<*mut Event>,
    pub tag: Cell<Option<c_int>>,
    comm: LastLookUp,
    thread: Cell<u32>,
}

/// Where a thread keeps its tracer: made with its first event.
pub struct Place(Cell<*mut Tracer>);

impl Place {
    pub const fn empty() -> Place {
        Place(Cell::new(ptr::null_mut()))
    }

    pub fn get(&self) -> Option<&'static Tracer> {
        // SAFETY: made below, and never freed.
        unsafe { self.0.get().as_ref() }.or_else(|| self.make())
    }

    #[cold]
    fn make(&self) -> Option<&'static Tracer> {
        let new = guard::guarded(|| {
            Box::leak(Box::new(Tracer {
                block: Cell::new(ptr::null_mut()),
                full: RefCell::new(VecDeque::new()),
                last_call: Cell::new(ptr::null_mut()),
                tag: Cell::new(None),
                comm: LastLookUp::none(),
                thread: Cell::new(0),
            }))
        })?;
        self.0.set(new);
        Some(new)
    }
}

impl Tracer {
    pub fn communicator(&self, standing: &Standing) -> u32 {
        self.thread.set(standing.thread);
        self.comm.of(standing)
    }

    pub fn write_call(&self, event: Event) {
        self.tag.set(None);
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

    pub fn set_bytes(&self, bytes: u64) {
        // SAFETY: null, or an event of ours.
        if let Some(event) = unsafe { self.last_call.get().as_mut() } {
            event.bytes = bytes;
        }
    }

    /// The begin of the call that was written last.
    pub fn last_call(&self) -> u64 {
        // SAFETY: as above.
        unsafe { self.last_call.get().as_ref() }.map_or(0, |event| event.begin_ticks)
    }

    /// A new block, or the oldest of this thread once more.
    #[cold]
    fn next_block(&self) -> bool {
        guard::guarded(|| {
            let mut full = self.full.borrow_mut();
            if !self.block.get().is_null() {
                full.push_back(self.block.replace(ptr::null_mut()));
            }
            let take = |left: u64| left.checked_sub(BLOCK_BYTES as u64);
            let is_allowed = ALLOWED_BYTES.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
            let new = if is_allowed { shard::block(EVENTS, BLOCK_BYTES) } else { None };
            let next = match new {
                Some(new) => new.as_ptr(),
                None => match full.pop_front() {
                    Some(oldest) => {
                        // SAFETY: one of ours, which nobody else writes.
                        unsafe {
                            if let Some(header) = shard::header() {
                                header.lost_events += u64::from((*oldest).used);
                            }
                            (*oldest).used = 0;
                        }
                        oldest
                    }
                    None => {
                        lost();
                        return false;
                    }
                },
            };
            // The call that was written last may have been in it.
            self.last_call.set(ptr::null_mut());
            // SAFETY: as above.
            unsafe { (*next).reserved[0] = self.thread.get() };
            self.block.set(next);
            true
        })
        .unwrap_or(false)
    }
}
