//! The requests of a call, looked at before it and finished after it: afterwards their handles are null, or another's.

use std::ffi::c_int;
use std::slice;

use vocabulary::shard::{BUCKET_INVOLVED, IN_FLIGHT_LEVELS};

use super::creators;
use crate::guest::short_path::Path;
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::mpi::status;
use crate::objects::communicators::{self, Record};
use crate::objects::requests::{self, Completed, Kind, Noted, State};
use crate::objects::shortcuts::Shortcut;
use crate::record::completed::{self, Completions, One, Ones, Started};
use crate::record::files;
use crate::record::nonblocking;
use crate::record::tally::{self, Done};
use crate::thread::Thread;
use crate::thread::looks::Look;
use crate::trace;

/// The one request of a call, if it is active.
pub struct Single {
    noted: Option<Noted>,
    pub record: Record,
    pub receives: bool,
}

#[inline(always)]
pub unsafe fn look(thread: &Thread, request: Word) -> Single {
    // SAFETY: a null address is the program's mistake, which the library will report.
    let handle = if request == 0 { abi().request_null } else { unsafe { abi().load(request) } };
    of_handle(thread, handle, thread.stamp())
}

#[inline(always)]
pub fn of_handle(thread: &Thread, handle: Word, stamp: u64) -> Single {
    match requests::seen(thread.requests(), &thread.unknown, handle, stamp) {
        Some(seen) if seen.active => {
            Single { noted: Some(Noted::new(handle, &seen, 0)), record: seen.comm, receives: seen.kind.receives() }
        }
        _ => Single { noted: None, record: communicators::none(), receives: false },
    }
}

impl Single {
    /// The call has returned. `is_done` tells whether the request has completed, where it succeeded.
    #[inline(always)]
    pub unsafe fn finish<P: Path>(
        &self,
        thread: &Thread,
        request: Word,
        done: Done,
        shortcut: Option<&Shortcut>,
        status: Word,
        is_done: impl FnOnce() -> bool,
    ) {
        let Some(noted) = self.noted else { return };
        let code = done.code;
        // A call that fails has completed a request whose handle it has set to null.
        // SAFETY: the program passed the place of a request.
        let completed = if code == 0 { is_done() } else { (unsafe { abi().load(request) }) == abi().request_null };
        if completed {
            // SAFETY: the call has filled the status.
            unsafe {
                let one = finish::<P>(thread, noted, code, self.receives, status);
                if let (Some(one), Some(shortcut)) = (one, shortcut) {
                    completed::single(thread, shortcut, one, done.ticks, || peer(&one, code, status));
                }
            }
        }
    }
}

/// From whom the message of a completed receive came. The status of other requests tells nothing.
#[inline(always)]
unsafe fn peer(one: &One, code: c_int, status: Word) -> u64 {
    if code != 0 || one.kind != Kind::Receive || one.bytes == 0 {
        return completed::NO_PEER;
    }
    // SAFETY: the caller passes the status of a call that has filled it.
    unsafe { completed::peer(status) }
}

/// Whether a call over one request is given none.
#[inline(always)]
pub unsafe fn is_null(request: Word) -> bool {
    // SAFETY: as above.
    request != 0 && unsafe { abi().load(request) } == abi().request_null
}

/// Counts a call that carries no bytes, unless counting pauses. Returns its shortcut if it was counted.
#[inline(always)]
pub fn count<P: Path>(thread: &Thread, record: Record, done: Done) -> Option<&Shortcut> {
    if state::is_on_in::<P>() { Some(tally::of_record_without_bytes::<P>(thread, record, done)) } else { None }
}

/// What is left to do for a request that has completed. An error keeps the message away.
#[inline(always)]
pub unsafe fn finish<P: Path>(thread: &Thread, noted: Noted, code: c_int, receives: bool, status: Word) -> Option<One> {
    let completed = thread.requests().complete(noted)?;
    if completed.kind == Kind::Plain {
        return Some(One { kind: Kind::Plain, started: nonblocking::started_as(thread, &completed), bytes: 0 });
    }
    // SAFETY: as demanded of this one.
    let (started, bytes) = unsafe { finish_completed::<P>(thread, &completed, code, receives, status) };
    Some(One { kind: completed.kind, started, bytes })
}

#[inline(never)]
unsafe fn finish_completed<P: Path>(
    thread: &Thread,
    completed: &Completed,
    code: c_int,
    receives: bool,
    status: Word,
) -> (Started, u64) {
    match completed.kind {
        Kind::Plain => (nonblocking::started_as(thread, completed), 0),
        Kind::Receive | Kind::ReceiveInto | Kind::Read => {
            let arrived = match code == 0 && receives {
                // SAFETY: the call has filled the status.
                true if completed.kind == Kind::Read => unsafe { files::arrived(thread, completed, status) },
                // SAFETY: as above.
                true => unsafe { status::bytes(status) },
                false => 0,
            };
            let started = nonblocking::arrived(thread, completed, arrived);
            if trace::is_on_in::<P>() && code == 0 && receives && completed.kind != Kind::Read {
                // SAFETY: as above.
                unsafe { trace::received(completed.comm, completed.operation(), completed.posted, status, arrived) };
            }
            (started, arrived)
        }
        Kind::Duplicate => {
            let (place, record) = completed.duplicate;
            // SAFETY: the request has completed.
            let comm = unsafe { creators::made(place) };
            if comm != abi().comm_null {
                communicators::enter(comm, record);
            }
            (nonblocking::started_as(thread, completed), 0)
        }
    }
}

/// The requests of one call, and to whom they belong.
#[derive(Clone, Copy)]
pub struct Several<'a> {
    look: &'a Look,
    /// How many requests the call was given.
    pub length: usize,
    /// How many of them are noted.
    count: usize,
    pub record: Record,
    receives: bool,
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
        // SAFETY: as demanded of this one.
        unsafe { Several::look_by::<P, false>(thread, operation, length, array, inactive) }
    }

    /// The same; the walk may be made here and not in a function apart.
    #[inline(always)]
    pub unsafe fn look_by<P: Path, const HERE: bool>(
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
        let (record, found) = unsafe {
            match (abi().handle_bytes, inactive) {
                (4, false) if HERE => walk_here::<u32, false>(thread, operation, array as *const u32, length, noted),
                (_, false) if HERE => walk_here::<u64, false>(thread, operation, array as *const u64, length, noted),
                (4, false) => walk::<u32, false>(thread, operation, array as *const u32, length, noted),
                (4, true) => walk::<u32, true>(thread, operation, array as *const u32, length, noted),
                (_, false) => walk::<u64, false>(thread, operation, array as *const u64, length, noted),
                (_, true) => walk::<u64, true>(thread, operation, array as *const u64, length, noted),
            }
        };
        look.forget();
        Several { look, length, count: found >> 8, record, receives: requests::receives(found as u8) }
    }

    /// The same for calls that programs repeat until requests complete: where the array holds the requests of the latest such call, and
    /// none of this thread has been started or completed since, it finds what that one found.
    #[inline(always)]
    pub unsafe fn look_again<P: Path>(thread: &'a Thread, operation: u16, length: c_int, array: Word) -> Several<'a> {
        let look = thread.looks.at(0);
        let changes = if P::IS_SHORT { thread.requests().changes() } else { None };
        if let Some((record, found)) = changes.and_then(|changes| look.found(array, length, changes)) {
            let several = Several {
                look,
                length: length as usize,
                count: found >> 8,
                record,
                receives: requests::receives(found as u8),
            };
            // SAFETY: the program passes an array of so many handles.
            if unsafe { several.is_of(array) } {
                return several;
            }
        }
        // SAFETY: as above.
        let several = unsafe { Several::look::<P>(thread, operation, length, array, false) };
        // What takes part in a call over several communicators is noted each time.
        if let (Some(changes), true) = (changes, length > 0 && several.record != communicators::several()) {
            let found = several.count << 8 | if several.receives { Kind::Receive as usize } else { 0 };
            look.keep(array, length, changes, (several.record, found));
        }
        several
    }

    /// Whether an array holds the handles that were noted and no others, but for null ones.
    #[inline(always)]
    unsafe fn is_of(&self, array: Word) -> bool {
        let mut noted = self.noted().iter();
        for index in 0..self.length {
            // SAFETY: the caller passes an array of so many handles.
            let handle = unsafe { abi().load_at(array, index) };
            if handle != abi().request_null
                && !noted.next().is_some_and(|noted| noted.handle == handle && noted.index as usize == index)
            {
                return false;
            }
        }
        noted.next().is_none()
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
    pub unsafe fn finish_all<P: Path>(
        &self,
        thread: &Thread,
        done: Done,
        shortcut: Option<&Shortcut>,
        array: Word,
        statuses: Word,
    ) {
        if self.count == 0 {
            return;
        }
        // SAFETY: the call has filled the statuses, and the array has so many handles.
        unsafe {
            match done.code {
                0 => match (shortcut, self.noted()) {
                    (Some(shortcut), noted @ [_, _, ..]) => {
                        finish_all::<P>(thread, shortcut, done.ticks, noted, self.receives, statuses);
                    }
                    (_, noted) => finish_each::<P>(thread, shortcut, done.ticks, noted, self.receives, statuses),
                },
                _ => finish_failed::<P>(thread, shortcut, done.ticks, self.noted(), array, self.receives, statuses),
            }
        }
    }

    /// Some requests of the call have completed, given by their place in the array and that of their status.
    #[inline(always)]
    pub unsafe fn finish<P: Path>(
        &self,
        thread: &Thread,
        done: Done,
        shortcut: Option<&Shortcut>,
        array: Word,
        completed: impl Iterator<Item = (usize, Word)>,
    ) {
        // SAFETY: as demanded of this one.
        unsafe { finish_some::<P>(thread, done, shortcut, self.noted(), self.receives, array, completed) };
    }

    /// The call is over.
    #[inline(always)]
    pub fn leave(self, thread: &Thread) {
        thread.requests().looked();
    }
}

/// What was noted of a request, if it is followed.
#[inline(always)]
fn noted_at(noted: &[Noted], index: usize) -> Option<&Noted> {
    // Most often all of them are.
    match noted.get(index) {
        Some(found) if found.index as usize == index => Some(found),
        _ => noted.binary_search_by_key(&(index as u32), |noted| noted.index).ok().and_then(|at| noted.get(at)),
    }
}

/// Apart, since calls that programs repeat complete none most often, and given what was noted and no address of what tells it.
#[inline(never)]
unsafe fn finish_some<P: Path>(
    thread: &Thread,
    done: Done,
    shortcut: Option<&Shortcut>,
    noted: &[Noted],
    receives: bool,
    array: Word,
    completed: impl Iterator<Item = (usize, Word)>,
) {
    let mut ones = Ones::of(thread, shortcut);
    for (index, status) in completed {
        let Some(noted) = noted_at(noted, index) else { continue };
        // SAFETY: the call has filled the statuses, and the array has this many handles.
        unsafe {
            let one = match done.code {
                0 => finish::<P>(thread, *noted, 0, receives, status),
                _ => finish_where_null::<P>(thread, noted, array, receives, status),
            };
            if let Some(one) = one {
                ones.add(one, || peer(&one, done.code, status));
            }
        }
    }
    ones.end(done.ticks);
}

/// A call that fails has completed those requests whose handle it has set to null.
#[cold]
#[inline(never)]
unsafe fn finish_failed<P: Path>(
    thread: &Thread,
    shortcut: Option<&Shortcut>,
    ticks: u64,
    noted: &[Noted],
    array: Word,
    receives: bool,
    statuses: Word,
) {
    let mut ones = Ones::of(thread, shortcut);
    for noted in noted {
        let status = status_at(statuses, noted.index as usize);
        // SAFETY: the array has so many handles.
        let one = unsafe { finish_where_null::<P>(thread, noted, array, receives, status) };
        one.into_iter().for_each(|one| ones.add(one, || completed::NO_PEER));
    }
    ones.end(ticks);
}

unsafe fn finish_where_null<P: Path>(
    thread: &Thread,
    noted: &Noted,
    array: Word,
    receives: bool,
    status: Word,
) -> Option<One> {
    // SAFETY: the call has filled the status, and the array has this many handles.
    unsafe {
        if abi().load_at(array, noted.index as usize) != abi().request_null {
            return None;
        }
        let is_error = status == 0 || status::error(status) != 0;
        finish::<P>(thread, *noted, c_int::from(is_error), receives, status)
    }
}

/// Finishes requests that all have completed.
#[inline(never)]
unsafe fn finish_all<P: Path>(
    thread: &Thread,
    shortcut: &Shortcut,
    ticks: u64,
    noted: &[Noted],
    receives: bool,
    statuses: Word,
) {
    let mut completions = Completions::of(thread, shortcut);
    for noted in noted {
        let status = || status_at(statuses, noted.index as usize);
        match thread.requests().complete_simply(noted) {
            Some((Kind::Receive, slot)) if receives && P::IS_SHORT => {
                // SAFETY: the call has filled the statuses.
                let bytes = unsafe { status::bytes(status()) };
                completions.received(nonblocking::arrived_where::<P>(thread, slot, bytes), bytes);
            }
            Some((Kind::Plain, slot)) => completions.other(slot.shortcut.cast()),
            // SAFETY: as above.
            Some((kind, slot)) => unsafe {
                let (started, bytes) = finish_completed::<P>(thread, &slot.completed(), 0, receives, status());
                completions.add(One { kind, started, bytes });
            },
            None => {
                // SAFETY: as above.
                let one = unsafe { finish_apart::<P>(thread, noted, receives, status()) };
                one.into_iter().for_each(|one| completions.add(one));
            }
        }
    }
    completions.end(ticks);
}

/// The same of a single one, which may tell from whom it came, and of what is not counted.
#[inline(never)]
unsafe fn finish_each<P: Path>(
    thread: &Thread,
    shortcut: Option<&Shortcut>,
    ticks: u64,
    noted: &[Noted],
    receives: bool,
    statuses: Word,
) {
    let mut ones = Ones::of(thread, shortcut);
    for noted in noted {
        let status = status_at(statuses, noted.index as usize);
        // SAFETY: the call has filled the statuses.
        unsafe {
            if let Some(one) = finish::<P>(thread, *noted, 0, receives, status) {
                ones.add(one, || peer(&one, 0, status));
            }
        }
    }
    ones.end(ticks);
}

#[cold]
#[inline(never)]
unsafe fn finish_apart<P: Path>(thread: &Thread, noted: &Noted, receives: bool, status: Word) -> Option<One> {
    // SAFETY: the call has filled the status.
    unsafe { finish::<P>(thread, *noted, 0, receives, status) }
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

/// As [`walk_here`], for all but the calls that programs make most.
#[inline(never)]
unsafe fn walk<H: Handle, const INACTIVE: bool>(
    thread: &Thread,
    operation: u16,
    array: *const H,
    length: usize,
    noted: *mut Noted,
) -> (Record, usize) {
    // SAFETY: as demanded of this one.
    unsafe { walk_here::<H, INACTIVE>(thread, operation, array, length, noted) }
}

/// Looks at each request of an array, and notes those that count: the communicator that the call belongs to, and how many were noted,
/// above the bits of their kinds.
#[inline(always)]
unsafe fn walk_here<H: Handle, const INACTIVE: bool>(
    thread: &Thread,
    operation: u16,
    array: *const H,
    length: usize,
    noted: *mut Noted,
) -> (Record, usize) {
    let null = abi().request_null;
    // SAFETY: the caller passes an array of so many handles.
    let at = |index: usize| unsafe { array.add(index).read_unaligned() };
    let are_null =
        |from: usize| (from..from + GROUP).fold(0, |found, index| found | (at(index).word() ^ H::of(null).word())) == 0;
    let stamp = thread.stamp();
    let (mut record, mut kinds, mut differ) = (communicators::none(), 0, 0);
    let mut end = noted;
    let mut index = 0;
    while index < length {
        // Without a call in it, so that all of this stays in registers.
        if let (false, Some(mut requests)) = (INACTIVE, thread.requests().alone()) {
            let is_done = loop {
                let handle = at(index).word();
                if handle != null {
                    let Some(place) = requests.place_of(handle) else { break false };
                    let slot = requests.slot(place);
                    if slot.state != State::Active || !slot.is_seen_simply(stamp) {
                        break false;
                    }
                    record = if end == noted { slot.comm } else { record };
                    kinds |= slot.kind as u8;
                    differ |= record as usize ^ slot.comm as usize;
                    // SAFETY: there is room for as many as there are handles.
                    unsafe {
                        end.write(Noted::at(handle, place, index));
                        end = end.add(1);
                    }
                    index += 1;
                } else {
                    index += 1;
                    while index + GROUP <= length && are_null(index) {
                        index += GROUP;
                    }
                }
                if index >= length {
                    break true;
                }
            };
            if is_done {
                break;
            }
        }
        let handle = at(index).word();
        index += 1;
        if handle == null {
            continue;
        }
        let Some(seen) = requests::seen(thread.requests(), &thread.unknown, handle, stamp) else { continue };
        if !seen.active && !INACTIVE {
            continue;
        }
        record = if end == noted { seen.comm } else { record };
        kinds |= seen.kind as u8;
        differ |= record as usize ^ seen.comm as usize;
        // SAFETY: as above.
        unsafe {
            end.write(Noted::new(handle, &seen, index - 1));
            end = end.add(1);
        }
    }
    // SAFETY: both lie in the same room.
    let count = unsafe { end.offset_from_unsigned(noted) };
    if differ != 0 {
        // SAFETY: so many were written.
        record = note_involved(thread, operation, INACTIVE, unsafe { slice::from_raw_parts(noted, count) });
    }
    (record, count << 8 | usize::from(kinds))
}

/// Notes each communicator that takes part in a call over several, once per call. Returns the row that the call belongs to.
#[cold]
#[inline(never)]
fn note_involved(thread: &Thread, operation: u16, inactive: bool, noted: &[Noted]) -> Record {
    let mut record = communicators::none();
    let stamp = thread.stamp();
    for noted in noted {
        let Some(seen) = requests::seen(thread.requests(), &thread.unknown, noted.handle, stamp) else { continue };
        if record == communicators::none() {
            record = seen.comm;
        } else if record != seen.comm {
            record = communicators::several();
        }
        if (seen.active || inactive) && state::is_on() {
            thread.counters.count(tally::key(seen.comm, operation, BUCKET_INVOLVED), |cell| {
                // These counters have no times: their place keeps the call that was noted last.
                if cell.ticks != stamp {
                    cell.ticks = stamp;
                    cell.calls += 1;
                }
            });
        }
    }
    record
}

#[inline(always)]
pub fn status_at(statuses: Word, index: usize) -> Word {
    if statuses == abi().status_ignore { 0 } else { statuses + index * abi().status.bytes }
}

/// Like `look`, but an inactive persistent request belongs to its communicator, too.
pub unsafe fn look_any(thread: &Thread, request: Word) -> (Word, Record, bool) {
    // SAFETY: a null address is the program's mistake, which the library will report.
    let handle = if request == 0 { abi().request_null } else { unsafe { abi().load(request) } };
    match requests::seen(thread.requests(), &thread.unknown, handle, thread.stamp()) {
        Some(seen) => (handle, seen.comm, seen.kind.receives()),
        None => (handle, communicators::none(), false),
    }
}
