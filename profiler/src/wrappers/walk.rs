//! The way along an array of requests: what each is, of which communicator, and where that is known.

use std::slice;

use vocabulary::shard::BUCKET_INVOLVED;

use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::{self, Record};
use crate::objects::requests::slot::Slot;
use crate::objects::requests::{self, Held, Kind, Noted, State};
use crate::record::tally;
use crate::thread::Thread;

/// A handle as it stands in an array.
pub trait Handle: Copy {
    fn word(self) -> Word;
}

impl Handle for u32 {
    #[inline(always)]
    fn word(self) -> Word {
        self as Word
    }
}

impl Handle for u64 {
    #[inline(always)]
    fn word(self) -> Word {
        self as Word
    }
}

/// How many null handles there are, one after the other, in an array that begins with one and has so many handles. Most often it has no
/// others: then each is the one behind it, which the C library compares faster than a loop here.
///
/// # Safety
/// There are so many handles, and one at least.
#[inline(always)]
pub unsafe fn nulls<H: Handle>(array: *const H, length: usize) -> usize {
    let bytes = (length - 1) * size_of::<H>();
    // SAFETY: as demanded.
    unsafe {
        let begin = slice::from_raw_parts(array.cast::<u8>(), bytes);
        if begin == slice::from_raw_parts(array.add(1).cast::<u8>(), bytes) {
            return length;
        }
        (1..length).find(|index| array.add(*index).read_unaligned().word() != abi().request_null).unwrap_or(length)
    }
}

/// The same where it is rare.
///
/// # Safety
/// As above.
#[inline(never)]
unsafe fn nulls_apart<H: Handle>(array: *const H, length: usize) -> usize {
    // SAFETY: as demanded of this one.
    unsafe { nulls(array, length) }
}

/// What a look has found up to a place of the array.
#[derive(Clone, Copy)]
pub struct Found {
    /// The communicator of all requests noted so far, or null.
    pub record: Record,
    are_of_several: bool,
    /// All of theirs.
    pub kinds: u8,
    /// Behind the latest that was noted.
    pub end: *mut Noted,
    /// The next handle to be looked at.
    pub index: usize,
    /// That of the look, once it has one.
    stamp: u64,
}

impl Found {
    /// Whether all of so many handles are looked at, and are requests of one communicator.
    #[inline(always)]
    pub fn is_whole(&self, length: usize) -> bool {
        self.index == length && !self.are_of_several && !self.record.is_null()
    }

    #[inline(always)]
    pub fn none(first: *mut Noted) -> Found {
        Found { record: std::ptr::null_mut(), are_of_several: false, kinds: 0, end: first, index: 0, stamp: 0 }
    }

    /// Notes requests of one communicator, as long as each is the only one of its handle, in a loop of a few instructions. Where there are
    /// no other threads, it needs no mark that the look has passed: what has its handle for itself is not met again.
    #[inline(always)]
    pub unsafe fn look_at_sole<H: Handle, const MARKS: bool>(
        &mut self,
        requests: &mut Held,
        array: *const H,
        length: usize,
        stamp: u64,
    ) {
        let mut finder = requests.finder();
        let mut look_at_next = |found: &mut Found, record: Option<Record>| {
            // SAFETY: the caller passes an array of so many handles.
            let handle = unsafe { array.add(found.index).read_unaligned() }.word();
            let slot = finder.slot_of(handle)?;
            let comm = slot.comm;
            if !slot.state.is_sole() || record.is_some_and(|record| record != comm) {
                return None;
            }
            if MARKS {
                if slot.stamp == stamp {
                    return None;
                }
                slot.stamp = stamp;
            }
            // SAFETY: there is room for as many as there are handles.
            unsafe { found.note(Noted::at(handle, slot, found.index), slot.kind) };
            found.index += 1;
            Some(comm)
        };
        // The first one tells the communicator of all, so that the loop need not ask whether it is the first.
        if length == 0 {
            return;
        }
        let Some(record) = look_at_next(self, None) else { return };
        self.record = record;
        while self.index < length && look_at_next(self, Some(record)).is_some() {}
    }

    /// Notes active requests up to the first that takes more than a few comparisons, and passes null handles by. Where there are other
    /// threads, what is noted is marked as seen by this look: they may take it over otherwise, and where a handle comes again it stands
    /// for a request of theirs. With `TOGETHER` those are noted together that have one handle and are alike.
    #[inline(always)]
    unsafe fn look_simply<H: Handle, const MARKS: bool, const TOGETHER: bool>(
        &mut self,
        requests: &mut Held,
        array: *const H,
        length: usize,
        stamp: u64,
    ) {
        let null = abi().request_null;
        // SAFETY: the caller passes an array of so many handles.
        let at = |index: usize| unsafe { array.add(index).read_unaligned() };
        let mut finder = requests.finder();
        while self.index < length {
            let handle = at(self.index).word();
            if handle == null {
                // SAFETY: so many handles are left.
                self.index += unsafe { nulls_apart(array.add(self.index), length - self.index) };
                continue;
            }
            let Some(slot) = finder.slot_of(handle) else { return };
            if !slot.state.is_sole() {
                if slot.state != State::Active || !slot.is_seen_simply(stamp) {
                    return;
                }
            } else if MARKS {
                if slot.stamp == stamp {
                    return;
                }
                slot.stamp = stamp;
            }
            self.are_of_several |= !self.record.is_null() && self.record != slot.comm;
            self.record = if self.record.is_null() { slot.comm } else { self.record };
            // SAFETY: there is room for as many as there are handles, and so many are left.
            unsafe {
                self.note(Noted::at(handle, slot, self.index), slot.kind);
                self.index += 1;
                if TOGETHER && slot.state == State::Active {
                    self.index += note_alike(array.add(self.index), length - self.index, slot, self.end.sub(1));
                }
            }
        }
    }

    /// All of so many handles, that were noted.
    #[inline(always)]
    pub unsafe fn whole(noted: *mut Noted, length: usize, (record, kinds): (Record, u8)) -> Found {
        // SAFETY: there is room for as many.
        Found { record, kinds, end: unsafe { noted.add(length) }, index: length, ..Found::none(noted) }
    }

    #[inline(always)]
    unsafe fn note(&mut self, noted: Noted, kind: Kind) {
        self.kinds |= kind as u8;
        // SAFETY: the caller sees to it that there is room.
        unsafe {
            self.end.write(noted);
            self.end = self.end.add(1);
        }
    }
}

/// Notes those together with the one before that follow it in the array and are like it. Returns how many these are. Apart, so that it takes
/// no register where each has its handle for itself.
#[inline(never)]
unsafe fn note_alike<H: Handle>(array: *const H, length: usize, slot: &mut Slot, noted: *mut Noted) -> usize {
    let mut count = 0;
    // SAFETY: the caller passes so many handles, and what was noted.
    unsafe {
        while count < length && array.add(count).read_unaligned().word() == slot.handle && slot.look_on() {
            count += 1;
        }
        if count != 0 {
            (*noted).stand_for(count as u32 + 1);
        }
    }
    count
}

/// Looks simply, as above, where other threads may come to the table. By value, so that elsewhere all of it stays in registers.
#[inline(never)]
pub unsafe fn look_marking<H: Handle, const TOGETHER: bool>(
    thread: &Thread,
    mut found: Found,
    array: *const H,
    length: usize,
) -> Found {
    if found.stamp == 0 {
        found.stamp = thread.stamp();
    }
    let Some(mut requests) = thread.requests().enter() else {
        // SAFETY: as demanded of this one.
        return unsafe { look_locked::<H, TOGETHER>(thread, found, array, length) };
    };
    let stamp = found.stamp;
    thread.requests().look(stamp);
    // SAFETY: as above.
    unsafe { found.look_simply::<H, true, TOGETHER>(&mut requests.held(), array, length, stamp) };
    found
}

/// The same of an array of requests of one communicator, each of which is the only one of its handle: returns the communicator and their
/// kinds, or null. Then what has been marked so far is looked at again.
#[inline(never)]
pub unsafe fn look_marking_sole<H: Handle>(
    thread: &Thread,
    array: *const H,
    length: usize,
    noted: *mut Noted,
) -> (Record, u8) {
    let mut found = Found::none(noted);
    if let Some(mut requests) = thread.requests().enter() {
        let stamp = thread.stamp();
        thread.requests().look(stamp);
        // SAFETY: the caller passes an array of so many handles, and there is room for as many.
        unsafe { found.look_at_sole::<H, true>(&mut requests.held(), array, length, stamp) };
    }
    (if found.is_whole(length) { found.record } else { std::ptr::null_mut() }, found.kinds)
}

/// The same while others wait for it.
#[inline(never)]
unsafe fn look_locked<H: Handle, const TOGETHER: bool>(
    thread: &Thread,
    mut found: Found,
    array: *const H,
    length: usize,
) -> Found {
    let stamp = found.stamp;
    thread.requests().locked(|mut requests| {
        thread.requests().look(stamp);
        // SAFETY: as demanded of this one.
        unsafe { found.look_simply::<H, true, TOGETHER>(&mut requests, array, length, stamp) };
    });
    found
}

/// Looks at what is left of an array: all that is active counts; with `INACTIVE` all does. Notes the communicators where
/// there are several, and what is found is the row that the call belongs to then.
#[inline(never)]
pub unsafe fn walk<H: Handle, const INACTIVE: bool, const TOGETHER: bool>(
    thread: &Thread,
    operation: u16,
    array: *const H,
    length: usize,
    noted: *mut Noted,
    mut found: Found,
) -> Found {
    let null = abi().request_null;
    let stamp = if found.stamp == 0 { thread.stamp() } else { found.stamp };
    found.stamp = stamp;
    while found.index < length {
        // SAFETY: the caller passes an array of so many handles, and there is room for as many.
        unsafe {
            if !INACTIVE {
                match thread.requests().unshared() {
                    Some(mut requests) => found.look_simply::<H, false, TOGETHER>(&mut requests, array, length, stamp),
                    None => found = look_marking::<H, TOGETHER>(thread, found, array, length),
                }
                if found.index == length {
                    break;
                }
            }
            let handle = array.add(found.index).read_unaligned().word();
            let index = found.index;
            found.index += 1;
            if handle == null {
                continue;
            }
            let Some(seen) = requests::seen(thread.requests(), &thread.unknown, handle, stamp) else { continue };
            if !seen.active && !INACTIVE {
                continue;
            }
            found.are_of_several |= !found.record.is_null() && found.record != seen.comm;
            found.record = if found.record.is_null() { seen.comm } else { found.record };
            found.note(Noted::new(handle, &seen, index), seen.kind);
        }
    }
    if found.record.is_null() {
        found.record = communicators::none();
    }
    if found.are_of_several {
        // SAFETY: both lie in the same room, where so many were written.
        let noted = unsafe { slice::from_raw_parts(noted, found.end.offset_from_unsigned(noted)) };
        found.record = note_involved(thread, operation, INACTIVE, noted);
    }
    found
}

/// Notes each communicator that takes part in a call over several, once per call. Returns the row that the call belongs to.
#[cold]
#[inline(never)]
fn note_involved(thread: &Thread, operation: u16, inactive: bool, noted: &[Noted]) -> Record {
    let mut record = communicators::none();
    let stamp = thread.stamp();
    let mut note = |comm: Record, is_meant: bool| {
        if record == communicators::none() {
            record = comm;
        } else if record != comm {
            record = communicators::several();
        }
        if is_meant && state::is_on() {
            thread.counters.count(tally::key(comm, operation, BUCKET_INVOLVED), |cell| {
                // These counters have no times: their place keeps the call that was noted last.
                if cell.ticks != stamp {
                    cell.ticks = stamp;
                    cell.calls += 1;
                }
            });
        }
    };
    let mut are_alone = |requests: &mut Held| {
        noted.iter().all(|noted| requests.alone_in(noted, inactive).map(|comm| note(comm, true)).is_some())
    };
    if !thread.requests().unshared().is_some_and(|mut requests| are_alone(&mut requests)) {
        // What was noted above is not counted twice.
        thread.requests().look_again(noted, stamp, |seen| note(seen.comm, seen.active || inactive));
    }
    record
}
