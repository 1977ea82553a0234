//! Calls that make and free windows. They are charged to the communicator that the window is made over.

use std::ffi::c_int;

use super::forward::timed;
use crate::guest::guard::recorded;
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators;
use crate::objects::freeing::Freeing;
use crate::record::carriers::Comm;
use crate::record::tally::{self, Done};
use crate::record::windows;
use crate::thread::Thread;

unsafe fn made(thread: &Thread, comm: Word, win: Word, done: Done) {
    if done.code != 0 {
        return tally::failed::<Comm>(thread, comm, done.operation, done.code, done.ticks);
    }
    let record = communicators::of(&thread.communicators, comm);
    if state::is_on() {
        tally::plain(thread, record, done);
    }
    if win != 0 {
        // SAFETY: the call succeeded and filled the place.
        windows::enter(unsafe { abi().load(win) }, record);
    }
}

macro_rules! constructors {
    ($($name:ident)*) => {$(
        pub unsafe fn $name(thread: &Thread, comm: Word, win: Word, forward: impl FnOnce() -> c_int) -> c_int {
            let done = timed!(thread, communicators::known(comm), $name, forward());
            recorded(|| {
                // SAFETY: the program passed a place for the window.
                unsafe { made(thread, comm, win, done) };
            });
            done.code
        }
    )*};
}

constructors! { MPI_Win_create MPI_Win_allocate MPI_Win_allocate_shared MPI_Win_create_dynamic }

pub unsafe fn MPI_Win_free(thread: &Thread, win: Word, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: a null address is the program's mistake, which the library will report.
    let handle = (win != 0).then(|| unsafe { abi().load(win) });
    let record = handle.and_then(windows::leave);
    // Delete functions of attributes may still use it, during the call.
    let freeing = handle.zip(record).map(|(handle, record)| {
        Freeing::begin(&thread.communicators.freeing, &windows::HANDLES, handle & abi().mask, record)
    });
    let done = timed!(thread, record.unwrap_or(communicators::none()), MPI_Win_free, forward());
    recorded(|| {
        if let Some(freeing) = freeing {
            freeing.end();
        }
        if state::is_on() {
            tally::plain(thread, record.unwrap_or(communicators::none()), done);
        }
        if let (Some(handle), Some(record), true) = (handle, record, done.code != 0) {
            windows::enter(handle, record);
        }
    });
    done.code
}
