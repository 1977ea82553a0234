//! What a call over several requests must remember of them: kept here, so that no call allocates. A callback may complete requests in the
//! midst of such a call, so each level of calls has its own.

use std::cell::Cell;
use std::ffi::c_int;
use std::{ptr, slice};

use vocabulary::shard::IN_FLIGHT_LEVELS;

use crate::mpi::abi::{Word, abi};
use crate::objects::requests::{Map, Noted};
use crate::shard::memory;

/// How many requests there is room for at least.
const FIRST: usize = 16;

pub struct Looks {
    levels: [Look; IN_FLIGHT_LEVELS],
}

/// What the call of one level has found in its array.
pub struct Look {
    room: Room<Noted>,
    /// As the call was given them.
    handles: Room<Word>,
    /// Of as many requests as there is room for.
    statuses: Room<u64>,
    array: Cell<Word>,
    /// How many requests the call was given.
    length: Cell<usize>,
    /// How many of them are noted.
    count: Cell<usize>,
    /// None is noted: each is in the map still, and the only one of its handle.
    is_peeked: Cell<bool>,
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
        Look {
            room: Room::none(),
            handles: Room::none(),
            statuses: Room::none(),
            array: Cell::new(0),
            length: Cell::new(0),
            count: Cell::new(0),
            is_peeked: Cell::new(false),
        }
    }

    /// A call begins to look at an array. False where nothing can be found: there is no memory for it, no array, or nothing in it.
    #[inline(always)]
    pub fn begin(&self, array: Word, length: c_int) -> bool {
        let given = length as u32 as usize;
        let can_be_noted = array != 0 && (given.wrapping_sub(1) < self.room.length.get() || self.enlarge(length));
        self.array.set(array);
        self.length.set(if can_be_noted { given } else { 0 });
        // A jump may have left the latest call in the midst.
        self.note(0);
        can_be_noted
    }

    #[cold]
    #[inline(never)]
    fn enlarge(&self, length: c_int) -> bool {
        // As many as a program can ask for: what it passed may be less than none.
        if length <= 0 {
            return false;
        }
        let length = (length as usize).next_power_of_two().max(FIRST);
        let statuses = (length * abi().status.bytes).div_ceil(size_of::<u64>());
        self.statuses.of(statuses) && self.handles.of(length) && self.room.of(length)
    }

    #[inline(always)]
    pub fn array(&self) -> Word {
        self.array.get()
    }

    #[inline(always)]
    pub fn length(&self) -> usize {
        self.length.get()
    }

    /// Room for the requests of the call.
    #[inline(always)]
    pub fn room(&self) -> *mut Noted {
        self.room.place.get()
    }

    #[inline(always)]
    pub fn handles(&self) -> *mut Word {
        self.handles.place.get()
    }

    #[inline(always)]
    pub fn statuses(&self) -> Word {
        self.statuses.place.get() as Word
    }

    /// So many of the room were written.
    #[inline(always)]
    pub fn note(&self, count: usize) {
        self.count.set(count);
        self.is_peeked.set(false);
    }

    /// The handles were written, and all requests are still in the map.
    #[inline(always)]
    pub fn leave_in_map(&self) {
        self.is_peeked.set(true);
    }

    #[inline(always)]
    pub fn is_peeked(&self) -> bool {
        self.is_peeked.get()
    }

    /// Those that are followed, in the order of the array.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub fn noted(&self) -> &mut [Noted] {
        let count = self.count.get();
        // SAFETY: so many were written, and nobody else writes there before the call of this level has returned; a caller keeps one at a time.
        if count == 0 { &mut [] } else { unsafe { slice::from_raw_parts_mut(self.room(), count) } }
    }

    /// Those go back into the map that the call has not completed.
    #[inline(always)]
    pub fn put_back(&self) {
        if self.count.get() != 0 {
            self.put_back_each();
        }
    }

    #[inline(never)]
    fn put_back_each(&self) {
        // Those that are null the library has freed, in a call that was left by an exception.
        // SAFETY: the array has so many handles.
        let is_there = |noted: &&Noted| unsafe { abi().load_at(self.array(), noted.index) } != abi().request_null;
        // Each in front of the others.
        let noted: &[Noted] = self.noted();
        noted.iter().rev().filter(is_there).for_each(Noted::put_back);
        self.forget();
    }

    /// None is left to be put back.
    #[inline(always)]
    pub fn forget(&self) {
        self.count.set(0);
    }

    /// The request at a place of the array, if it is active, and has not completed yet.
    pub fn at(&self, thread: u16, index: usize) -> Option<Noted> {
        let mut found = Noted::none();
        if self.is_peeked() {
            // SAFETY: so many were written; there is room for one.
            unsafe {
                let handle = self.handles().add(index).read();
                Map::enter().take(thread, handle, index, &mut found, false);
            }
        } else if let Ok(place) = self.noted().binary_search_by_key(&index, |noted| noted.index) {
            found = self.noted()[place];
        }
        found.request.is_active().then_some(found)
    }

    /// What has become of it.
    pub fn put_at(&self, noted: Noted) {
        if self.is_peeked() {
            noted.put_back();
        } else if let Ok(place) = self.noted().binary_search_by_key(&noted.index, |noted| noted.index) {
            self.noted()[place] = noted;
        }
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
