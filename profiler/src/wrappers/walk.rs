//! The way along an array of requests: what each is, of which communicator, and where that is known.

use std::ptr;

use vocabulary::shard::BUCKET_INVOLVED;

use super::array::{Handle, nulls};
use crate::guest::state;
use crate::mpi::abi::abi;
use crate::objects::communicators::{self, Record};
use crate::objects::requests::slot::Slot;
use crate::objects::requests::{self, Held, Kind, Noted, State};
use crate::record::tally;
use crate::thread::Thread;

/// What a look has found up to a place of the array.
#[derive(Clone, Copy)]
pub struct Found {
    /// The communicator of the request that was noted last, or null.
    record: Record,
    turns: Turns,
    /// All of theirs.
    pub kinds: u8,
    /// Behind the latest that was noted.
    pub end: *mut Noted,
    /// The next handle to be looked at.
    pub index: usize,
    /// That of the look, once it has one.
    stamp: u64,
}

/// Where requests of several communicators take turns.
#[derive(Clone, Copy)]
struct Turns {
    /// That of those before the latest that were of another one, or null.
    before: Record,
    are_of_several: bool,
}

impl Turns {
    const fn none() -> Turns {
        Turns { before: ptr::null_mut(), are_of_several: false }
    }

    /// Comes from requests of one communicator, or of null, to one of another. Returns the one that the next is compared with.
    #[inline(never)]
    fn come_to(&mut self, call: Call, stamp: u64, from: Record, comm: Record) -> Record {
        let none = communicators::none();
        if !from.is_null() && from != none {
            // What belongs to no communicator, as that of a file which nobody saw opened, makes no call one over several.
            if comm == none {
                return from;
            }
            // Most often two take turns.
            if self.before != comm {
                involve(call, stamp, if self.are_of_several { None } else { Some(from) }, comm);
                self.are_of_several = true;
            }
        }
        self.before = from;
        comm
    }
}

impl Found {
    /// Whether [`Found::note_sole`] has noted all of so many handles.
    #[inline(always)]
    fn is_whole(&self, length: usize) -> bool {
        self.index == length && !self.record.is_null()
    }

    #[inline(always)]
    pub fn none(first: *mut Noted) -> Found {
        Found { record: ptr::null_mut(), turns: Turns::none(), kinds: 0, end: first, index: 0, stamp: 0 }
    }

    /// Notes requests of one communicator, as long as each is the only one of its handle, in a loop of a few instructions. Where there are
    /// no other threads, it needs no mark that the look has passed: what has its handle for itself is not met again. There is one at least.
    #[inline(always)]
    unsafe fn note_sole<H: Handle, const MARKS: bool>(
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
        let Some(record) = look_at_next(self, None) else { return };
        self.record = record;
        while self.index != length {
            if look_at_next(self, Some(record)).is_none() {
                return;
            }
        }
    }

    /// Notes active requests up to the first that takes more than a few comparisons, and passes null handles by. Where there are other
    /// threads, what is noted is marked as seen by this look: they may take it over otherwise, and where a handle comes again it stands
    /// for a request of theirs. With `TOGETHER` those are noted together that have one handle and are alike. By value, so that all of it stays in
    /// registers but what takes turns.
    #[inline(always)]
    unsafe fn look_simply<H: Handle, const MARKS: bool, const TOGETHER: bool>(
        mut self,
        requests: &mut Held,
        call: Call,
        array: *const H,
        length: usize,
    ) -> Found {
        let Found { mut record, mut kinds, mut end, mut index, stamp, .. } = self;
        // SAFETY: the caller passes an array of so many handles.
        let at = |index: usize| unsafe { array.add(index).read_unaligned() }.word();
        while index < length {
            let handle = at(index);
            let Some(slot) = requests.finder().slot_of(handle).map(ptr::from_mut) else {
                if handle != abi().request_null {
                    break;
                }
                index += 1;
                if index < length && at(index) == handle {
                    // SAFETY: so many handles are left.
                    index += unsafe { nulls(array.add(index), length - index) };
                }
                continue;
            };
            // SAFETY: no request is entered before the next one is looked for.
            let first = unsafe { &mut *slot };
            let (mut comm, mut kind, is_sole) = (first.comm, first.kind, first.state.is_sole());
            if !is_sole {
                if first.state != State::Active {
                    break;
                }
                if !first.is_seen_simply(stamp) {
                    let Some(behind) = requests.see_behind(slot, stamp) else { break };
                    (comm, kind) = behind;
                }
            } else if MARKS {
                if first.stamp == stamp {
                    break;
                }
                first.stamp = stamp;
            }
            if record != comm {
                record = match record.is_null() {
                    true => comm,
                    false => self.turns.come_to(call, stamp, record, comm),
                };
            }
            kinds |= kind as u8;
            // SAFETY: there is room for as many as there are handles, and so many are left.
            unsafe {
                end.write(Noted::at(handle, slot, index));
                index += 1;
                if TOGETHER && !is_sole && index < length && at(index) == handle {
                    index += note_alike(array.add(index), length - index, &mut *slot, end);
                }
                end = end.add(1);
            }
        }
        Found { record, kinds, end, index, ..self }
    }

    /// The next request to be noted is of this communicator.
    #[inline(always)]
    fn come_to(&mut self, call: Call, comm: Record) {
        if self.record != comm {
            self.record = self.turns.come_to(call, self.stamp, self.record, comm);
        }
    }

    /// The row that the call belongs to, when all of the array has been looked at.
    #[inline(always)]
    pub fn row(&self) -> Record {
        match self.record.is_null() {
            true => communicators::none(),
            false if self.turns.are_of_several => communicators::several(),
            false => self.record,
        }
    }

    /// What [`look_at_sole`] has found. The look goes on with this stamp, or with one that it has yet to get (0).
    #[inline(always)]
    pub unsafe fn sole(noted: *mut Noted, (record, index, kinds): Sole, stamp: u64) -> Found {
        // SAFETY: there is room for as many.
        Found { record, kinds, end: unsafe { noted.add(index) }, index, stamp, ..Found::none(noted) }
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

/// How many persistent requests the array begins with that are not started. Where other threads may come none is: they may start it.
#[inline(never)]
unsafe fn idle_ones<H: Handle>(thread: &Thread, array: *const H, length: usize) -> usize {
    let Some(mut requests) = thread.requests().unshared() else { return 0 };
    let mut finder = requests.finder();
    // SAFETY: the caller passes so many handles.
    let handle = |index: usize| unsafe { array.add(index).read_unaligned() }.word();
    (0..length).find(|index| !finder.slot_of(handle(*index)).is_some_and(|slot| slot.is_idle_alone())).unwrap_or(length)
}

/// Looks simply, as above, where other threads may come to the table. By value, so that elsewhere all of it stays in registers.
#[inline(never)]
unsafe fn look_marking<H: Handle, const TOGETHER: bool>(
    call: Call,
    found: Found,
    array: *const H,
    length: usize,
) -> Found {
    let Some(mut requests) = call.thread.requests().enter() else {
        // SAFETY: as demanded of this one.
        return unsafe { look_locked::<H, TOGETHER>(call, found, array, length) };
    };
    call.thread.requests().look(found.stamp);
    // SAFETY: as above.
    unsafe { found.look_simply::<H, true, TOGETHER>(&mut requests.held(), call, array, length) }
}

/// What an array begins with that has one request at least: the communicator of requests each of which is the only one of its handle, how many these
/// are, and their kinds.
pub type Sole = (Record, usize, u8);

/// None.
pub const NO_SOLE: Sole = (ptr::null_mut(), 0, 0);

/// Looks at these, where there are no other threads.
#[inline(always)]
pub unsafe fn look_at_sole<H: Handle>(mut requests: Held, array: *const H, length: usize, noted: *mut Noted) -> Sole {
    let mut found = Found::none(noted);
    // SAFETY: as demanded of this one.
    unsafe { found.note_sole::<H, false>(&mut requests, array, length, 0) };
    (found.record, found.index, found.kinds)
}

/// Looks on as long as it takes no more than a few comparisons. There are no other threads. Apart, so that it has the registers for itself.
#[inline(never)]
pub unsafe fn look_simply<H: Handle, const TOGETHER: bool>(
    call: Call,
    mut requests: Held,
    array: *const H,
    length: usize,
    found: Found,
) -> Found {
    // SAFETY: as demanded of this one.
    unsafe { found.look_simply::<H, false, TOGETHER>(&mut requests, call, array, length) }
}

/// The same of an array of requests of one communicator, one at least, each of which is the only one of its handle: returns the communicator and their
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
        unsafe { found.note_sole::<H, true>(&mut requests.held(), array, length, stamp) };
    }
    (if found.is_whole(length) { found.record } else { ptr::null_mut() }, found.kinds)
}

/// The same while others wait for it.
#[inline(never)]
unsafe fn look_locked<H: Handle, const TOGETHER: bool>(
    call: Call,
    found: Found,
    array: *const H,
    length: usize,
) -> Found {
    call.thread.requests().locked(
        || found,
        |mut requests| {
            call.thread.requests().look(found.stamp);
            // SAFETY: as demanded of this one.
            unsafe { found.look_simply::<H, true, TOGETHER>(&mut requests, call, array, length) }
        },
    )
}

/// Looks at what is left of an array: all that is active counts; with `INACTIVE` all does. Notes the communicators where there are several.
#[inline(always)]
pub unsafe fn walk<H: Handle, const INACTIVE: bool, const TOGETHER: bool>(
    call: Call,
    array: *const H,
    length: usize,
    mut found: Found,
) -> Found {
    let (null, thread) = (abi().request_null, call.thread);
    // A simple look has come so far.
    let mut is_stopped = found.stamp != 0;
    if !is_stopped {
        found.stamp = thread.stamp();
    }
    while found.index < length {
        // SAFETY: the caller passes an array of so many handles, and there is room for as many.
        unsafe {
            if !INACTIVE {
                if !is_stopped {
                    found = match thread.requests().unshared() {
                        Some(requests) => look_simply::<H, TOGETHER>(call, requests, array, length, found),
                        None => look_marking::<H, TOGETHER>(call, found, array, length),
                    };
                    if found.index == length {
                        break;
                    }
                }
                is_stopped = false;
                let idle = idle_ones(thread, array.add(found.index), length - found.index);
                if idle != 0 {
                    found.index += idle;
                    continue;
                }
            }
            let handle = array.add(found.index).read_unaligned().word();
            let index = found.index;
            found.index += 1;
            if handle == null {
                continue;
            }
            let Some(seen) = requests::seen(thread.requests(), &thread.unknown, handle, found.stamp) else { continue };
            if !seen.active && !INACTIVE {
                continue;
            }
            found.come_to(call, seen.comm);
            found.note(Noted::new(&seen, index), seen.kind);
        }
    }
    found
}

/// A call over requests.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub thread: &'a Thread,
    pub operation: u16,
}

/// A call over several communicators comes to requests of another one: notes that it takes part, and the `first` one, once per call.
#[inline(never)]
fn involve(call: Call, stamp: u64, first: Option<Record>, comm: Record) {
    if !state::is_on() {
        return;
    }
    first.into_iter().for_each(|first| takes_part(call, stamp, first));
    takes_part(call, stamp, comm);
}

fn takes_part(Call { thread, operation }: Call, stamp: u64, comm: Record) {
    thread.counters.count(tally::key(comm, operation, BUCKET_INVOLVED), |cell| {
        // These counters have no times: their place keeps the call that was noted last.
        if cell.ticks != stamp {
            cell.ticks = stamp;
            cell.calls += 1;
        }
    });
}

/// Notes that all of these take part in a call over several communicators, while calls are counted.
#[inline(never)]
pub fn involve_all(thread: &Thread, operation: u16, comms: impl Iterator<Item = Record>) {
    let stamp = thread.stamp();
    let mut latest = std::ptr::null_mut();
    for comm in comms {
        if comm != latest {
            latest = comm;
            takes_part(Call { thread, operation }, stamp, comm);
        }
    }
}
