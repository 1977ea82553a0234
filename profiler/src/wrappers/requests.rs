//! What a program does with requests beside completing and starting them: it looks at them, cancels and frees them.

use std::ffi::c_int;

use vocabulary::calls::op;

use super::forward::timed;
use super::look::{Several, count, look, look_any, of_handle};
use crate::guest::guard::recorded;
use crate::guest::short_path::Full;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::{self, Record};
use crate::record::in_flight::{self, Taken};
use crate::record::tally::Done;
use crate::thread::Thread;

/// Looks at a request without completing it. The request is passed by value.
pub unsafe fn MPI_Request_get_status(
    thread: &Thread,
    request: Word,
    _: Word,
    status: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    let handle = request & abi().mask;
    let record = match handle == abi().request_null {
        true => communicators::none(),
        false => of_handle(thread, handle, 0).record,
    };
    let done = timed!(thread, record, MPI_Request_get_status, forward(status));
    recorded(|| {
        count::<Full>(thread, record, done);
    });
    done.code
}

/// Looks at several requests without completing any.
unsafe fn look_at(
    thread: &Thread,
    operation: u16,
    length: c_int,
    array: Word,
    forward: impl FnOnce(&Thread, Taken, Record) -> Done,
) -> c_int {
    // SAFETY: the program passes an array of so many requests.
    unsafe {
        let taken = in_flight::take::<Full>(thread);
        let several = Several::look::<Full>(thread, taken, operation, length, array, false);
        let done = forward(thread, taken, several.record);
        recorded(|| {
            count::<Full>(thread, several.record, done);
        });
        several.leave::<Full>(thread, taken);
        done.code
    }
}

pub unsafe fn MPI_Request_get_status_any(
    thread: &Thread,
    length: c_int,
    array: Word,
    _: Word,
    _: Word,
    status: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    let operation = op::MPI_Request_get_status_any;
    // SAFETY: as above.
    unsafe {
        look_at(
            thread,
            operation,
            length,
            array,
            |thread, taken, record| timed!(Full, thread staying at taken, record, MPI_Request_get_status_any, forward(status)),
        )
    }
}

pub unsafe fn MPI_Request_get_status_all(
    thread: &Thread,
    length: c_int,
    array: Word,
    _: Word,
    statuses: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    let operation = op::MPI_Request_get_status_all;
    // SAFETY: as above.
    unsafe {
        look_at(
            thread,
            operation,
            length,
            array,
            |thread, taken, record| timed!(Full, thread staying at taken, record, MPI_Request_get_status_all, forward(statuses)),
        )
    }
}

pub unsafe fn MPI_Request_get_status_some(
    thread: &Thread,
    length: c_int,
    array: Word,
    _: Word,
    _: Word,
    statuses: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    let operation = op::MPI_Request_get_status_some;
    // SAFETY: as above.
    unsafe {
        look_at(
            thread,
            operation,
            length,
            array,
            |thread, taken, record| timed!(Full, thread staying at taken, record, MPI_Request_get_status_some, forward(statuses)),
        )
    }
}

pub unsafe fn MPI_Cancel(thread: &Thread, request: Word, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program passes the place of a request.
    let record = unsafe { look::<Full>(thread, request) }.record;
    thread.looked::<Full>();
    let done = timed!(thread, record, MPI_Cancel, forward());
    recorded(|| {
        count::<Full>(thread, record, done);
    });
    done.code
}

pub unsafe fn MPI_Request_free(thread: &Thread, request: Word, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: as above.
    let (handle, record, _) = unsafe { look_any(thread, request) };
    let done = timed!(thread, record, MPI_Request_free, forward());
    recorded(|| {
        count::<Full>(thread, record, done);
        if done.code == 0 {
            thread.requests().forget(handle);
        }
        thread.looked::<Full>();
    });
    done.code
}
