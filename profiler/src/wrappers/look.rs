//! The requests of a call, looked at before it: afterwards their handles are null, or another's. `finish.rs` does what is left to do after
//! it.

use std::ffi::c_int;
use std::slice;

use vocabulary::calls::op;
use vocabulary::shard::IN_FLIGHT_LEVELS;

use super::array::are_null;
use super::walk::{Call, Found, NO_SOLE, look_at_sole, look_marking_sole, look_simply, walk};
use crate::guest::short_path::{Full, Path};
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::{self, Record};
use crate::objects::requests::slot::Slot;
use crate::objects::requests::{self, Noted};
use crate::objects::shortcuts::Shortcut;
use crate::record::in_flight::{self, Taken};
use crate::record::tally::{self, Done};
use crate::thread::Thread;
use crate::thread::looks::Look;

/// The one request of a call, if it is active. A few words that stay in registers while nobody asks for their address.
#[derive(Clone, Copy)]
pub struct Single {
    is_active: bool,
    handle: Word,
    /// Where it was seen, or null.
    slot: *mut Slot,
    pub record: Record,
    pub receives: bool,
    /// As [`Several::changes`], and that where there is more to its handle.
    pub changes: u64,
}

impl Single {
    #[inline(always)]
    fn of(thread: &Thread, slot: &mut Slot) -> Single {
        Single {
            is_active: true,
            handle: slot.handle,
            slot,
            record: slot.comm,
            receives: slot.kind.receives(),
            changes: thread.requests().changed_so_far(),
        }
    }

    #[inline(always)]
    pub fn noted(self) -> Option<Noted> {
        if self.is_active { Some(Noted::at(self.handle, self.slot, 0)) } else { None }
    }
}

/// Whatever it takes.
#[inline(always)]
pub unsafe fn look<P: Path>(thread: &Thread, request: Word) -> Single {
    in_flight::end_left::<P>(thread);
    // SAFETY: as demanded of this one.
    unsafe { look_at_once::<P>(thread, request).unwrap_or_else(|| look_marking_one(thread, handle_at::<P>(request))) }
}

/// What is found by a few comparisons, and is active.
#[inline(always)]
pub unsafe fn look_at_once<P: Path>(thread: &Thread, request: Word) -> Option<Single> {
    let mut requests = thread.requests().alone()?;
    let mut finder = requests.finder();
    // SAFETY: as demanded of this one.
    let slot = finder.slot_of(unsafe { handle_at::<P>(request) })?;
    if slot.state.is_sole() || slot.is_one_of_those_alike() { Some(Single::of(thread, slot)) } else { None }
}

#[inline(always)]
unsafe fn handle_at<P: Path>(request: Word) -> Word {
    // SAFETY: a null address is the program's mistake, which the library will report.
    if request == 0 { abi().request_null } else { unsafe { abi().load_on::<P>(request) } }
}

/// The same where other threads may come to the table.
#[inline(never)]
fn look_marking_one(thread: &Thread, handle: Word) -> Single {
    let stamp = thread.stamp();
    if state::is_threaded()
        && let Some(mut requests) = thread.requests().enter()
        && let mut requests = requests.held()
        && let Some(slot) = requests.finder().slot_of(handle)
        && slot.state.is_sole()
    {
        thread.requests().look(stamp);
        slot.stamp = stamp;
        return Single::of(thread, slot);
    }
    of_handle(thread, handle, stamp)
}

#[inline(never)]
pub fn of_handle(thread: &Thread, handle: Word, stamp: u64) -> Single {
    let seen = requests::seen(thread.requests(), &thread.unknown, handle, stamp);
    match seen {
        Some(seen) if seen.active => Single {
            is_active: true,
            handle: seen.handle,
            slot: seen.slot,
            record: seen.comm,
            receives: seen.kind.receives(),
            changes: OTHERS_MAY,
        },
        _ => {
            if seen.is_some() {
                thread.looks.note_inactive(handle, thread.requests().changed_so_far());
            }
            let (slot, record) = (std::ptr::null_mut(), communicators::none());
            Single { is_active: false, handle, slot, record, receives: false, changes: OTHERS_MAY }
        }
    }
}

/// Whether a call over one request is given none, or one of which the latest call found that it is not started.
#[inline(always)]
pub unsafe fn is_none<P: Path>(thread: &Thread, request: Word) -> bool {
    if request == 0 {
        return false;
    }
    // SAFETY: as above.
    let handle = unsafe { abi().load_on::<P>(request) };
    handle == abi().request_null || P::IS_SHORT && thread.looks.is_inactive(handle, thread.requests().changed_so_far())
}

/// Counts a call that carries no bytes, unless counting pauses. Returns its shortcut if it was counted.
#[inline(always)]
pub fn count<P: Path>(thread: &Thread, record: Record, done: Done) -> Option<&Shortcut> {
    if state::is_on_in::<P>() { Some(tally::of_record_without_bytes::<P>(thread, record, done)) } else { None }
}

/// The requests of one call, and to whom they belong.
#[derive(Clone, Copy)]
pub struct Several<'a> {
    pub look: &'a Look,
    /// How many requests the call was given.
    pub length: usize,
    /// How many of them are noted.
    pub count: usize,
    pub record: Record,
    pub receives: bool,
    /// [`Requests::changes`](requests::Requests::changes) by then, or [`OTHERS_MAY`].
    pub changes: u64,
}

/// In the place of how often requests have changed: other threads may have some of them.
pub const OTHERS_MAY: u64 = u64::MAX;

impl<'a> Several<'a> {
    /// Looks at all requests of a call. Only active ones count; with `inactive`, which is for starts, all do.
    #[inline(always)]
    pub unsafe fn look<P: Path>(
        thread: &'a Thread,
        taken: Taken,
        operation: u16,
        length: c_int,
        array: Word,
        inactive: bool,
    ) -> Several<'a> {
        // SAFETY: as demanded of this one.
        unsafe { Several::look_by::<P, false, false>(thread, taken, operation, length, array, inactive) }
    }

    #[cold]
    fn none(look: &'a Look) -> Several<'a> {
        let record = communicators::none();
        Several { look, length: 0, count: 0, record, receives: false, changes: OTHERS_MAY }
    }

    /// The same. With `ALL` for a call that completes all of them: then the usual case takes no call (with several threads one), and those
    /// that are alike are noted together. With `SOLE` the usual case takes no call either.
    #[inline(always)]
    pub unsafe fn look_by<P: Path, const ALL: bool, const SOLE: bool>(
        thread: &'a Thread,
        taken: Taken,
        operation: u16,
        length: c_int,
        array: Word,
        inactive: bool,
    ) -> Several<'a> {
        let level = taken.number::<P>();
        let look = thread.looks.at(level);
        // Without room what completes is not seen; nor without an array, or of less than no request, of which the library will tell. Of none there is
        // nothing to see.
        let is_possible = level < IN_FLIGHT_LEVELS && array != 0;
        if is_possible {
            // Before what it has noted is written over.
            look.forget();
        }
        let noted = if is_possible { look.noted(length as u32 as usize) } else { std::ptr::null_mut() };
        if noted.is_null() {
            return Several::none(look);
        }
        let length = length as usize;
        let mut changes = OTHERS_MAY;
        // SAFETY: the program passes an array of so many handles, and there is room for as many.
        unsafe {
            let call = Call { thread, operation };
            let found_all = |found: Found| (found.row(), found.end.offset_from_unsigned(noted), found.kinds);
            let otherwise = |found| found_all(look_on::<ALL>(call, (array, length), found, inactive));
            let (record, count, kinds) = if let Some(requests) = thread.requests().unshared() {
                changes = thread.requests().changed_so_far();
                let sole = match abi().handle_bytes_on::<P>() {
                    4 if SOLE => look_at_sole::<u32>(requests, array as *const u32, length, noted),
                    _ if SOLE => look_at_sole::<u64>(requests, array as *const u64, length, noted),
                    _ => NO_SOLE,
                };
                match sole {
                    (record, count, kinds) if SOLE && count == length => (record, count, kinds),
                    // On the short path that has been asked.
                    (_, 0, _) if ALL && !P::IS_SHORT && are_null::<P>(array, length) => (communicators::none(), 0, 0),
                    _ if ALL
                        && SOLE
                        && let Some(requests) = thread.requests().unshared() =>
                    {
                        let found = Found::sole(noted, sole, thread.stamp());
                        let found = match abi().handle_bytes_on::<P>() {
                            4 => look_simply::<u32, true>(call, requests, array as *const u32, length, found),
                            _ => look_simply::<u64, true>(call, requests, array as *const u64, length, found),
                        };
                        if found.index == length { found_all(found) } else { otherwise(found) }
                    }
                    _ => otherwise(Found::sole(noted, sole, 0)),
                }
            } else {
                let (record, kinds) = match abi().handle_bytes_on::<P>() {
                    4 if ALL => look_marking_sole::<u32>(thread, array as *const u32, length, noted),
                    _ if ALL => look_marking_sole::<u64>(thread, array as *const u64, length, noted),
                    _ => (std::ptr::null_mut(), 0),
                };
                let found = if record.is_null() { otherwise(Found::none(noted)) } else { (record, length, kinds) };
                if let Some(now) = thread.requests().changes() {
                    changes = now;
                    look.marked_with(thread.latest_stamp());
                }
                found
            };
            Several { look, length, count, record, receives: requests::receives(kinds), changes }
        }
    }

    /// Whether a call that programs repeat until requests complete would find what the latest such call has found: the array holds what that has left
    /// in it, and no request of this thread has changed since.
    #[inline(always)]
    pub unsafe fn is_known<P: Path>(thread: &Thread, operation: u16, length: c_int, array: Word) -> bool {
        let look = thread.looks.at(0);
        // SAFETY: the program passes an array of so many handles.
        P::IS_SHORT
            && unsafe { look.is_of(array, length, abi().handle_bytes_on::<P>(), thread.requests().changed_so_far()) }
            // What is crossed out is for calls that tell which requests they complete.
            && (operation != op::MPI_Testall || look.completed() == 0)
            && (state::unshared().is_some() || mark_again(thread, look))
    }

    /// To whom the call belongs then, and the statuses to pass on, as [`Several::statuses`] tells.
    #[inline(always)]
    pub fn known_with<P: Path>(thread: &Thread, statuses: Word) -> (Record, Word) {
        let look = thread.looks.at(0);
        let (record, _, receives) = look.found();
        (record, look.stand_in::<P>(receives, statuses))
    }

    /// All of it, after the call. None where what is kept is another call's, which has taken this one for left: of another coroutine.
    #[inline(always)]
    pub fn known(thread: &'a Thread, array: Word) -> Option<Several<'a>> {
        let look = thread.looks.at(0);
        let (record, count, receives) = look.found();
        let length = look.length() as usize;
        let several = Several { look, length, count, record, receives, changes: look.changes() };
        if look.is_for(array) { Some(several) } else { None }
    }

    /// Looks at them as for the first time.
    #[inline(never)]
    pub unsafe fn look_anew<P: Path>(
        thread: &'a Thread,
        taken: Taken,
        operation: u16,
        length: c_int,
        array: Word,
    ) -> Several<'a> {
        // SAFETY: as demanded of this one.
        unsafe { Several::look_by::<P, false, true>(thread, taken, operation, length, array, false) }
    }

    /// None has completed: what was found is kept for the next such call.
    #[inline(always)]
    pub unsafe fn keep<P: Path>(self, thread: &Thread, array: Word) {
        if P::IS_SHORT && !self.look.is_kept() {
            // SAFETY: the program passed an array of so many handles.
            unsafe { keep(thread, self, array) };
        }
    }

    /// Those that are followed, in the order of the array.
    #[inline(always)]
    pub fn noted(&self) -> &[Noted] {
        match self.count {
            0 => &[],
            // SAFETY: so many were written, and nobody else writes there before this call has returned.
            count => unsafe { slice::from_raw_parts(self.look.first_noted(), count) },
        }
    }

    /// The statuses to pass on: the program's, or ours where it ignores them and messages may arrive.
    #[inline(always)]
    pub unsafe fn statuses<P: Path>(&self, statuses: Word) -> Word {
        self.look.stand_in::<P>(self.receives, statuses)
    }

    /// The call is over.
    #[inline(always)]
    pub fn leave<P: Path>(self, thread: &Thread, taken: Taken) {
        taken.give_back::<P>(thread);
        thread.looked::<P>();
    }
}

/// Looks at the rest of an array behind what has been found.
#[inline(never)]
unsafe fn look_on<const ALL: bool>(call: Call, (array, length): (Word, usize), found: Found, inactive: bool) -> Found {
    // SAFETY: as demanded of this one.
    unsafe {
        match (abi().handle_bytes, inactive) {
            (4, false) => walk::<u32, false, ALL>(call, array as *const u32, length, found),
            (4, true) => walk::<u32, true, false>(call, array as *const u32, length, found),
            (_, false) => walk::<u64, false, ALL>(call, array as *const u64, length, found),
            (_, true) => walk::<u64, true, false>(call, array as *const u64, length, found),
        }
    }
}

/// What the latest look has marked belongs to this one, too, if there was no other, and no other thread has come to the thread's requests.
#[cold]
#[inline(never)]
fn mark_again(thread: &Thread, look: &Look) -> bool {
    let stamp = thread.latest_stamp();
    let may_be_marked = state::is_threaded() && look.is_marked_with(stamp);
    let entered = if may_be_marked { thread.requests().enter() } else { None };
    if entered.is_some() {
        thread.requests().look(stamp);
    }
    entered.is_some()
}

/// Keeps what was found for the next call over the array, as it is now. Apart, since programs call again more often than they call anew.
#[inline(never)]
pub unsafe fn keep(thread: &Thread, several: Several, array: Word) {
    let Several { look, length, count, record, receives, changes } = several;
    // What takes part in a call over several communicators is noted each time.
    if changes == thread.requests().changed_so_far() && length > 0 && record != communicators::several() {
        // SAFETY: the program passed an array of so many handles.
        unsafe { look.keep(array, length, abi().handle_bytes, changes, (record, count, receives)) };
    }
}

/// Like `look`, but an inactive persistent request belongs to its communicator, too.
#[inline(always)]
pub unsafe fn look_any(thread: &Thread, request: Word) -> (Word, Record, bool) {
    in_flight::end_left::<Full>(thread);
    // SAFETY: a null address is the program's mistake, which the library will report.
    let handle = if request == 0 { abi().request_null } else { unsafe { abi().load(request) } };
    match requests::seen(thread.requests(), &thread.unknown, handle, thread.stamp()) {
        Some(seen) => (seen.handle, seen.comm, seen.kind.receives()),
        None => (handle, communicators::none(), false),
    }
}
