//! Room for what a call over several requests must remember of them: kept here, so that no call allocates. A callback may complete
//! requests in the midst of such a call, so there is room for each level of calls.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;

use vocabulary::shard::IN_FLIGHT_LEVELS;

use crate::mpi::abi::{Word, abi};
use crate::objects::requests::Noted;
use crate::shard::memory;

/// How many requests there is room for at least.
const FIRST: usize = 16;

pub struct Looks {
    levels: [Look; IN_FLIGHT_LEVELS],
}

/// What calls of one level need.
pub struct Look {
    noted: Room<Noted>,
    /// As the call was given them.
    handles: Room<Word>,
    /// Of as many requests as there is room for.
    statuses: Room<u64>,
}

struct Room<T> {
    place: Cell<*mut T>,
    length: Cell<usize>,
}

impl Looks {
    pub const fn none() -> Looks {
        Looks { levels: [const { Look::none() }; IN_FLIGHT_LEVELS] }
    }

    /// `level` is below `IN_FLIGHT_LEVELS`.
    #[inline(always)]
    pub fn at(&self, level: usize) -> &Look {
        &self.levels[level % IN_FLIGHT_LEVELS]
    }
}

impl Look {
    const fn none() -> Look {
        Look { noted: Room::none(), handles: Room::none(), statuses: Room::none() }
    }

    /// Sees to it that there is room for so many requests. False where there is no memory for it, or they are none.
    #[inline(always)]
    pub fn has_room(&self, length: c_int) -> bool {
        let length = length as u32 as usize;
        length.wrapping_sub(1) < self.noted.length.get() || self.enlarge(length)
    }

    #[cold]
    #[inline(never)]
    fn enlarge(&self, length: usize) -> bool {
        // As many as a program can ask for: what it passed may be less than none.
        let Some(length) = c_int::try_from(length).ok().filter(|length| *length > 0) else { return false };
        let length = (length as usize).next_power_of_two().max(FIRST);
        let statuses = (length * abi().status.bytes).div_ceil(size_of::<u64>());
        self.statuses.of(statuses) && self.handles.of(length) && self.noted.of(length)
    }

    #[inline(always)]
    pub fn noted(&self) -> *mut Noted {
        self.noted.place.get()
    }

    #[inline(always)]
    pub fn handles(&self) -> *mut Word {
        self.handles.place.get()
    }

    #[inline(always)]
    pub fn statuses(&self) -> Word {
        self.statuses.place.get() as Word
    }

    /// The statuses to pass on: the program's, or ours where it ignores them and messages may arrive.
    #[inline(always)]
    pub fn stand_in(&self, receives: bool, statuses: Word) -> Word {
        if receives && statuses == abi().status_ignore { self.statuses() } else { statuses }
    }
}

impl<T> Room<T> {
    const fn none() -> Room<T> {
        Room { place: Cell::new(ptr::null_mut()), length: Cell::new(0) }
    }

    fn of(&self, length: usize) -> bool {
        let (old, old_length) = (self.place.get(), self.length.get());
        if length <= old_length {
            return true;
        }
        let Some(place) = memory::array::<T>(length) else {
            memory::lose_call();
            return false;
        };
        self.length.set(0);
        self.place.set(place.as_ptr());
        self.length.set(length);
        // SAFETY: it came from `array` with this length, or there was none.
        unsafe { commsee_runtime::memory::free(old, old_length) };
        true
    }
}
