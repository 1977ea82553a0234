//! The requests of a call, looked at before it: afterwards their handles are null, or another's. `finish.rs` does what is left to do after
//! it. What a call has not completed goes back into the map, also where the program leaves the call by an exception.

use std::ffi::c_int;
use std::{ptr, slice};

use vocabulary::shard::BUCKET_INVOLVED;

use super::array::Handle;
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::{self, Record};
use crate::objects::requests::{self, Map, Noted, Request, State};
use crate::record::completed;
use crate::record::tally::{self, Done};
use crate::thread::Thread;
use crate::thread::looks::Look;

/// The one request of a call, if it is active.
pub struct Single {
    pub noted: Noted,
    /// Where the program has it.
    place: Word,
    pub record: Record,
    pub receives: bool,
}

impl Drop for Single {
    #[inline(always)]
    fn drop(&mut self) {
        // Where it is null the library has freed it, in a call that was left by an exception.
        // SAFETY: it was taken from there.
        if self.noted.request.state == State::Active && unsafe { abi().load(self.place) } != abi().request_null {
            self.noted.put_back();
        }
    }
}

impl Single {
    #[inline(always)]
    pub unsafe fn look(thread: &Thread, request: Word) -> Single {
        let mut single =
            Single { noted: Noted::none(), place: request, record: communicators::none(), receives: false };
        let noted = &mut single.noted;
        // SAFETY: as demanded of this one; there is room for one.
        if unsafe { Map::enter().take(thread.number, handle_at(request), 0, noted, false) } {
            single.record = single.noted.request.comm;
            single.receives = single.noted.request.kind.receives();
        }
        single
    }
}

#[inline(always)]
pub unsafe fn handle_at(request: Word) -> Word {
    // SAFETY: a null address is the program's mistake, which the library will report.
    if request == 0 { abi().request_null } else { unsafe { abi().load(request) } }
}

/// Of a request that a call does not complete: the handle by which it is known, and to whom it belongs, also while it is not started.
pub unsafe fn look_any(request: Word) -> (Word, Record) {
    // SAFETY: as demanded of this one.
    let handle = unsafe { handle_at(request) };
    requests::find(handle, |request| request.comm).unwrap_or((handle, communicators::none()))
}

/// Counts a call that carries no bytes, unless counting pauses. What it has completed is counted by what this returns, if it is.
#[inline(always)]
pub fn count(thread: &Thread, record: Record, done: Done) -> Option<completed::Call<'_>> {
    if !state::is_on() {
        return None;
    }
    Some(completed::Call::new(thread, record, tally::of_record_without_bytes(thread, record, done)))
}

/// What a call over several requests does with them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Completes all that are active.
    All,
    /// Completes some: programs repeat the call until all are complete, so that most often it completes none.
    Poll,
    /// Starts them: those count that are not active, too.
    Start,
    /// Asks about them, and leaves them as they are.
    Ask,
}

/// The requests of one call, and to whom they belong.
pub struct Several<'a> {
    pub look: &'a Look,
    /// The call's array.
    array: Word,
    /// How many requests the call was given.
    pub length: usize,
    /// How many of them are noted.
    count: usize,
    /// None is noted: each is in the map still, and the only one of its handle.
    is_peeked: bool,
    pub record: Record,
    pub receives: bool,
}

impl Drop for Several<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.count != 0 {
            self.put_back();
        }
    }
}

impl<'a> Several<'a> {
    /// None are looked at yet.
    #[inline(always)]
    pub fn of(thread: &'a Thread, array: Word) -> Several<'a> {
        let look = thread.looks.at(thread.in_flight.depth() - 1);
        let (record, receives) = (communicators::none(), false);
        Several { look, array, length: 0, count: 0, is_peeked: false, record, receives }
    }

    /// Looks at those of the array, of which there are so many. Where it stays: what it has found is much to be moved.
    #[inline(always)]
    pub unsafe fn look(&mut self, thread: &Thread, operation: u16, length: c_int, used: Use) {
        // Without room what completes is not seen; nor without an array, or of less than no request, of which the library will tell.
        if self.array == 0 || !self.look.has_room(length) {
            return;
        }
        self.length = length as usize;
        let (call, array) = (Call { thread, operation }, self.array);
        // SAFETY: the program passes an array of so many handles.
        let handle_at = |index| unsafe { abi().load_at(array, index) };
        if used == Use::Ask {
            return self.ask(call, handle_at);
        }
        let may_peek = used == Use::Poll && !state::is_threaded();
        if !may_peek || self.peek(handle_at).is_none() {
            // SAFETY: as above.
            unsafe {
                match abi().handle_bytes {
                    4 => self.take(call, array as *const u32, used),
                    _ => self.take(call, array as *const u64, used),
                }
            }
        }
    }

    /// Looks at requests of one communicator, each the only one of its handle, without taking them out.
    #[inline(always)]
    fn peek(&mut self, handle_at: impl Fn(usize) -> Word) -> Option<()> {
        let (mut row, mut kinds) = (ptr::null_mut(), 0);
        let map = Map::enter();
        for index in 0..self.length {
            let handle = handle_at(index);
            // SAFETY: there is room for as many.
            unsafe { self.look.handles().add(index).write(handle) };
            if handle == abi().request_null {
                continue;
            }
            let (comm, kind) = map.peek(handle)?;
            if row != comm && !comm.is_null() {
                if !row.is_null() {
                    return None;
                }
                row = comm;
            }
            kinds |= kind;
        }
        self.record = if row.is_null() { communicators::none() } else { row };
        self.receives = requests::receives(kinds);
        self.is_peeked = true;
        Some(())
    }

    /// Looks at the oldest request of each handle.
    fn ask(&mut self, call: Call, handle_at: impl Fn(usize) -> Word) {
        let (mut row, mut kinds) = (Row::none(), 0);
        let asked = |request: &Request| request.is_active().then_some((request.comm, request.kind));
        for index in 0..self.length {
            if let Some((_, Some((comm, kind)))) = requests::find(handle_at(index), asked) {
                if row.comm != comm {
                    row = row.with(call, comm);
                }
                kinds |= kind as u8;
            }
        }
        self.record = row.record();
        self.receives = requests::receives(kinds);
    }

    /// Takes the requests out of the map.
    #[inline(always)]
    unsafe fn take<H: Handle>(&mut self, call: Call, array: *const H, used: Use) {
        // SAFETY: the caller passes an array of so many handles, and there is room for as many.
        let Found { record, count, kinds } =
            unsafe { take_each(call, array, self.length, self.look.noted(), used == Use::Start) };
        self.count = count as usize;
        self.record = record;
        self.receives = requests::receives(kinds);
        self.is_peeked = false;
    }

    /// All that were looked at have completed: those that are still in the map are taken out.
    pub fn take_all(&mut self, thread: &Thread, operation: u16) {
        if self.is_peeked {
            // SAFETY: so many were written.
            unsafe { self.take(Call { thread, operation }, self.look.handles().cast::<u64>(), Use::All) };
        }
    }

    /// Those that are followed, in the order of the array.
    #[inline(always)]
    pub fn noted(&self) -> &[Noted] {
        // SAFETY: so many were written, and nobody else writes there before this call has returned.
        if self.count == 0 { &[] } else { unsafe { slice::from_raw_parts(self.look.noted(), self.count) } }
    }

    #[inline(always)]
    pub fn noted_mut(&mut self) -> &mut [Noted] {
        // SAFETY: as above.
        if self.count == 0 { &mut [] } else { unsafe { slice::from_raw_parts_mut(self.look.noted(), self.count) } }
    }

    #[inline(never)]
    fn put_back(&mut self) {
        // Those that are null the library has freed, in a call that was left by an exception.
        // SAFETY: the array has so many handles.
        let is_there = |noted: &&Noted| unsafe { abi().load_at(self.array, noted.index) } != abi().request_null;
        // Each in front of the others.
        self.noted().iter().rev().filter(is_there).for_each(Noted::put_back);
        self.count = 0;
    }

    /// None is left to be put back.
    #[inline(always)]
    pub fn forget(&mut self) {
        self.count = 0;
    }

    /// The request at a place of the array, if it is active, and has not completed yet.
    pub fn at(&mut self, thread: &Thread, index: usize) -> Option<Noted> {
        let mut found = Noted::none();
        if self.is_peeked {
            // SAFETY: so many were written; there is room for one.
            unsafe {
                let handle = self.look.handles().add(index).read();
                Map::enter().take(thread.number, handle, index, &mut found, false);
            }
        } else if let Ok(place) = self.noted().binary_search_by_key(&index, |noted| noted.index) {
            found = self.noted()[place];
        }
        found.request.is_active().then_some(found)
    }

    /// What has become of it.
    pub fn put_at(&mut self, noted: Noted) {
        if self.is_peeked {
            noted.put_back();
        } else if let Ok(place) = self.noted().binary_search_by_key(&noted.index, |noted| noted.index) {
            self.noted_mut()[place] = noted;
        }
    }

    /// The statuses to pass on: the program's, or ours where it ignores them and messages may arrive.
    #[inline(always)]
    pub fn statuses(&self, statuses: Word) -> Word {
        self.look.stand_in(self.receives, statuses)
    }
}

/// What was found in an array.
struct Found {
    record: Record,
    count: u32,
    /// All of theirs.
    kinds: u8,
}

/// Takes the requests of an array out of the map, and notes them.
///
/// # Safety
/// There are so many handles, and there is room for as many.
#[inline(always)]
unsafe fn take_each<H: Handle>(call: Call, array: *const H, length: usize, room: *mut Noted, inactive: bool) -> Found {
    let (mut row, mut kinds, mut noted) = (Row::none(), 0, room);
    let (map, null) = (Map::enter(), abi().request_null);
    for index in 0..length {
        // SAFETY: as demanded.
        unsafe {
            let handle = array.add(index).read_unaligned().word();
            if handle == null || !map.take(call.thread.number, handle, index, noted, inactive) {
                continue;
            }
            let request = &(*noted).request;
            if row.comm != request.comm {
                row = row.with(call, request.comm);
            }
            kinds |= request.kind as u8;
            noted = noted.add(1);
        }
    }
    // SAFETY: both are of the same room.
    Found { record: row.record(), count: unsafe { noted.offset_from_unsigned(room) } as u32, kinds }
}

/// A call over requests.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub thread: &'a Thread,
    pub operation: u16,
}

/// To whom a call over several requests belongs: to the communicator of all of them, or to the row of several.
#[derive(Clone, Copy)]
struct Row {
    /// That of the latest, or null.
    comm: Record,
    /// Of the call, once they are of several, or 0.
    stamp: u64,
}

impl Row {
    fn none() -> Row {
        Row { comm: ptr::null_mut(), stamp: 0 }
    }

    /// By value, so that it stays in registers where all are of one.
    #[inline(always)]
    fn with(self, call: Call, comm: Record) -> Row {
        if self.comm.is_null() { Row { comm, ..self } } else { self.with_another(call, comm) }
    }

    #[inline(never)]
    fn with_another(mut self, call: Call, comm: Record) -> Row {
        let none = communicators::none();
        // What belongs to no communicator, as that of a file which nobody saw opened, makes no call one over several.
        if self.comm != none {
            if comm == none {
                return self;
            }
            if self.stamp == 0 {
                self.stamp = call.thread.stamp();
                takes_part(call, self.stamp, self.comm);
            }
            takes_part(call, self.stamp, comm);
        }
        self.comm = comm;
        self
    }

    fn record(&self) -> Record {
        match self.comm.is_null() {
            true => communicators::none(),
            false if self.stamp != 0 => communicators::several(),
            false => self.comm,
        }
    }
}

/// Counts that a communicator takes part in a call over several, once per call.
fn takes_part(Call { thread, operation }: Call, stamp: u64, comm: Record) {
    if !state::is_on() {
        return;
    }
    thread.counters.count(tally::key(comm, operation, BUCKET_INVOLVED), |cell| {
        // These counters have no times: their place keeps the call that was noted last.
        if cell.ticks != stamp {
            cell.ticks = stamp;
            cell.calls += 1;
        }
    });
}
