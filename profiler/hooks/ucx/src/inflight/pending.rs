//! What is pending on a worker. The youngest operations stand in a few slots, which costs next to nothing; most are over before they
//! have to go on to the index.

use std::ptr::null_mut;

use super::index::{Index, What};
use super::operation::Operation;
use super::thread::{Answer, Link};

/// One-sided operations that were posted last and complete by no callback.
const RECENT: usize = 64;
const SLOTS: usize = 32;
/// Answers for which it shows only later to what they belong.
const ORPHANS: usize = 64;

/// Such an operation: its buffer here and there.
#[derive(Clone, Copy)]
pub struct Recent {
    pub near: (usize, usize),
    pub far: (u64, u64),
    pub link: Link,
}

pub struct Pending {
    youngest: [*mut Operation; SLOTS],
    next_slot: usize,
    index: Index,
    recent: [Recent; RECENT],
    next_recent: usize,
    /// So many of them were written: none in programs without such operations.
    recent_count: usize,
    orphans: [Option<Answer>; ORPHANS],
    next_orphan: usize,
    request_bytes: usize,
}

impl Pending {
    /// None if there is no memory.
    pub fn new(request_bytes: usize) -> Option<Pending> {
        let none = Recent { near: (0, 0), far: (0, 0), link: Link::NONE };
        Some(Pending {
            youngest: [null_mut(); SLOTS],
            next_slot: 0,
            index: Index::new()?,
            recent: [none; RECENT],
            next_recent: 0,
            recent_count: 0,
            orphans: [None; ORPHANS],
            next_orphan: 0,
            request_bytes,
        })
    }

    /// # Safety
    /// The operation stays until [`Pending::take_out`], and this where it is.
    #[inline(always)]
    pub unsafe fn put(&mut self, operation: *mut Operation) {
        let slot = &raw mut self.youngest[self.next_slot % SLOTS];
        // SAFETY: what stands in a slot is in use: it stays until it is taken out, which empties the slot.
        unsafe {
            let older = *slot;
            if !older.is_null() {
                (*older).slot = null_mut();
                (*older).now.is_known.set(false);
                self.file(older);
            }
            self.put_at(slot, operation);
        }
    }

    /// The same where that takes the place of no other. False where it would.
    ///
    /// # Safety
    /// As above.
    #[inline(always)]
    pub unsafe fn put_in_free_slot(&mut self, operation: *mut Operation) -> bool {
        let slot = &raw mut self.youngest[self.next_slot % SLOTS];
        // SAFETY: as above.
        unsafe {
            let is_free = (*slot).is_null();
            if is_free {
                self.put_at(slot, operation);
            }
            is_free
        }
    }

    #[inline(always)]
    unsafe fn put_at(&mut self, slot: *mut *mut Operation, operation: *mut Operation) {
        self.next_slot = self.next_slot.wrapping_add(1);
        // SAFETY: one of the slots.
        unsafe {
            *slot = operation;
            (*operation).slot = slot;
        }
    }

    #[cold]
    unsafe fn file(&mut self, operation: *mut Operation) {
        for what in [What::Request, What::Buffer] {
            // SAFETY: as for `put`.
            unsafe {
                let (low, high) = self.interval(operation, what);
                self.index.put(operation, what, low, high);
            }
        }
    }

    /// libucp's record of a request lies before what the program got. A receive's takes no part in what UCT does.
    unsafe fn interval(&self, operation: *mut Operation, what: What) -> (usize, usize) {
        // SAFETY: the operation is pending: its post has written these fields, and nobody writes them until it is taken out.
        unsafe {
            match what {
                What::Buffer => (*operation).buffer,
                What::Request if (*operation).arrives.get() => (0, 0),
                What::Request => {
                    let high = (*operation).request.get() as usize;
                    (high.wrapping_sub(self.request_bytes), high)
                }
            }
        }
    }

    /// # Safety
    /// It was put in here.
    #[inline(always)]
    pub unsafe fn take_out(&mut self, operation: *mut Operation) {
        // SAFETY: as demanded; its slot tells where it was put.
        unsafe {
            match (*operation).slot.as_mut() {
                Some(slot) => *slot = null_mut(),
                None => self.index.take_out(operation),
            }
        }
    }

    /// The operation with that around the address. Of several, one for which `fits`, the oldest of them.
    ///
    /// # Safety
    /// Operations in here are in use.
    pub unsafe fn find(
        &self,
        what: What,
        address: usize,
        fits: impl Fn(*mut Operation) -> bool,
    ) -> Option<*mut Operation> {
        // SAFETY: as demanded; the index holds no others than these either.
        unsafe {
            let indexed = self.index.find(what, address, &fits);
            if let Some(operation) = indexed
                && fits(operation)
            {
                return indexed;
            }
            // From the oldest to the youngest.
            let mut found = indexed;
            for step in 0..SLOTS {
                let operation = self.youngest[(self.next_slot.wrapping_add(step)) % SLOTS];
                if operation.is_null() {
                    continue;
                }
                let (low, high) = self.interval(operation, what);
                if low <= address && address < high {
                    if fits(operation) {
                        return Some(operation);
                    }
                    found = found.or(Some(operation));
                }
            }
            found
        }
    }

    pub fn remember(&mut self, recent: Recent) {
        self.recent[self.next_recent % RECENT] = recent;
        self.next_recent = self.next_recent.wrapping_add(1);
        self.recent_count = (self.recent_count + 1).min(RECENT);
    }

    pub fn recall(&self, near: usize, far: u64) -> Option<Link> {
        let within = |(low, high): (usize, usize), address| low <= address && address < high;
        let last = self.next_recent.wrapping_add(RECENT - 1);
        (0..self.recent_count).map(|back| &self.recent[last.wrapping_sub(back) % RECENT]).find_map(|recent| {
            let there = recent.far.0 <= far && far < recent.far.1;
            (there || (near != 0 && within(recent.near, near))).then_some(recent.link)
        })
    }

    /// Keeps an answer until its own comes. Returns one that has waited too long.
    pub fn expect(&mut self, answer: Answer) -> Option<Answer> {
        let place = self.next_orphan % ORPHANS;
        self.next_orphan = self.next_orphan.wrapping_add(1);
        self.orphans[place].replace(answer)
    }

    pub fn expected(&mut self, number: u64) -> Option<Answer> {
        let is_it = |orphan: &&mut Option<Answer>| orphan.as_ref().is_some_and(|answer| answer.number == number);
        self.orphans.iter_mut().find(is_it)?.take()
    }
}
