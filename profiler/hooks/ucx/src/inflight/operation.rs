//! The record of a UCP operation: from its post to its completion.
//!
//! Other threads meet a record in three ways. They complete the operation: its phase orders that. They find it among what is pending on a
//! worker: under the worker's lock. Or they still know it from before, or look through all records: what they read then is [`Loose`], and
//! the generation, or the phase with the request, tells them whether it is still the operation that they mean.

use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use commsee_hook::Call;
use commsee_runtime::loose::Loose;
use commsee_runtime::{guard, memory};

use super::alike::Alike;
use super::index::Node;
use super::thread::{Frame, Thread};
use super::workers::Worker;
use crate::abi::ucp::{RequestParam, TagRecvInfo};
use crate::abi::ucs::Status;
use crate::module::protocol::Protocol;
use crate::module::{self, Module};

/// Where a record stands. The post and the callback may run in different threads, in either order.
pub mod phase {
    pub const FREE: u8 = 0;
    /// Or ready for it, as a spare one.
    pub const POSTING: u8 = 1;
    pub const PENDING: u8 = 2;
    /// The callback came before the post returned.
    pub const DONE: u8 = 3;
}

/// The intervals by which a record is found: its request, its buffer.
pub const INTERVALS: usize = 2;

/// What becomes of the request of a receive that is done when it is posted.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum AtOnce {
    /// The program wants a request and a callback in any case.
    No,
    FreeRequest,
    /// It is the program's own.
    KeepRequest,
}

#[repr(C)]
pub struct Operation {
    pub now: Now,
    /// What it has in common with others, if that is known: its stamp then says whether it still is. The record's own pool has none.
    pub alike: *mut Alike,
    pub stamp: u32,
    /// In ticks, where the core need not be asked for the time; else 0.
    pub begin_ticks: u64,
    pub prepared: Prepared,
    pub generation: Loose<u32>,
    /// What the largest UCT operation carried; says nothing without a carrier.
    pub carried_bytes: Loose<u64>,
    /// Of the message; of a receive, what arrived.
    pub bytes: u64,
    pub buffer: (usize, usize),
    /// The program's.
    pub callback: Loose<usize>,
    pub user_data: *mut c_void,
    pub request: Loose<*mut c_void>,
    /// Where it stands among the youngest of its worker; null where it does not.
    pub slot: *mut *mut Operation,
    next: *mut Operation,
    pub frame: Frame,
    pub call: Call,
    pub worker: Loose<*mut Worker>,
    pub begin_ns: u64,
    /// Where a receive that is done at once says what arrived.
    pub info: TagRecvInfo,
    /// The program's own place for that.
    pub program_info: *mut c_void,
    pub function: u8,
    pub arrives: Loose<bool>,
    /// Whether it reads or writes another process's memory.
    pub is_one_sided: bool,
    pub failed: bool,
    pub status: Status,
    pub at_once: AtOnce,
    pub nodes: [Node; 2 * INTERVALS],
}

/// The parameters that UCX got last, if they are the same for others: but for the request, callback and user data that the program gives.
pub struct Prepared {
    /// The program's mask that they were made for, or [`Prepared::NOTHING`].
    pub mask: u32,
    pub element_bytes: usize,
    pub param: RequestParam,
}

impl Prepared {
    /// A mask that no program may give.
    pub const NOTHING: u32 = u32::MAX;
}

/// What changes of an operation while it goes on, side by side: the short path writes and compares all of it as one word.
#[repr(C, align(8))]
pub struct Now {
    pub peer: Loose<u32>,
    pub protocol: Loose<Protocol>,
    /// What took most of its data, or 0.
    pub carrier: Loose<u8>,
    pub phase: AtomicU8,
    /// Pending, and all else that its completion asks for is as its entry says.
    pub is_known: Loose<bool>,
}

/// [`Now`] as one word.
pub type NowWord = u64;

impl Now {
    pub fn of(peer: u32, protocol: Protocol, carrier: u8, phase: u8, is_known: bool) -> NowWord {
        let [a, b, c, d] = peer.to_ne_bytes();
        NowWord::from_ne_bytes([a, b, c, d, protocol as u8, carrier, phase, u8::from(is_known)])
    }

    /// Whether two have one peer, protocol and carrier.
    #[inline(always)]
    pub fn goes_alike(one: NowWord, other: NowWord) -> bool {
        const HOW: NowWord = NowWord::from_ne_bytes([255, 255, 255, 255, 255, 255, 0, 0]);
        (one ^ other) & HOW == 0
    }

    /// The same with another phase.
    #[inline(always)]
    pub const fn in_phase(word: NowWord, phase: u8) -> NowWord {
        let mut bytes = word.to_ne_bytes();
        bytes[offset_of!(Now, phase)] = phase;
        NowWord::from_ne_bytes(bytes)
    }

    /// The same carried by something.
    pub fn carried(word: NowWord, carrier: u8) -> NowWord {
        let mut bytes = word.to_ne_bytes();
        bytes[offset_of!(Now, carrier)] = carrier;
        NowWord::from_ne_bytes(bytes)
    }

    #[inline(always)]
    fn whole(&self) -> &AtomicU64 {
        // SAFETY: it is as large and as aligned, and each part of it is an atomic, too.
        unsafe { &*(&raw const *self).cast() }
    }

    #[inline(always)]
    pub fn word(&self) -> NowWord {
        self.whole().load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub fn set_word(&self, word: NowWord) {
        self.whole().store(word, Ordering::Release);
    }
}

const _: () = assert!(size_of::<Now>() == size_of::<NowWord>());

/// What a pool keeps: a plain record that may begin as zeros, with a place for the next one.
///
/// # Safety
/// All zeros are a value of it.
pub unsafe trait Pooled {
    fn next(this: *mut Self) -> *mut *mut Self;
    fn shared() -> &'static Mutex<Shared<Self>>
    where
        Self: Sized;
}

// SAFETY: zeros are a value of every field.
unsafe impl Pooled for Operation {
    fn next(this: *mut Self) -> *mut *mut Self {
        // SAFETY: the record lies in a chunk, which is never freed.
        unsafe { &raw mut (*this).next }
    }

    fn shared() -> &'static Mutex<Shared<Self>> {
        static SHARED: Mutex<Shared<Operation>> = Mutex::new(Shared::new());
        &SHARED
    }
}

/// Records that wait for any thread, and all that were ever made.
pub struct Shared<T> {
    free: *mut T,
    chunks: Vec<*mut T>,
}

// SAFETY: records are passed on under the lock.
unsafe impl<T> Send for Shared<T> {}

const CHUNK: usize = 64;
/// A thread that frees more than it takes gives so many back.
const MOST: usize = 4 * CHUNK;

impl<T> Shared<T> {
    pub const fn new() -> Shared<T> {
        Shared { free: null_mut(), chunks: Vec::new() }
    }
}

/// A thread's own free records.
pub struct Pool<T> {
    free: *mut T,
    count: usize,
}

impl<T: Pooled + 'static> Pool<T> {
    pub const fn new() -> Pool<T> {
        Pool { free: null_mut(), count: 0 }
    }

    /// Null if there is no memory.
    #[inline(always)]
    pub fn take(&mut self) -> *mut T {
        if self.free.is_null() {
            self.refill();
        }
        let taken = self.free;
        if !taken.is_null() {
            // SAFETY: a free record of this pool.
            self.free = unsafe { *T::next(taken) };
            self.count -= 1;
        }
        taken
    }

    /// # Safety
    /// The record came from such a pool and nothing refers to it any more.
    #[inline(always)]
    pub unsafe fn give(&mut self, record: *mut T) {
        // SAFETY: as demanded, the record is the pool's own from here on.
        unsafe { *T::next(record) = self.free };
        self.free = record;
        self.count += 1;
        if self.count > MOST {
            self.give_back();
        }
    }

    #[cold]
    fn refill(&mut self) {
        guard::guarded(|| {
            let mut shared = T::shared().lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if shared.free.is_null() {
                let has_place = shared.chunks.try_reserve(1).is_ok();
                let chunk = if has_place { memory::zeroed::<T>(CHUNK) } else { null_mut() };
                if chunk.is_null() {
                    return module::say_what_is_lost();
                }
                shared.chunks.push(chunk);
                for place in 0..CHUNK {
                    // SAFETY: inside of the chunk.
                    unsafe { self.put(chunk.add(place)) };
                }
                return;
            }
            while !shared.free.is_null() && self.count < CHUNK {
                let taken = shared.free;
                // SAFETY: a free record.
                shared.free = unsafe { *T::next(taken) };
                // SAFETY: as above; the other threads' list has it no more.
                unsafe { self.put(taken) };
            }
        });
    }

    unsafe fn put(&mut self, record: *mut T) {
        // SAFETY: a free record, which no other list has.
        unsafe { *T::next(record) = self.free };
        self.free = record;
        self.count += 1;
    }

    #[cold]
    fn give_back(&mut self) {
        guard::guarded(|| {
            while self.count > MOST / 2 {
                let record = self.free;
                // SAFETY: a free record of this pool.
                self.free = unsafe { *T::next(record) };
                self.count -= 1;
                // SAFETY: as above; this pool has it no more.
                unsafe { give_to_all(record) };
            }
        });
    }
}

/// Where a thread has no pool at hand.
///
/// # Safety
/// As for [`Pool::give`].
pub unsafe fn give_to_all<T: Pooled + 'static>(record: *mut T) {
    let mut shared = T::shared().lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    // SAFETY: as demanded, it is on no other list; this one is locked.
    unsafe { *T::next(record) = shared.free };
    shared.free = record;
}

/// Looks at every record that there is, those not in use among them.
pub fn each_operation(mut look: impl FnMut(*mut Operation)) {
    let shared = Operation::shared().lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for chunk in &shared.chunks {
        for place in 0..CHUNK {
            // SAFETY: inside of the chunk, which is never freed.
            look(unsafe { chunk.add(place) });
        }
    }
}

/// Puts that of a receive to those that wait for one.
///
/// # Safety
/// Nobody else uses it, and the entry is its own.
#[inline(always)]
pub unsafe fn put_spare(alike: *mut Alike, operation: *mut Operation) {
    // SAFETY: as demanded.
    unsafe {
        (*operation).next = (*alike).spare;
        (*alike).spare = operation;
        (*alike).spares = (*alike).spares.wrapping_add(1);
    }
}

/// Whether a record more may wait for the next receive.
#[inline(always)]
pub fn wants_spare(alike: &Alike) -> bool {
    alike.spares < MOST_SPARES
}

/// Takes the record for a receive that is posted out of those that wait for one. That of a send stays: most are done at once.
///
/// # Safety
/// It is the first one of its entry.
#[inline(always)]
pub unsafe fn take_spare(alike: *mut Alike, operation: *mut Operation) {
    // SAFETY: as demanded.
    unsafe {
        (*alike).spare = (*operation).next;
        (*alike).spares = (*alike).spares.wrapping_sub(1);
    }
}

/// It does not wait for the next operation of its kind: it goes on.
///
/// # Safety
/// Its post is this thread's.
#[inline(always)]
pub unsafe fn leave_spare(operation: *mut Operation) {
    // SAFETY: entries are never freed; only a post of this thread has its record for a spare one.
    unsafe {
        if let Some(alike) = (*operation).alike.as_mut()
            && alike.spare == operation
        {
            alike.spare = null_mut();
        }
    }
}

/// Its post does not return. It is counted when it completes, if it does.
#[cold]
pub unsafe fn abandon(operation: *mut Operation, thread: *mut Thread) {
    // SAFETY: the record is its post's until it is pending. A completion in another thread leaves these fields alone before that, and the
    // whole record after it.
    unsafe {
        (*operation).request.set(null_mut());
        (*operation).slot = null_mut();
        leave_spare(operation);
        if (*operation).buffer.0 != 0 {
            end_of_buffer(operation);
        }
        (*operation).begin_ticks = 0;
        if (*operation).begin_ns == 0 {
            (*operation).begin_ns = module::get().map_or(0, Module::now_ns);
        }
        if !become_pending(operation, true) {
            free(operation, thread);
        }
    }
}

/// Of what is in one piece, goes on, and may be looked for by its buffer. As long as a message is being posted, nobody does.
///
/// # Safety
/// The record is its post's, which this thread makes.
#[inline(always)]
pub unsafe fn end_of_buffer(operation: *mut Operation) {
    // SAFETY: as demanded.
    unsafe {
        (*operation).buffer.1 = (*operation).buffer.0.wrapping_add((*operation).bytes as usize);
    }
}

#[inline(always)]
pub unsafe fn become_pending(operation: *mut Operation, several_threads: bool) -> bool {
    // SAFETY: records are never freed, and the phase is atomic.
    unsafe {
        let place = &(*operation).now.phase;
        if several_threads {
            place.compare_exchange(phase::POSTING, phase::PENDING, Ordering::AcqRel, Ordering::Acquire).is_ok()
        } else {
            // Whoever sees that sees the request of this operation, not of an earlier one.
            place.store(phase::PENDING, Ordering::Release);
            true
        }
    }
}

/// Of receives. Few more can be on the short path at the same time ([`Pending`](super::pending::Pending)).
const MOST_SPARES: u8 = 40;

/// Leaves a record that is not used any more to the next operation of its kind, or to any. That of a send may be the spare one still; for
/// receives, of which many may go on at the same time, there are several. What more is there another entry may need.
///
/// # Safety
/// The entry is null, or that of the operation; the thread is this one's.
#[inline(always)]
pub unsafe fn give_back(operation: *mut Operation, alike: *mut Alike, thread: *mut Thread) {
    // SAFETY: as demanded; nobody else uses the record.
    unsafe {
        let arrives = (*operation).arrives.get();
        let is_needed = match arrives {
            _ if alike.is_null() => false,
            true => wants_spare(&*alike),
            false => (*alike).spare == operation || (*alike).spare.is_null(),
        };
        if is_needed {
            (*operation).failed = false;
            (*operation).begin_ns = 0;
            (*operation).now.is_known.set(false);
            (*operation).now.phase.store(phase::POSTING, Ordering::Release);
            if arrives {
                put_spare(alike, operation);
            } else {
                (*operation).next = null_mut();
                (*alike).spare = operation;
            }
        } else {
            (*thread).operations.give(operation);
        }
    }
}

#[inline(always)]
pub unsafe fn free(operation: *mut Operation, thread: *mut Thread) {
    // SAFETY: its post is over and left it to no callback, so it is this thread's to give back.
    unsafe {
        (*operation).now.phase.store(phase::FREE, Ordering::Relaxed);
        (*operation).generation.set((*operation).generation.get().wrapping_add(1));
        give_back(operation, (*operation).alike, thread);
    }
}
