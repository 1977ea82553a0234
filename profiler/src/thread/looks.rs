//! Room for what a call over several requests must remember of them: kept here, so that no call allocates. A callback may complete
//! requests in the midst of such a call, so there is room for each level of calls.

use std::cell::Cell;
use std::ffi::c_int;
use std::hint::assert_unchecked;
use std::{ptr, slice};

use vocabulary::shard::IN_FLIGHT_LEVELS;

use crate::guest::latest::{Latest, in_order};
use crate::guest::short_path::Path;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::Record;
use crate::objects::requests::Noted;
use crate::shard::memory;

/// How many requests there is room for at least.
const FIRST: usize = 16;

pub struct Looks {
    levels: [Look; IN_FLIGHT_LEVELS],
    /// A persistent request that a call over one was given while it was not started, and the changes of requests by then.
    inactive: Latest<Word, ()>,
}

/// What calls of one level need.
pub struct Look {
    noted: Room<Noted>,
    /// Of as many requests as there is room for.
    statuses: Room<u64>,
    /// Address of the array that was noted, or 0.
    array: Cell<Word>,
    length: Cell<c_int>,
    /// The handles that it held.
    handles: Room<u8>,
    /// The changes of requests by then.
    changes: Cell<u64>,
    /// The record that was found, how many were noted, those that were crossed out since included, and whether there are receives among them.
    found: Cell<(Record, usize, bool)>,
    /// How many of these have completed since then, and are crossed out.
    completed: Cell<usize>,
    /// Where several threads call MPI: that with which the latest look has marked what it found.
    stamp: Cell<u64>,
}

struct Room<T> {
    place: Cell<*mut T>,
    length: Cell<usize>,
}

impl Looks {
    pub const fn none() -> Looks {
        Looks { levels: [const { Look::none() }; IN_FLIGHT_LEVELS], inactive: Latest::none(0, ()) }
    }

    /// `level` is below `IN_FLIGHT_LEVELS`.
    #[inline(always)]
    pub fn at(&self, level: usize) -> &Look {
        &self.levels[level % IN_FLIGHT_LEVELS]
    }

    /// Whether this is that request, and none has changed since.
    #[inline(always)]
    pub fn is_inactive(&self, handle: Word, changes: u64) -> bool {
        self.inactive.get(handle, changes).is_some()
    }

    pub fn note_inactive(&self, handle: Word, changes: u64) {
        self.inactive.keep(handle, changes, ());
    }
}

impl Look {
    const fn none() -> Look {
        Look {
            noted: Room::none(),
            statuses: Room::none(),
            array: Cell::new(0),
            length: Cell::new(0),
            handles: Room::none(),
            changes: Cell::new(0),
            found: Cell::new((ptr::null_mut(), 0, false)),
            completed: Cell::new(0),
            stamp: Cell::new(0),
        }
    }

    #[inline(always)]
    pub fn marked_with(&self, stamp: u64) {
        self.stamp.set(stamp);
    }

    #[inline(always)]
    pub fn is_marked_with(&self, stamp: u64) -> bool {
        self.stamp.get() == stamp
    }

    /// Whether this array of `length` handles is the latest one that was noted, holds what it held then, and no request has changed since.
    ///
    /// # Safety
    /// There is such an array.
    #[inline(always)]
    pub unsafe fn is_of(&self, array: Word, length: c_int, handle_bytes: usize, changes: u64) -> bool {
        if array == 0 || !self.is_for(array) || self.length.get() != length || self.changes.get() != changes {
            return false;
        }
        // SAFETY: as demanded; so many were kept.
        unsafe {
            let bytes = length as usize * handle_bytes;
            slice::from_raw_parts(array as *const u8, bytes) == slice::from_raw_parts(self.handles.place.get(), bytes)
        }
    }

    /// What was found in it: the record, how many were noted, and whether there are receives among them.
    #[inline(always)]
    pub fn found(&self) -> (Record, usize, bool) {
        self.found.get()
    }

    /// Whether it is kept for this array.
    #[inline(always)]
    pub fn is_for(&self, array: Word) -> bool {
        self.array.get() == array
    }

    #[inline(always)]
    pub fn length(&self) -> c_int {
        self.length.get()
    }

    #[inline(always)]
    pub fn changes(&self) -> u64 {
        self.changes.get()
    }

    /// Keeps what was found, for the next look.
    ///
    /// # Safety
    /// There is such an array, of more than no handle.
    pub unsafe fn keep(
        &self,
        array: Word,
        length: usize,
        handle_bytes: usize,
        changes: u64,
        found: (Record, usize, bool),
    ) {
        let bytes = length * handle_bytes;
        let Some(handles) = self.handles.of(bytes) else { return };
        // SAFETY: as demanded; there is room for so many.
        unsafe { ptr::copy_nonoverlapping(array as *const u8, handles, bytes) };
        self.length.set(length as c_int);
        self.changes.set(changes);
        self.found.set(found);
        self.completed.set(0);
        // It was forgotten when it was looked at: now all of it is there.
        in_order();
        self.array.set(array);
    }

    /// Of those that are kept the one at this place of what was noted has completed: it is crossed out. Otherwise the array is as it was,
    /// but that its handle may be null now.
    ///
    /// # Safety
    /// So many were noted, and so many handles kept.
    #[inline(always)]
    pub unsafe fn complete<P: Path>(&self, place: usize, handle: Word, changes: u64) {
        // SAFETY: as demanded.
        unsafe {
            let noted = &mut *self.noted.place.get().add(place);
            noted.cross_out();
            abi().store_at_on::<P>(self.handles.place.get() as Word, noted.index(), handle);
        }
        self.completed.set(self.completed.get() + 1);
        in_order();
        self.changes.set(changes);
    }

    /// How many of those that are kept have completed since they were noted, and are crossed out.
    #[inline(always)]
    pub fn completed(&self) -> usize {
        if self.is_kept() { self.completed.get() } else { 0 }
    }

    /// Whether the latest look is kept.
    #[inline(always)]
    pub fn is_kept(&self) -> bool {
        self.array.get() != 0
    }

    /// What is noted now is another array's.
    #[inline(always)]
    pub fn forget(&self) {
        self.array.set(0);
        in_order();
    }

    /// Room for so many requests and their statuses. Null where there is no memory for it, or they are none.
    #[inline(always)]
    pub fn noted(&self, length: usize) -> *mut Noted {
        if length.wrapping_sub(1) >= self.noted.length.get() {
            return self.enlarge(length);
        }
        let place = self.noted.place.get();
        // SAFETY: there is room for one.
        unsafe { assert_unchecked(!place.is_null()) };
        place
    }

    #[cold]
    #[inline(never)]
    fn enlarge(&self, length: usize) -> *mut Noted {
        // As many as a program can ask for: what it passed may be less than none.
        let Some(length) = c_int::try_from(length).ok().filter(|length| *length > 0) else { return ptr::null_mut() };
        let length = (length as usize).next_power_of_two().max(FIRST);
        let statuses = self.statuses.of((length * abi().status.bytes).div_ceil(size_of::<u64>()));
        statuses.and_then(|_| self.noted.of(length)).unwrap_or(ptr::null_mut())
    }

    /// What was noted.
    #[inline(always)]
    pub fn first_noted(&self) -> *const Noted {
        self.noted.place.get()
    }

    /// Takes some of so many out of what was noted, or the first that is one, and returns how many are left.
    ///
    /// # Safety
    /// So many were noted.
    #[inline(always)]
    pub unsafe fn take_out(&self, count: usize, is_one: impl Fn(&Noted) -> bool, is_only_one: bool) -> usize {
        let first = self.noted.place.get();
        let (mut from, mut to) = (0, 0);
        while from < count {
            // SAFETY: as demanded.
            unsafe {
                if !is_one(&*first.add(from)) {
                    if from != to {
                        *first.add(to) = *first.add(from);
                    }
                    to += 1;
                } else if is_only_one {
                    ptr::copy(first.add(from + 1), first.add(from), count - from - 1);
                    return count - 1;
                }
            }
            from += 1;
        }
        to
    }

    /// Room for the statuses of as many requests as [`Look::noted`] has made room for.
    #[inline(always)]
    pub fn statuses(&self) -> *mut u64 {
        self.statuses.place.get()
    }

    /// The statuses to pass on: the program's, or ours where it ignores them and messages may
    /// arrive.
    #[inline(always)]
    pub fn stand_in<P: Path>(&self, receives: bool, statuses: Word) -> Word {
        let ignores = || statuses == abi().status_ignore_on::<P>();
        if receives && ignores() { self.statuses() as Word } else { statuses }
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
        let length = length.checked_next_power_of_two()?.max(FIRST);
        let Some(place) = memory::array::<T>(length) else {
            memory::lose_call();
            return None;
        };
        let (old, old_length) = (self.place.get(), self.length.get());
        self.place.set(place.as_ptr());
        in_order();
        self.length.set(length);
        in_order();
        // SAFETY: it came from `array` with this length, or there was none.
        unsafe { commsee_runtime::memory::free(old, old_length) };
        Some(place.as_ptr())
    }
}
