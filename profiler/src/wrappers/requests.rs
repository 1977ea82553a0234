//! What a program does with requests beside completing and starting them: it looks at them, cancels and frees them.

use std::ffi::c_int;

use vocabulary::calls::op;

use super::finish::{Any, Few, Which, reveal};
use super::forward::timed;
use super::look::{Call, Several, Use, count, handle_at, look_any};
use crate::guest::guard::recorded;
use crate::mpi::abi::{Abi, Word, abi};
use crate::mpi::status;
use crate::objects::communicators;
use crate::objects::requests::{self, Removed};
use crate::thread::Thread;

/// Looks at a request without completing it. The request is passed by value.
pub unsafe fn MPI_Request_get_status(
    thread: &Thread,
    request: Word,
    flag: Word,
    status: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    let handle = request & abi().mask;
    let found = requests::find(handle, |request| request.is_active().then_some((request.comm, request.kind)));
    let found = found.and_then(|(_, found)| found);
    let record = found.map_or(communicators::none(), |(comm, _)| comm);
    let receives = found.is_some_and(|(_, kind)| kind.receives());
    let mut own = status::Own::new();
    let status = if receives { own.stand_in(status) } else { status };
    // SAFETY: the program passes the place of a status, or there is ours.
    let held = (receives && status != 0).then(|| unsafe { status::mark(status) });
    let done = timed!(thread, record, MPI_Request_get_status, forward(status));
    recorded(|| {
        count(thread, record, done);
        // SAFETY: the call has returned, and has filled the places that it was passed.
        unsafe {
            let is_filled = held.is_some_and(|held| status::is_filled(status, held));
            if is_filled && done.code == 0 && Abi::told(flag) != 0 {
                reveal(thread, handle, status);
            }
        }
    });
    done.code
}

/// Calls that look at several requests without completing any. `$told`: of so many requests, the indices of those that are complete, and their statuses.
macro_rules! looks {
    ($($name:ident($($argument:ident),*; $statuses:ident), tells where $tells:expr, $told:expr;)*) => {$(
        pub unsafe fn $name(
            thread: &Thread,
            length: c_int,
            array: Word,
            $($argument: Word,)*
            $statuses: Word,
            forward: impl FnOnce(Word) -> c_int,
        ) -> c_int {
            // SAFETY: the program passes arrays of so many requests and places, and places for the rest.
            unsafe {
                let several = Several::look(Call { thread, operation: op::$name }, array, length, Use::Ask);
                let $statuses = several.statuses($statuses);
                let done = timed!(thread, several.record, $name, forward($statuses));
                recorded(|| {
                    count(thread, several.record, done);
                    if done.code == 0 && several.receives && $tells {
                        for (index, status) in $told(several.look.length()) {
                            reveal(thread, abi().load_at(array, index), status);
                        }
                    }
                });
                done.code
            }
        }
    )*};
}

looks! {
    MPI_Request_get_status_any(index, flag; status), tells where Abi::told(flag) != 0,
        |length| Any::completed(0, length, [index, status, 0]);
    MPI_Request_get_status_all(flag; statuses), tells where Abi::told(flag) != 0,
        |length| (0..length).map(move |index| (index, status::at(statuses, index)));
    MPI_Request_get_status_some(outcount, indices; statuses), tells where true,
        |length| Few::completed(0, length, [outcount, indices, statuses]);
}

pub unsafe fn MPI_Cancel(thread: &Thread, request: Word, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program passes the place of a request.
    let (_, record) = unsafe { look_any(request) };
    let done = timed!(thread, record, MPI_Cancel, forward());
    recorded(|| {
        count(thread, record, done);
    });
    done.code
}

pub unsafe fn MPI_Request_free(thread: &Thread, request: Word, forward: impl FnOnce() -> c_int) -> c_int {
    // Before the call: another thread may be given its handle at once.
    // SAFETY: as above.
    let removed = requests::remove(thread.number, unsafe { handle_at(request) });
    let record = removed.as_ref().map_or(communicators::none(), Removed::comm);
    let done = timed!(thread, record, MPI_Request_free, forward());
    recorded(move || {
        count(thread, record, done);
        if done.code == 0 {
            removed.into_iter().for_each(Removed::gone);
        }
    });
    done.code
}
