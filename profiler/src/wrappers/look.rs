//! The requests of a call, looked at before it and finished after it: afterwards their handles are null, or another's.

use std::ffi::c_int;
use std::slice;

use vocabulary::shard::{BUCKET_INVOLVED, IN_FLIGHT_LEVELS};

use super::creators;
use crate::guest::path::Path;
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::mpi::status;
use crate::objects::communicators::{self, Record};
use crate::objects::requests::{self, Kind, Noted};
use crate::record::tally::{self, Done};
use crate::thread::Thread;
use crate::thread::looks::Look;
use crate::trace;

/// The one request of a call, the communicator that the call belongs to, and whether the request is a receive.
#[inline(always)]
pub unsafe fn look(thread: &Thread, request: Word) -> (Noted, Record, bool) {
    // SAFETY: a null address is the program's mistake, which the library will report.
    let handle = if request == 0 { abi().request_null } else { unsafe { abi().load(request) } };
    let mut noted = Noted::new(handle, 0);
    if handle == abi().request_null {
        return (noted, communicators::none(), false);
    }
    let (record, receives) = of_handle(thread, &mut noted, thread.stamp());
    (noted, record, receives)
}

#[inline(always)]
pub fn of_handle(thread: &Thread, noted: &mut Noted, stamp: u64) -> (Record, bool) {
    match requests::seen(thread.requests(), &thread.unknown, stamp, noted) {
        Some(seen) if seen.active => (seen.comm, seen.receives),
        _ => (communicators::none(), false),
    }
}

/// Counts a call that carries no bytes, unless counting pauses.
#[inline(always)]
pub fn count<P: Path>(thread: &Thread, record: Record, done: Done) {
    if state::is_on_in::<P>() {
        tally::of_record_without_bytes(thread, record, done);
    }
}

/// What is left to do for a request that has completed. An error keeps the message away.
#[inline(always)]
pub unsafe fn finish<P: Path>(thread: &Thread, noted: Noted, code: c_int, receives: bool, status: Word) {
    let Some(completed) = thread.requests().complete(noted) else { return };
    match completed.kind {
        Kind::Plain => {}
        Kind::Receive | Kind::ReceiveInto | Kind::Read => {
            let arrived = match code == 0 && receives {
                // SAFETY: the call has filled the status.
                true if completed.kind == Kind::Read => unsafe { status::bytes_read(status) },
                // SAFETY: as above.
                true => unsafe { status::bytes(status) },
                false => 0,
            };
            tally::arrived(thread, &completed, arrived);
            if trace::is_on_in::<P>() && code == 0 && receives && completed.kind != Kind::Read {
                // SAFETY: as above.
                unsafe { trace::received(completed.comm, completed.operation(), completed.posted, status, arrived) };
            }
        }
        Kind::Duplicate => {
            let (place, record) = completed.duplicate;
            // SAFETY: the request has completed.
            let comm = unsafe { creators::made(place) };
            if comm != abi().comm_null {
                communicators::enter(comm, record);
            }
        }
    }
}

/// Whether a call has nothing to be followed while counting pauses.
#[inline(always)]
pub unsafe fn passes_by<P: Path>(request: Word) -> bool {
    // SAFETY: a null address is the program's mistake, which the library will report.
    !state::is_on_in::<P>() && (request == 0 || unsafe { abi().load(request) } == abi().request_null)
}

/// The requests of one call, and to whom they belong.
pub struct Several<'a> {
    look: &'a Look,
    /// How many requests the call was given.
    pub length: usize,
    /// How many of them are noted.
    count: usize,
    pub record: Record,
    receives: bool,
}

/// What a walk along an array found.
struct Walked {
    count: usize,
    record: Record,
    receives: bool,
    is_mixed: bool,
}

impl<'a> Several<'a> {
    /// Looks at all requests of a call. Only active ones count; with `inactive`, which is for starts, all do.
    #[inline(always)]
    pub unsafe fn look<P: Path>(
        thread: &'a Thread,
        operation: u16,
        length: c_int,
        array: Word,
        inactive: bool,
    ) -> Several<'a> {
        let level = if P::IS_SHORT { 0 } else { thread.in_flight.depth() };
        let look = thread.looks.at(level);
        let length = if array == 0 { 0 } else { usize::try_from(length).unwrap_or(0) };
        let room = if level < IN_FLIGHT_LEVELS { look.noted(length) } else { None };
        // Without room what completes is not seen.
        let (length, noted) = room.map_or((0, std::ptr::null_mut()), |noted| (length, noted));
        // SAFETY: the program passes an array of so many handles, and there is room for as many.
        let walked = unsafe {
            match abi().handle_bytes {
                4 => walk(thread, array as *const u32, length, noted, inactive),
                _ => walk(thread, array as *const u64, length, noted, inactive),
            }
        };
        let mut several =
            Several { look, length, count: walked.count, record: walked.record, receives: walked.receives };
        if walked.is_mixed {
            several.record = communicators::several();
            several.note_involved(thread, operation, inactive);
        }
        several
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

    /// Notes each communicator that takes part in a call over several, once per call.
    #[cold]
    fn note_involved(&self, thread: &Thread, operation: u16, inactive: bool) {
        if !state::is_on() {
            return;
        }
        let stamp = thread.stamp();
        for noted in self.noted() {
            let mut noted = *noted;
            let Some(seen) = requests::seen(thread.requests(), &thread.unknown, stamp, &mut noted) else { continue };
            if seen.active || inactive {
                thread.counters.count(tally::key(seen.comm, operation, BUCKET_INVOLVED), |cell| {
                    // These counters have no times: their place keeps the call that was noted last.
                    if cell.ticks != stamp {
                        cell.ticks = stamp;
                        cell.calls += 1;
                    }
                });
            }
        }
    }

    /// The statuses to pass on: the program's, or ours where it ignores them and messages may arrive.
    #[inline(always)]
    pub unsafe fn statuses(&mut self, statuses: Word, count: usize) -> Word {
        if !self.receives || statuses != abi().status_ignore {
            return statuses;
        }
        match self.look.statuses(count * abi().status.bytes / size_of::<u64>() + 1) {
            Some(own) => own as Word,
            None => {
                self.receives = false;
                statuses
            }
        }
    }

    /// All requests of the call have completed. An error tells itself which have.
    #[inline(always)]
    pub unsafe fn finish_all<P: Path>(&self, thread: &Thread, code: c_int, array: Word, statuses: Word) {
        if code != 0 {
            // SAFETY: as demanded of this one.
            return unsafe { self.finish_failed::<P>(thread, array, statuses) };
        }
        for noted in self.noted() {
            // SAFETY: the call has filled the statuses.
            unsafe { finish::<P>(thread, *noted, 0, self.receives, status_at(statuses, noted.index as usize)) };
        }
    }

    /// A call that fails has completed those requests whose handle it has set to null.
    #[cold]
    #[inline(never)]
    unsafe fn finish_failed<P: Path>(&self, thread: &Thread, array: Word, statuses: Word) {
        for noted in self.noted() {
            let status = status_at(statuses, noted.index as usize);
            // SAFETY: the array has so many handles.
            unsafe { self.finish_where_null::<P>(thread, noted, array, status) };
        }
    }

    unsafe fn finish_where_null<P: Path>(&self, thread: &Thread, noted: &Noted, array: Word, status: Word) {
        // SAFETY: the call has filled the statuses, and the array has this many handles.
        unsafe {
            if abi().load_at(array, noted.index as usize) == abi().request_null {
                let is_error = status == 0 || status::error(status) != 0;
                finish::<P>(thread, *noted, c_int::from(is_error), self.receives, status);
            }
        }
    }

    /// Some requests of the call have completed, given by their place in the array and that of their status.
    #[inline(always)]
    pub unsafe fn finish<P: Path>(
        &self,
        thread: &Thread,
        code: c_int,
        array: Word,
        completed: impl Iterator<Item = (usize, Word)>,
    ) {
        for (index, status) in completed {
            let Some(noted) = self.noted_at(index) else { continue };
            // SAFETY: the call has filled the statuses, and the array has this many handles.
            unsafe {
                match code {
                    0 => finish::<P>(thread, *noted, 0, self.receives, status),
                    _ => self.finish_where_null::<P>(thread, noted, array, status),
                }
            }
        }
    }

    /// What was noted of a request, if it is followed.
    #[inline(always)]
    fn noted_at(&self, index: usize) -> Option<&Noted> {
        let noted = self.noted();
        // Most often all of them are.
        match noted.get(index) {
            Some(found) if found.index as usize == index => Some(found),
            _ => noted.binary_search_by_key(&(index as u32), |noted| noted.index).ok().and_then(|at| noted.get(at)),
        }
    }

    /// The call is over.
    #[inline(always)]
    pub fn leave(self, thread: &Thread) {
        thread.requests().looked();
    }
}

/// A handle as it stands in an array.
trait Handle: Copy {
    fn of(word: Word) -> Self;
    fn word(self) -> Word;
}

impl Handle for u32 {
    #[inline(always)]
    fn of(word: Word) -> u32 {
        word as u32
    }

    #[inline(always)]
    fn word(self) -> Word {
        self as Word
    }
}

impl Handle for u64 {
    #[inline(always)]
    fn of(word: Word) -> u64 {
        word as u64
    }

    #[inline(always)]
    fn word(self) -> Word {
        self as Word
    }
}

/// Null handles are passed by in groups of so many.
const GROUP: usize = 8;

/// Looks at each request of an array, and notes those that count.
#[inline(never)]
unsafe fn walk<H: Handle>(
    thread: &Thread,
    array: *const H,
    length: usize,
    noted: *mut Noted,
    inactive: bool,
) -> Walked {
    let null = abi().request_null;
    // SAFETY: the caller passes an array of so many handles.
    let at = |index: usize| unsafe { array.add(index).read_unaligned() };
    let are_null = |from: usize| (from..from + GROUP).fold(0, |found, index| found | (at(index).word() ^ H::of(null).word())) == 0;
    let stamp = thread.stamp();
    let mut walked = Walked { count: 0, record: communicators::none(), receives: false, is_mixed: false };
    let mut index = 0;
    while index < length {
        let handle = at(index).word();
        if handle == null {
            index += 1;
            while index + GROUP <= length && are_null(index) {
                index += GROUP;
            }
            continue;
        }
        let mut new = Noted::new(handle, index);
        index += 1;
        let Some(seen) = requests::seen(thread.requests(), &thread.unknown, stamp, &mut new) else { continue };
        if !seen.active && !inactive {
            continue;
        }
        // SAFETY: there is room for as many as there are handles.
        unsafe { noted.add(walked.count).write(new) };
        walked.count += 1;
        walked.receives |= seen.receives;
        if walked.record == communicators::none() {
            walked.record = seen.comm;
        }
        walked.is_mixed |= walked.record != seen.comm;
    }
    walked
}

#[inline(always)]
pub fn status_at(statuses: Word, index: usize) -> Word {
    if statuses == abi().status_ignore { 0 } else { statuses + index * abi().status.bytes }
}

/// Like `look`, but an inactive persistent request belongs to its communicator, too.
pub unsafe fn look_any(thread: &Thread, request: Word) -> (Word, Record, bool) {
    // SAFETY: a null address is the program's mistake, which the library will report.
    let handle = if request == 0 { abi().request_null } else { unsafe { abi().load(request) } };
    match requests::seen(thread.requests(), &thread.unknown, thread.stamp(), &mut Noted::new(handle, 0)) {
        Some(seen) => (handle, seen.comm, seen.receives),
        None => (handle, communicators::none(), false),
    }
}
