//! Calls that make communicators over one that all members have, and calls that name them. Names need no message: what all members know decides. `groups.rs` has
//! those that are made without one, `frees.rs` the end of all.

use std::ffi::{CStr, c_char, c_int};

use super::forward::timed;
use crate::fortran::{self, Object};
use crate::guest::clock;
use crate::guest::guard::{guarded, recorded};
use crate::guest::short_path::{Full, Path};
use crate::guest::state::{self, Alone};
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::{self, Record};
use crate::objects::labels;
use crate::objects::requests::{self, Extra, HandleAddress, Kind, Request};
use crate::record::carriers::{self, Comm};
use crate::record::in_flight::{self, Inside};
use crate::record::tally::{self, Done};
use crate::sites;
use crate::thread::Thread;

/// The communicator that a creating call is collective over. One that is not known is registered now, before the call: all
/// members do so at the same point of their order.
pub fn parent(thread: &Thread, comm: Word) -> Record {
    // The call may fail, and a handle that is none must not be asked for its size.
    let known = communicators::known(comm);
    if known != communicators::none() || comm & abi().mask == abi().comm_null {
        return known;
    }
    if comm & abi().mask == abi().comm_self { communicators::of(&thread.communicators, comm) } else { known }
}

/// The same where the record is asked for afterwards: should the program die in the call, it is there. That of the latest call was registered
/// then.
#[inline(always)]
pub fn meet<P: Path>(thread: &Thread, comm: Word, operation: u16) {
    if !P::IS_SHORT || !thread.shortcuts.latest(operation).was_for(comm) {
        meet_first(thread, comm);
    }
}

#[cold]
#[inline(never)]
fn meet_first(thread: &Thread, comm: Word) {
    parent(thread, comm);
}

/// As [`failed`](super::forward::failed), which is of the short path only, without the time of calls that were made in it.
#[cold]
#[inline(never)]
pub fn failed<P: Path>(thread: &Thread, inside: Inside<P>, operation: u16, code: c_int) -> c_int {
    let end = clock::now_on::<P>();
    let (begin, comm) = in_flight::leave_as_noted::<P>(inside, 0, 0, end);
    let ticks = tally::without_nested::<P>(thread, tally::counted_before::<P>(thread), begin, end.wrapping_sub(begin));
    recorded(|| tally::failed::<Comm>(thread, comm, operation, code, ticks));
    code
}

/// Notes that a parent has seen one more creating call, and returns which one it was.
unsafe fn next_child(parent: Record) -> u32 {
    // SAFETY: records are never freed; MPI forbids two collective calls over one communicator at the same time.
    unsafe {
        (*parent).children += 1;
        (*parent).children
    }
}

/// Where in the code a call was made that has made something.
#[inline(always)]
pub fn birthplace(thread: &Thread, done: Done) -> u32 {
    sites::birthplace(thread.in_flight.caller_of(done.operation) as usize)
}

pub fn count(thread: &Thread, record: Record, done: Done) {
    if state::is_on() {
        tally::plain(thread, record, done);
    }
}

/// After a call that made a communicator (or gave this process none) collectively over its parent.
pub unsafe fn created(thread: &Thread, parent: Record, letter: u8, comm: Word, place: Word, done: Done) {
    if done.code != 0 {
        return tally::failed::<Comm>(thread, comm, done.operation, done.code, done.ticks);
    }
    let parent = if parent == communicators::none() { communicators::of(&thread.communicators, comm) } else { parent };
    count(thread, parent, done);
    // SAFETY: the call succeeded, so it has filled the place.
    let (sequence, made) = unsafe { (next_child(parent), abi().load_made(place, abi().comm_null)) };
    if matches!(letter, b'd' | b'D') && made != abi().comm_null {
        let birthplace = birthplace(thread, done);
        // SAFETY: records are never freed.
        if let Some(record) = unsafe { communicators::duplicate(parent, sequence, letter, birthplace) } {
            communicators::enter(made, record);
        }
    } else {
        // SAFETY: the call that made it has succeeded.
        guarded(|| unsafe { communicators::created(parent, sequence, letter, made, || birthplace(thread, done)) });
    }
}

/// The same for a duplicate. All that might need a function is asked for before anything is done, so that no register must outlast one.
#[inline(always)]
pub unsafe fn duplicated<P: Path>(thread: &Thread, letter: u8, comm: Word, place: Word, done: Done) {
    let Done { operation, code, ticks } = done;
    // SAFETY: as demanded of this one.
    unsafe {
        if !duplicated_at_once::<P>(state::alone_unwatched(), thread, letter, comm, place, done) {
            duplicated_apart::<P>(thread, letter, comm, place, operation, code, ticks);
        }
    }
}

/// Returns whether there was room, and the call was made where the one before was.
#[inline(always)]
unsafe fn duplicated_at_once<P: Path>(
    alone: Option<Alone>,
    thread: &Thread,
    letter: u8,
    comm: Word,
    place: Word,
    Done { operation, code, ticks }: Done,
) -> bool {
    // As it is known now: the program's callbacks may have changed whatever was known before the call.
    if P::IS_SHORT
        && code == 0
        && let Some(alone) = alone
        && let Some(shortcut) = carriers::latest::<P>(thread, operation, comm)
        && let Some(words) = shortcut.duplicate(thread.in_flight.caller_on::<P>(operation))
        && communicators::have_room(alone)
    {
        let parent = shortcut.record.get();
        // SAFETY: the call succeeded, so it has filled the place; records are never freed; there is room.
        unsafe {
            let (sequence, made) = (next_child(parent), abi().load_made(place, abi().comm_null));
            if made != abi().comm_null {
                communicators::duplicated(alone, parent, sequence, letter, words, made);
            }
        }
        tally::again_without_bytes::<P>(thread, shortcut, operation, ticks);
        return true;
    }
    false
}

/// It is given words, not a [`Done`], which would lie in memory for it.
#[cold]
#[inline(never)]
unsafe fn duplicated_apart<P: Path>(
    thread: &Thread,
    letter: u8,
    comm: Word,
    place: Word,
    operation: u16,
    code: c_int,
    ticks: u64,
) {
    let done = Done { operation, code, ticks };
    // Where a hook module watches handles, it is told.
    // SAFETY: as demanded of this one.
    if unsafe { duplicated_at_once::<P>(state::alone(), thread, letter, comm, place, done) } {
        return;
    }
    let parent = parent(thread, comm);
    if !P::IS_SHORT || parent == communicators::none() || done.code != 0 {
        // SAFETY: as demanded of this one.
        return unsafe { created(thread, parent, letter, comm, place, done) };
    }
    tally::call_without_bytes::<P, Comm>(thread, comm, done);
    // SAFETY: the call succeeded, so it has filled the place; records are never freed.
    unsafe {
        let (sequence, made) = (next_child(parent), abi().load_made(place, abi().comm_null));
        if made == abi().comm_null {
            return;
        }
        let caller = thread.in_flight.caller_on::<P>(operation);
        let (site, is_of_all) = sites::of_any_call_from(caller as usize);
        if let Some(shortcut) = carriers::latest::<P>(thread, operation, comm) {
            match is_of_all {
                true => shortcut
                    .set_duplicate(caller, communicators::words_of_duplicate(&*shortcut.record.get(), letter, site)),
                // What stands there may be another parent's.
                false => shortcut.forget_duplicate(),
            }
        }
        if let Some(record) = communicators::duplicate(parent, sequence, letter, site) {
            communicators::enter(made, record);
        }
    }
}

/// The handle that a nonblocking duplication has made.
pub unsafe fn made(place: HandleAddress) -> Word {
    // SAFETY: the program keeps the place until the request has completed.
    unsafe {
        match place {
            HandleAddress::C(place) => abi().load_made(place, abi().comm_null),
            HandleAddress::Fortran(place) => fortran::handle::<Full>(Object::Comm, place),
        }
    }
}

/// After a nonblocking duplication: named now, entered under its handle when the request has completed.
unsafe fn duplicating(thread: &Thread, letter: u8, comm: Word, place: HandleAddress, request: Word, done: Done) {
    if done.code != 0 {
        return tally::failed::<Comm>(thread, comm, done.operation, done.code, done.ticks);
    }
    let parent = communicators::of(&thread.communicators, comm);
    count(thread, parent, done);
    // SAFETY: the call has succeeded, so the program passed a place for the request.
    guarded(|| unsafe {
        let sequence = next_child(parent);
        let Some(record) = communicators::duplicate(parent, sequence, letter, birthplace(thread, done)) else {
            return;
        };
        let handle = abi().load_made(request, abi().request_null);
        if handle == abi().request_null {
            let made = made(place);
            if made != abi().comm_null {
                communicators::enter(made, record);
            }
            return;
        }
        let cells = tally::key(parent, done.operation, 0);
        let request = Request { cells, ..Request::new(thread.number, parent, Kind::Duplicate) };
        if let Some(request) = request.with(Extra::Duplicate { place, record }) {
            requests::start(handle, || request, !thread.is_outside());
        }
    });
}

macro_rules! duplications {
    ($($name:ident $letter:literal;)*) => {$(
        pub unsafe fn $name(
            thread: &Thread,
            comm: Word,
            newcomm: HandleAddress,
            request: Word,
            forward: impl FnOnce() -> c_int,
        ) -> c_int {
            let done = timed!(thread, communicators::known(comm), $name, forward());
            recorded(|| {
                // SAFETY: the program passed places for what the call makes.
                unsafe { duplicating(thread, $letter, comm, newcomm, request, done) };
            });
            done.code
        }
    )*};
}

duplications! {
    MPI_Comm_idup b'i';
    MPI_Comm_idup_with_info b'o';
}

pub unsafe fn MPI_Comm_set_name(
    thread: &Thread,
    comm: Word,
    comm_name: Word,
    forward: impl FnOnce() -> c_int,
) -> c_int {
    let done = timed!(thread, communicators::known(comm), MPI_Comm_set_name, forward());
    recorded(|| {
        if done.code != 0 {
            tally::failed::<Comm>(thread, comm, done.operation, done.code, done.ticks);
            return;
        }
        let record = communicators::of(&thread.communicators, comm);
        count(thread, record, done);
        if record == communicators::none() || comm_name == 0 {
            return;
        }
        // SAFETY: the call has succeeded, so the text that it was given ends with a zero byte.
        guarded(|| unsafe {
            let label = CStr::from_ptr(comm_name as *const c_char).to_string_lossy();
            labels::set(record, &label);
        });
    });
    done.code
}
