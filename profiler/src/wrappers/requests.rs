//! What a program does with requests beside completing them: it looks at them, cancels, frees and starts them.

use std::ffi::c_int;

use vocabulary::calls::op;

use super::forward::timed;
use super::look::{Several, count, look, look_any, of_handle};
use crate::guest::guard::recorded;
use crate::guest::short_path::Full;
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::{self, Record};
use crate::objects::requests::{Kind, Persistent, Starts};
use crate::record::tally::{self, Done};
use crate::record::{self, buckets, completed, nonblocking, persistent, phases};
use crate::sites;
use crate::thread::Thread;
use crate::trace;

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
    forward: impl FnOnce(&Thread, Record) -> Done,
) -> c_int {
    // SAFETY: the program passes an array of so many requests.
    unsafe {
        let several = Several::look::<Full>(thread, operation, length, array, false);
        let done = forward(thread, several.record);
        recorded(|| {
            count::<Full>(thread, several.record, done);
            several.leave::<Full>(thread);
        });
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
        look_at(thread, operation, length, array, |thread, record| {
            timed!(thread, record, MPI_Request_get_status_any, forward(status))
        })
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
        look_at(thread, operation, length, array, |thread, record| {
            timed!(thread, record, MPI_Request_get_status_all, forward(statuses))
        })
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
        look_at(thread, operation, length, array, |thread, record| {
            timed!(thread, record, MPI_Request_get_status_some, forward(statuses))
        })
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

/// `bucket`: that of a receive, if it is that of its call. `count` counts what it starts; not while counting pauses.
#[inline(always)]
fn activate(
    thread: &Thread,
    handle: Word,
    done: Done,
    bucket: u8,
    count: impl FnOnce(Record, &Persistent),
) -> Option<()> {
    let posted = || if trace::is_on() { trace::posted() } else { 0 };
    let site = sites::are_counted().then(|| record::sites::kept(thread, done.operation));
    let of = |persistent: &Persistent| match persistent.starts {
        Starts::Sends => buckets::of(persistent.message_bytes),
        Starts::Receives | Starts::Partitions => bucket,
    };
    let call = (done.operation, done.ticks, phases::current());
    if state::is_on() {
        let started = |cells| nonblocking::by_key(thread, cells);
        return thread.requests().activate(handle, call, of, (site, started), posted, count);
    }
    let started = |_| completed::UNKNOWN;
    let is_known = thread.requests().activate(handle, call, of, (site, started), posted, |_, _| ());
    is_known.inspect(|()| uncount(thread, handle))
}

pub unsafe fn MPI_Start(thread: &Thread, request: Word, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: as above.
    let (handle, record, _) = unsafe { look_any(thread, request) };
    let done = timed!(thread, record, MPI_Start, forward());
    recorded(|| {
        let count = |record, persistent: &Persistent| persistent::restarted(thread, record, done, persistent);
        let started = if done.code == 0 { activate(thread, handle, done, 0, count) } else { None };
        thread.looked::<Full>();
        if started.is_none() && state::is_on() {
            tally::plain(thread, record, done);
        }
    });
    done.code
}

pub unsafe fn MPI_Startall(thread: &Thread, length: c_int, array: Word, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program passes an array of so many requests.
    unsafe {
        let several = Several::look::<Full>(thread, op::MPI_Startall, length, array, true);
        let done = timed!(thread, several.record, MPI_Startall, forward());
        recorded(|| {
            if done.code != 0 {
                count::<Full>(thread, several.record, done);
                return several.leave::<Full>(thread);
            }
            let volumes = several.noted().iter().filter_map(|noted| thread.requests().volume(noted.handle));
            let volume = volumes
                .fold((0u64, 0u64), |sum, (sent, received)| (sum.0.wrapping_add(sent), sum.1.wrapping_add(received)));
            let bucket = match state::is_on() {
                true => persistent::restarted_all(thread, several.record, done, volume),
                false => 0,
            };
            for noted in several.noted() {
                activate(thread, noted.handle, done, bucket, |record, persistent| {
                    persistent::restarted_among(thread, record, done.operation, bucket, persistent);
                });
            }
            several.leave::<Full>(thread);
        });
        done.code
    }
}

/// A request that was started while counting pauses must not be counted when its message arrives.
fn uncount(thread: &Thread, handle: Word) {
    thread.requests().set_kind(handle, Kind::Plain);
}
