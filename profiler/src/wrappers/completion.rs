//! Completion of requests. A call over requests of one communicator belongs to it, over several to the row `*`, over none that is
//! active to the row `-`.

use std::ffi::c_int;

use vocabulary::calls::op;

use super::array::are_null;
use super::finish::{Any, Few};
use super::forward::timed;
use super::look::{Call, Several, Single, Use, count, take_all};
use super::rest;
use crate::guest::guard::recorded;
use crate::mpi::abi::{Abi, Word, abi};
use crate::mpi::status;
use crate::objects::communicators::{self, Record};
use crate::record::tally::Done;
use crate::thread::Thread;

/// A call that is given no request: it belongs to the row `-`.
#[inline(always)]
fn of_none(thread: &Thread, call: impl FnOnce(Record) -> Done) -> c_int {
    let done = call(communicators::none());
    recorded(move || {
        count(thread, communicators::none(), done);
    });
    done.code
}

#[inline(always)]
unsafe fn is_null(request: Word) -> bool {
    // SAFETY: the program passes the place of a request.
    request != 0 && unsafe { abi().load(request) } == abi().request_null
}

/// The type of an argument.
macro_rules! one_word {
    ($argument:ident) => {
        Word
    };
}

/// Calls that are given one. That for null alone stands in the wrapper, the other one apart, so that what takes no request saves no register for it.
macro_rules! of_one {
    ($($name:ident, $apart:ident($($flag:ident)?), is done where $is_done:expr;)*) => {$(
        pub unsafe fn $name(
            thread: &Thread,
            request: Word,
            $($flag: Word,)?
            status: Word,
            forward: impl FnOnce(Word, $(one_word!($flag),)? Word) -> c_int,
        ) -> c_int {
            // SAFETY: the program passes the place of a request.
            unsafe {
                if !is_null(request) {
                    return $apart(request, $($flag,)? status, thread, forward);
                }
                of_none(thread, |record| timed!(thread, record, $name, forward(request, $($flag,)? status)))
            }
        }

        #[inline(never)]
        unsafe fn $apart(
            request: Word,
            $($flag: Word,)?
            status: Word,
            thread: &Thread,
            forward: impl FnOnce(Word, $(one_word!($flag),)? Word) -> c_int,
        ) -> c_int {
            // SAFETY: the program passes the place of a request.
            let mut single = unsafe { Single::look(thread, request) };
            let mut own = status::Own::new();
            let status = if single.receives { own.stand_in(status) } else { status };
            let done = timed!(thread, single.record, $name, forward(request, $($flag,)? status));
            recorded(|| {
                let call = count(thread, single.record, done);
                // SAFETY: the call has returned, and has filled the places that the program passed.
                unsafe { single.finish(thread, request, done, call, status, || $is_done) };
            });
            done.code
        }
    )*};
}

of_one! {
    MPI_Wait, wait(), is done where true;
    MPI_Test, test(flag), is done where Abi::told(flag) != 0;
}

pub unsafe fn MPI_Waitall(
    thread: &Thread,
    length: c_int,
    array: Word,
    statuses: Word,
    forward: impl FnOnce(c_int, Word, Word) -> c_int,
) -> c_int {
    // SAFETY: the program passes an array of so many requests.
    unsafe {
        if length > 0 && array != 0 && are_null(array, length as usize) {
            return of_none(thread, |record| timed!(thread, record, MPI_Waitall, forward(length, array, statuses)));
        }
        wait_for_all(length, array, statuses, thread, forward)
    }
}

/// A call that is given other requests than null.
#[inline(always)]
unsafe fn wait_for_all(
    length: c_int,
    array: Word,
    statuses: Word,
    thread: &Thread,
    forward: impl FnOnce(c_int, Word, Word) -> c_int,
) -> c_int {
    // SAFETY: the program passes arrays of so many requests and statuses.
    unsafe {
        let several = Several::look(Call { thread, operation: op::MPI_Waitall }, array, length, Use::All);
        let statuses = several.statuses(statuses);
        let done = timed!(thread, several.record, MPI_Waitall, {
            let code = forward(length, array, statuses);
            rest::told(code, several.look, statuses)
        });
        recorded(|| {
            let call = count(thread, several.record, done);
            several.finish_all(thread, done, call, statuses, true);
        });
        done.code
    }
}

/// Calls over several that programs repeat until these complete.
macro_rules! repeated {
    ($($name:ident($($argument:ident),*; $statuses:ident), some done where $has_completed:expr,
        then |$several:ident, $done:ident, $by:ident| $finish:expr;)*) => {$(
        pub unsafe fn $name(
            thread: &Thread,
            length: c_int,
            array: Word,
            $($argument: Word,)*
            $statuses: Word,
            forward: impl FnOnce(c_int, Word, $(one_word!($argument),)* Word) -> c_int,
        ) -> c_int {
            // SAFETY: the program passes arrays of so many requests and places, and places for the rest.
            unsafe {
                let $several = Several::look(Call { thread, operation: op::$name }, array, length, Use::Poll);
                let $statuses = $several.statuses($statuses);
                let $done =
                    timed!(thread, $several.record, $name, forward(length, array, $($argument,)* $statuses));
                recorded(|| {
                    let call = count(thread, $several.record, $done);
                    if $done.code != 0 || $has_completed {
                        let $by = (thread, call);
                        $finish;
                    }
                });
                $done.code
            }
        }
    )*};
}

repeated! {
    MPI_Testall(flag; statuses), some done where Abi::told(flag) != 0, then |several, done, by| {
        take_all(Call { thread: by.0, operation: op::MPI_Testall }, several.look);
        several.finish_all(by.0, done, by.1, statuses, false)
    };
    MPI_Waitany(index; status), some done where true,
        then |several, done, by| several.finish::<Any>(by.0, done, by.1, [index, status, 0]);
    MPI_Testany(index, flag; status), some done where Abi::told(flag) != 0,
        then |several, done, by| several.finish::<Any>(by.0, done, by.1, [index, status, 0]);
    MPI_Waitsome(outcount, indices; statuses), some done where Abi::told(outcount) != 0,
        then |several, done, by| several.finish::<Few>(by.0, done, by.1, [outcount, indices, statuses]);
    MPI_Testsome(outcount, indices; statuses), some done where Abi::told(outcount) != 0,
        then |several, done, by| several.finish::<Few>(by.0, done, by.1, [outcount, indices, statuses]);
}
