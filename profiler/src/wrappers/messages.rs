//! Matched probes and receives: a message belongs to the communicator it was probed on. And receives from nobody.

use std::ffi::c_int;

use vocabulary::calls::op;

use super::forward::timed;
use crate::guest::guard::{Undo, recorded};
use crate::guest::state;
use crate::mpi::abi::{Abi, Word, abi};
use crate::mpi::status;
use crate::objects::communicators::{self, Record};
use crate::objects::message::{self, Matched};
use crate::record::call::{Over, call};
use crate::record::carriers::{Comm, Known};
use crate::record::nonblocking;
use crate::record::tally::{self, Done};
use crate::thread::Thread;
use crate::trace;
use crate::volume::{self, Volume};

pub unsafe fn MPI_Mprobe(
    thread: &Thread,
    source: c_int,
    comm: Word,
    message: Word,
    status: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    let done = call(thread, op::MPI_Mprobe, Over::Comm(comm), || forward(status));
    recorded(|| {
        if done.code == 0 && source != abi().proc_null {
            // SAFETY: the program passes the place of a message, which the call has filled.
            unsafe { found(thread, comm, message) };
        }
        count(thread, comm, done);
    });
    done.code
}

pub unsafe fn MPI_Improbe(
    thread: &Thread,
    source: c_int,
    comm: Word,
    flag: Word,
    message: Word,
    status: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    let done = call(thread, op::MPI_Improbe, Over::Comm(comm), || forward(status));
    recorded(|| {
        // SAFETY: the call has succeeded and filled the flag.
        if done.code == 0 && unsafe { Abi::told(flag) } != 0 && source != abi().proc_null {
            // SAFETY: and the place of the message.
            unsafe { found(thread, comm, message) };
        }
        count(thread, comm, done);
    });
    done.code
}

/// A message that one receive takes. `MPI_MESSAGE_NO_PROC` may be received once, often or never, and is not followed.
#[inline(never)]
unsafe fn found(thread: &Thread, comm: Word, message: Word) {
    if message != 0 {
        let record = communicators::of(&thread.communicators, comm);
        let posted = if trace::is_on() { trace::posted(thread) } else { 0 };
        // SAFETY: as demanded of this one.
        message::matched(unsafe { abi().load(message) }, Matched { comm: record, posted });
    }
}

#[inline(always)]
fn count(thread: &Thread, comm: Word, done: Done) {
    if state::is_on() {
        tally::call::<Comm>(thread, comm, done, |_| Volume::default(), |_| Volume::default());
    }
}

pub unsafe fn MPI_Mrecv(
    thread: &Thread,
    elements: i64,
    datatype: Word,
    message: Word,
    status: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    let mut own = status::Own::new();
    let status = own.stand_in(status);
    let call = |comm| timed!(thread, comm, MPI_Mrecv, forward(status));
    let count = |comm, done| {
        if state::is_on() {
            // SAFETY: the call has filled the status.
            tally::of_record(thread, comm, done, |context| unsafe {
                volume::mrecv(context, elements, datatype, status)
            });
        }
    };
    // SAFETY: the program passes the place of a message.
    unsafe { receive(thread, message, call, count) }
}

pub unsafe fn MPI_Imrecv(
    thread: &Thread,
    elements: i64,
    datatype: Word,
    message: Word,
    request: Word,
    forward: impl FnOnce() -> c_int,
) -> c_int {
    let call = |comm| timed!(thread, comm, MPI_Imrecv, forward());
    let count = |comm, done| {
        nonblocking::receiving::<Known>(thread, comm as Word, request, done, |context| {
            volume::imrecv(context, elements, datatype)
        });
    };
    // SAFETY: as above.
    unsafe { receive(thread, message, call, count) }
}

/// The body of `MPI_Irecv` from `MPI_PROC_NULL`.
pub unsafe fn receive_from_nobody(
    thread: &Thread,
    _: i64,
    _: Word,
    _: c_int,
    comm: Word,
    request: Word,
    forward: impl FnOnce() -> c_int,
) -> c_int {
    let done = call(thread, op::MPI_Irecv, Over::Comm(comm), forward);
    recorded(|| nonblocking::receiving_nothing(thread, comm, request, done));
    done.code
}

/// A call that receives a matched message, and what is counted where it succeeds. Where it fails and leaves the handle, or is left, the message waits on.
unsafe fn receive(
    thread: &Thread,
    message: Word,
    call: impl FnOnce(Record) -> Done,
    count: impl FnOnce(Record, Done),
) -> c_int {
    // SAFETY: the program passes the place of a message's handle.
    let handle = unsafe { abi().load_made(message, 0) };
    let matched = message::received(handle);
    let undo = Undo(|| message::matched(handle, matched));
    let done = call(matched.comm);
    undo.forget();
    recorded(|| {
        if done.code != 0 {
            // One that is too long for its receive is gone.
            // SAFETY: as above.
            if unsafe { abi().load_made(message, 0) } == handle {
                message::matched(handle, matched);
            }
            return tally::failed::<Known>(thread, matched.comm as Word, done.operation, done.code, done.ticks);
        }
        if trace::is_on() {
            trace::set_posted(thread, matched.posted);
        }
        count(matched.comm, done);
    });
    done.code
}
