//! Calls that make communicators over one that all members have, and calls that name them. Names need no message: what all members know decides. `groups.rs` has
//! those that are made without one, `frees.rs` the end of all.

use std::ffi::{CStr, c_char, c_int};

use super::forward::timed;
use crate::fortran::{self, Object};
use crate::guest::guard::{guarded, recorded};
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::{self, Record};
use crate::objects::labels;
use crate::objects::requests::{self, Extra, HandleAddress, Kind, Request};
use crate::record::carriers::Comm;
use crate::record::nonblocking;
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
pub fn birthplace(thread: &Thread) -> u32 {
    sites::birthplace(thread.in_flight.caller() as usize)
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
        let birthplace = birthplace(thread);
        // SAFETY: records are never freed.
        if let Some(record) = unsafe { communicators::duplicate(parent, sequence, letter, birthplace) } {
            communicators::enter(made, record);
        }
    } else {
        // SAFETY: the call that made it has succeeded.
        guarded(|| unsafe { communicators::created(parent, sequence, letter, made, || birthplace(thread)) });
    }
}

/// The handle that a nonblocking duplication has made.
pub unsafe fn made(place: HandleAddress) -> Word {
    // SAFETY: the program keeps the place until the request has completed.
    unsafe {
        match place {
            HandleAddress::C(place) => abi().load_made(place, abi().comm_null),
            HandleAddress::Fortran(place) => fortran::handle(Object::Comm, place),
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
        let Some(record) = communicators::duplicate(parent, sequence, letter, birthplace(thread)) else {
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
            requests::start(handle, || request, nonblocking::is_within(thread));
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
