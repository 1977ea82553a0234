//! The requests under each handle, oldest first. Libraries use a handle again as soon as it is free, so a slot keeps its handle when its
//! request is gone: the next one finds it by the same comparison, and nothing is moved.

use std::collections::VecDeque;
use std::ptr;

use commsee_runtime::memory::boxed;
use commsee_runtime::table::{self, Finder, Owned};

use super::request::{Extra, Kind, Request, State};
use crate::mpi::abi::Word;
use crate::objects::records::{self, Record};
use crate::shard::memory;

/// No handle of any family.
const EMPTY: Word = Word::MAX;
const FIRST_SLOTS: usize = 32;
/// So many digits of a handle's hash choose a table among those of several threads.
pub const SHARD_BITS: u32 = 5;

/// The oldest request of a handle, and what stands behind it: one cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Slot {
    handle: Word,
    /// With those like it that follow ([`Request::posted`]).
    pub first: Request,
    /// Null, or the others, those that are alike as a number. Kept when it is empty.
    behind: *mut VecDeque<Request>,
}

const _: () = assert!(size_of::<Slot>() == 64);

pub struct Table {
    slots: Option<Owned<Slot>>,
}

// SAFETY: of what slots point to, `Request::for_thread` leaves out what is one thread's own.
unsafe impl Send for Table {}

/// Other digits than those that have chosen the table.
#[inline(always)]
fn hash_of(handle: Word) -> u64 {
    table::hash(handle as u64) << SHARD_BITS
}

impl Table {
    pub const fn none() -> Table {
        Table { slots: None }
    }

    /// What it takes to find slots, until the first is put in.
    #[inline(always)]
    pub fn finder(&self) -> Option<Finder<'_, Slot>> {
        Some(self.slots.as_ref()?.finder())
    }

    /// The slot of a handle, which may have no request.
    #[inline(always)]
    pub fn slot(&mut self, handle: Word) -> Option<&mut Slot> {
        slot_in(&self.finder()?, handle)
    }

    /// The slot of a handle that has a request.
    #[inline(always)]
    pub fn busy_slot(&mut self, handle: Word) -> Option<&mut Slot> {
        self.slot(handle).filter(|slot| slot.first.state != State::Gone)
    }

    /// Puts the first request of a handle in.
    #[cold]
    #[inline(never)]
    pub fn insert(&mut self, handle: Word, first: Request) {
        let slot = Slot { handle, first, behind: ptr::null_mut() };
        if self.put(slot).is_none() {
            drop(Request { ..first }.take_extra());
            memory::lose_call();
        }
    }

    fn put(&mut self, slot: Slot) -> Option<()> {
        if self.slots.is_none() {
            self.slots = Some(Owned::new(FIRST_SLOTS)?);
        }
        let slots = self.slots.as_ref()?;
        let hash = |slot: &Slot| hash_of(slot.handle);
        let has_room = slots.len() * 2 < slots.capacity() || {
            slots.sweep(Slot::is_left, hash);
            // With few left ones they would soon be looked for again.
            slots.len() * 4 <= slots.capacity() || slots.enlarge(&hash) || slots.len() * 8 < slots.capacity() * 7
        };
        has_room.then(|| slots.insert(hash(&slot), slot))
    }
}

/// The same.
#[inline(always)]
pub fn slot_in<'a>(finder: &Finder<'a, Slot>, handle: Word) -> Option<&'a mut Slot> {
    let slot = finder.find(hash_of(handle), |slot| slot.handle == handle)?;
    // SAFETY: it is there as long as the table is borrowed.
    Some(unsafe { &mut *slot })
}

impl Slot {
    /// Whether it has no request; then it has nothing else either.
    fn is_left(&self) -> bool {
        let is_left = self.first.state == State::Gone;
        if is_left && !self.behind.is_null() {
            // SAFETY: made by `behind`, and swept once.
            drop(unsafe { Box::from_raw(self.behind) });
        }
        is_left
    }

    /// What stands behind the first, with room for one more.
    fn room(&mut self) -> Option<&mut VecDeque<Request>> {
        if self.behind.is_null() {
            self.behind = Box::into_raw(boxed(VecDeque::new())?);
        }
        // SAFETY: made here, and freed with the slot.
        let behind = unsafe { self.behind.as_mut() }?;
        if behind.len() == behind.capacity() {
            memory::asked(|| behind.try_reserve(1)).ok()?;
        }
        Some(behind)
    }

    /// Whether others stand behind the first and those like it.
    #[inline(always)]
    pub fn has_others(&self) -> bool {
        // SAFETY: as above.
        !self.behind.is_null() && unsafe { !(*self.behind).is_empty() }
    }

    /// A request starts that leaves nothing to be done, and is like those that have this handle. Returns whether it is.
    #[inline(always)]
    pub fn start_alike(&mut self, request: &Request) -> bool {
        let is_alike = self.first.is_like(request) && !self.has_others();
        if is_alike {
            self.first.posted += 1;
        }
        is_alike
    }

    /// A request starts that got this handle, which others have. `is_within`: in another call, which may have got it, too.
    #[inline(never)]
    pub fn start(&mut self, request: Request, is_within: bool) {
        // A receive keeps its own status, and so has its handle for itself. What stands under that of a new one, and a receive that stands
        // under that of whatever is new, was completed where nobody saw it: past the profiler (`PMPI_Wait`), or by a call that was left. One
        // from nobody brings nothing, and Open MPI gives its handle to sends that are complete at once, too.
        let is_own = request.kind == Kind::Receive && request.comm != records::none();
        while !is_within && self.first.state != State::Gone && (is_own || self.first.kind == Kind::Receive) {
            drop(self.take().take_extra());
        }
        if self.first.state == State::Gone {
            self.first = request;
        } else if !self.start_alike(&request) && self.push(request).is_none() {
            drop(Request { ..request }.take_extra());
            memory::lose_call();
        }
    }

    fn push(&mut self, request: Request) -> Option<()> {
        let behind = self.room()?;
        // In the order of each thread.
        match behind.iter_mut().rfind(|other| other.thread == request.thread) {
            Some(last) if last.is_like(&request) => last.posted += 1,
            _ => behind.push_back(request),
        }
        Some(())
    }

    /// The communicator of all requests of the handle, and their kinds, if they are of one, and active; no communicator where it is a persistent one
    /// that is not started.
    #[inline(always)]
    pub fn peek(&self) -> Option<(Record, u8)> {
        if !self.first.is_active() {
            // A persistent one has its handle for itself.
            return (self.first.state == State::Inactive).then_some((ptr::null_mut(), 0));
        }
        let found = (self.first.comm, self.first.kind as u8);
        if self.has_others() { self.peek_behind(found) } else { Some(found) }
    }

    #[inline(never)]
    fn peek_behind(&self, (comm, kinds): (Record, u8)) -> Option<(Record, u8)> {
        // SAFETY: as above.
        let mut others = unsafe { self.behind.as_ref() }?.iter();
        others.try_fold((comm, kinds), |(comm, kinds), other| {
            (other.comm == comm && other.is_active()).then_some((comm, kinds | other.kind as u8))
        })
    }

    /// Whether all requests of the handle are active, and alike.
    #[inline(always)]
    pub fn is_alone(&self) -> bool {
        self.first.is_active() && !self.has_others()
    }

    /// Takes one of those that are alike. A persistent one stays.
    ///
    /// # Safety
    /// There is room for it.
    #[inline(always)]
    pub unsafe fn take_into(&mut self, place: *mut Request) {
        let first = &mut self.first;
        // SAFETY: as demanded.
        unsafe { place.copy_from_nonoverlapping(first, 1) };
        if first.state == State::Active {
            if first.kind == Kind::Plain && first.posted != 0 {
                first.posted -= 1;
                // SAFETY: as above.
                unsafe { (*place).posted = 0 };
            } else {
                first.state = State::Gone;
            }
        }
    }

    /// Takes the oldest request of the thread out, or else the oldest of all, persistent or not.
    #[inline(never)]
    pub fn take_of(&mut self, thread: u16) -> Request {
        // SAFETY: as above.
        let behind = unsafe { self.behind.as_mut() }.filter(|_| self.first.thread != thread);
        if let Some(behind) = behind
            && let Some(place) = behind.iter().position(|request| request.thread == thread)
        {
            return take_one(&mut behind[place]).unwrap_or_else(|last| {
                behind.remove(place);
                last
            });
        }
        self.take()
    }

    /// Takes the request out that has this.
    pub fn remove(&mut self, extra: *mut Extra) -> Option<Request> {
        if self.first.extra == extra {
            return Some(self.take());
        }
        // SAFETY: as above.
        let behind = unsafe { self.behind.as_mut() }?;
        behind.remove(behind.iter().position(|request| request.extra == extra)?)
    }

    /// Takes the oldest request out. The next one takes its place.
    pub fn take(&mut self) -> Request {
        take_one(&mut self.first).unwrap_or_else(|last| {
            // SAFETY: as above.
            match unsafe { self.behind.as_mut() }.and_then(VecDeque::pop_front) {
                Some(next) => self.first = next,
                None => self.first.state = State::Gone,
            }
            last
        })
    }

    /// One that was taken comes back, in front of the others.
    #[inline(never)]
    pub fn put_back(&mut self, request: &Request) {
        if self.first.state != State::Gone && self.first.is_like(request) {
            self.first.posted += 1;
            return;
        }
        let next = std::mem::replace(&mut self.first, *request);
        if next.state != State::Gone {
            match self.room() {
                Some(behind) => behind.push_front(next),
                None => {
                    drop(Request { ..next }.take_extra());
                    memory::lose_call();
                }
            }
        }
    }
}

/// One of those that are alike. An error is the last, which is still there.
fn take_one(request: &mut Request) -> Result<Request, Request> {
    let taken = *request;
    if taken.kind != Kind::Plain || !taken.extra.is_null() || taken.posted == 0 {
        return Err(taken);
    }
    request.posted -= 1;
    Ok(Request { posted: 0, ..taken })
}

impl table::Slot for Slot {
    const EMPTY: Slot = Slot {
        handle: EMPTY,
        first: Request { state: State::Gone, ..Request::new(0, ptr::null_mut(), Kind::Plain) },
        behind: ptr::null_mut(),
    };
    const KEY_FIRST: bool = true;

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.handle == EMPTY
    }

    #[inline(always)]
    fn clear(&mut self) {
        self.handle = EMPTY;
    }
}
