//! Room for what a call over several requests must remember of them: kept here, so that no call allocates. A callback may complete
//! requests in the midst of such a call, so there is room for each level of calls.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;

use vocabulary::shard::IN_FLIGHT_LEVELS;

use crate::mpi::abi::Word;
use crate::objects::communicators::Record;
use crate::objects::requests::Noted;
use crate::shard::memory;

pub struct Looks([Look; IN_FLIGHT_LEVELS]);

/// What calls of one level need.
pub struct Look {
    noted: Room<Noted>,
    statuses: Room<u64>,
    /// Address and length of the array that was noted, and the changes of requests by then.
    array: Cell<(Word, c_int, u64)>,
    /// What was found.
    found: Cell<(Record, usize)>,
}

struct Room<T> {
    place: Cell<*mut T>,
    length: Cell<usize>,
}

impl Looks {
    pub const fn none() -> Looks {
        Looks([const { Look::none() }; IN_FLIGHT_LEVELS])
    }

    /// `level` is below `IN_FLIGHT_LEVELS`.
    #[inline(always)]
    pub fn at(&self, level: usize) -> &Look {
        &self.0[level % IN_FLIGHT_LEVELS]
    }
}

impl Look {
    const fn none() -> Look {
        Look {
            noted: Room::none(),
            statuses: Room::none(),
            array: Cell::new((0, 0, 0)),
            found: Cell::new((ptr::null_mut(), 0)),
        }
    }

    /// What was found in this array, if it is the latest one that was noted, and no request has changed since.
    #[inline(always)]
    pub fn found(&self, array: Word, length: c_int, changes: u64) -> Option<(Record, usize)> {
        if self.array.get() == (array, length, changes) && array != 0 { Some(self.found.get()) } else { None }
    }

    #[inline(always)]
    pub fn keep(&self, array: Word, length: c_int, changes: u64, found: (Record, usize)) {
        self.array.set((array, length, changes));
        self.found.set(found);
    }

    /// What is noted now is another array's.
    #[inline(always)]
    pub fn forget(&self) {
        self.array.set((0, 0, 0));
    }

    /// Room for so many requests. None where there is no memory for it.
    #[inline(always)]
    pub fn noted(&self, length: usize) -> Option<*mut Noted> {
        self.noted.of(length)
    }

    /// What was noted.
    #[inline(always)]
    pub fn first_noted(&self) -> *const Noted {
        self.noted.place.get()
    }

    /// Room for statuses, in words.
    #[inline(always)]
    pub fn statuses(&self, words: usize) -> Option<*mut u64> {
        self.statuses.of(words)
    }
}

impl<T> Room<T> {
    const fn none() -> Room<T> {
        Room { place: Cell::new(ptr::null_mut()), length: Cell::new(0) }
    }

    #[inline(always)]
    fn of(&self, length: usize) -> Option<*mut T> {
        if length <= self.length.get() { Some(self.place.get()) } else { self.enlarge(length) }
    }

    #[cold]
    #[inline(never)]
    fn enlarge(&self, length: usize) -> Option<*mut T> {
        let length = length.checked_next_power_of_two()?.max(16);
        let Some(place) = memory::array::<T>(length) else {
            memory::lose_call();
            return None;
        };
        // SAFETY: it came from `array` with this length, or there is none yet.
        unsafe { commsee_runtime::memory::free(self.place.get(), self.length.get()) };
        self.place.set(place.as_ptr());
        self.length.set(length);
        Some(place.as_ptr())
    }
}
