//! The requests of a call, looked at before it: afterwards their handles are null, or another's. `finish.rs` does what is left to do after
//! it. What a call has not completed goes back into the map, also where the program leaves the call by an exception.

use std::ffi::c_int;
use std::ptr;

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
    Some(completed::Call::new(thread, tally::of_record_without_bytes(thread, record, done)))
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

/// The requests of one call, and to whom they belong. Those that it has not completed go back where this is dropped.
pub struct Several<'a> {
    pub look: &'a Look,
    pub record: Record,
    pub receives: bool,
}

impl Drop for Several<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.look.put_back();
    }
}

impl<'a> Several<'a> {
    /// Looks at the requests of an array, of which there are so many. Without room what completes is not seen; nor without an array, or of
    /// less than one request, of which the library will tell.
    #[inline(always)]
    pub unsafe fn look(call: Call<'a>, array: Word, length: c_int, used: Use) -> Several<'a> {
        let look = call.thread.looks.at(call.thread.in_flight.depth() - 1);
        let none = Found { record: communicators::none(), receives: false };
        // SAFETY: the program passes an array of so many handles.
        let found = if look.begin(array, length) { unsafe { find(call, look, used) } } else { none };
        Several { look, record: found.record, receives: found.receives }
    }

    /// The statuses to pass on: the program's, or ours where it ignores them and messages may arrive.
    #[inline(always)]
    pub fn statuses(&self, statuses: Word) -> Word {
        self.look.stand_in(self.receives, statuses)
    }
}

#[inline(always)]
unsafe fn find(call: Call, look: &Look, used: Use) -> Found {
    if used == Use::Ask {
        return ask(call, look);
    }
    let may_peek = used == Use::Poll && !state::is_threaded();
    if may_peek && let Some(found) = peek(look) {
        return found;
    }
    // SAFETY: there are so many handles in the array, as is demanded of this one.
    unsafe {
        match abi().handle_bytes {
            4 => take_each(call, look, look.array() as *const u32, used == Use::Start),
            _ => take_each(call, look, look.array() as *const u64, used == Use::Start),
        }
    }
}

/// All that were looked at have completed: those that are still in the map are taken out.
pub fn take_all(call: Call, look: &Look) {
    if look.is_peeked() {
        // SAFETY: so many were written.
        unsafe { take_each(call, look, look.handles().cast::<u64>(), false) };
    }
}

/// Looks at requests of one communicator, each the only one of its handle, without taking them out.
#[inline(always)]
fn peek(look: &Look) -> Option<Found> {
    let (mut row, mut kinds) = (ptr::null_mut(), 0);
    let map = Map::enter();
    for index in 0..look.length() {
        // SAFETY: the array has so many handles, and there is room for as many.
        let handle = unsafe {
            let handle = abi().load_at(look.array(), index);
            look.handles().add(index).write(handle);
            handle
        };
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
    look.leave_in_map();
    let record = if row.is_null() { communicators::none() } else { row };
    Some(Found { record, receives: requests::receives(kinds) })
}

/// Looks at the oldest request of each handle.
fn ask(call: Call, look: &Look) -> Found {
    let (mut row, mut kinds) = (Row::none(), 0);
    let asked = |request: &Request| request.is_active().then_some((request.comm, request.kind));
    for index in 0..look.length() {
        // SAFETY: the array has so many handles.
        let handle = unsafe { abi().load_at(look.array(), index) };
        if let Some((_, Some((comm, kind)))) = requests::find(handle, asked) {
            if row.comm != comm {
                row = row.with(call, comm);
            }
            kinds |= kind as u8;
        }
    }
    Found { record: row.record(), receives: requests::receives(kinds) }
}

/// What was found in an array.
struct Found {
    record: Record,
    receives: bool,
}

/// Takes the requests of an array out of the map, and notes them: by a short loop as long as they are of one communicator and each is the
/// only one of its handle, and by another one from there on.
///
/// # Safety
/// There are so many handles as the call was given.
#[inline(always)]
unsafe fn take_each<H: Handle>(call: Call, look: &Look, array: *const H, inactive: bool) -> Found {
    let (mut comm, mut kinds, mut noted) = (ptr::null_mut(), 0, look.room());
    let (map, null) = (Map::enter(), abi().request_null);
    for index in 0..look.length() {
        // SAFETY: as demanded; there is room for as many.
        unsafe {
            let handle = array.add(index).read_unaligned().word();
            if handle != null {
                let Some(of) = map.take_only(handle, comm, noted) else {
                    return take_rest(call, look, array, inactive, (index, noted, comm, kinds));
                };
                comm = of;
                (*noted).index = index;
                kinds |= (*noted).request.kind as u8;
                noted = noted.add(1);
            }
        }
    }
    // SAFETY: both are of the same room.
    look.note(unsafe { noted.offset_from_unsigned(look.room()) });
    let record = if comm.is_null() { communicators::none() } else { comm };
    Found { record, receives: requests::receives(kinds) }
}

/// The same from one request on, whatever it is.
///
/// # Safety
/// As above.
#[inline(never)]
unsafe fn take_rest<H: Handle>(
    call: Call,
    look: &Look,
    array: *const H,
    inactive: bool,
    (first, mut noted, comm, mut kinds): (usize, *mut Noted, Record, u8),
) -> Found {
    let mut row = Row { comm, stamp: 0 };
    let (map, null) = (Map::enter(), abi().request_null);
    for index in first..look.length() {
        // SAFETY: as demanded; there is room for as many.
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
    look.note(unsafe { noted.offset_from_unsigned(look.room()) });
    Found { record: row.record(), receives: requests::receives(kinds) }
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
