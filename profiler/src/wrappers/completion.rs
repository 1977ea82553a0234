//! Completion of requests. A call over requests of one communicator belongs to it, over several to the row `*`, over none that is
//! active to the row `-`.

use std::ffi::c_int;

use vocabulary::calls::op;

use super::array::are_null;
use super::finish::{Any, Few};
use super::forward::timed;
use super::look::{Several, Single, Use, count};
use super::rest;
use crate::guest::guard::recorded;
use crate::guest::short_path::Path;
use crate::guest::state;
use crate::mpi::abi::{Abi, Word, abi};
use crate::mpi::status;
use crate::objects::communicators::{self, Record};
use crate::record::in_flight;
use crate::record::tally::Done;
use crate::thread::Thread;

/// A call that is given no request: it belongs to the row `-`.
#[inline(always)]
fn of_none<P: Path>(thread: &Thread, call: impl FnOnce(Record) -> Done) -> c_int {
    let done = call(communicators::none());
    recorded(move || {
        count::<P>(thread, communicators::none(), done);
    });
    done.code
}

#[inline(always)]
unsafe fn is_null<P: Path>(request: Word) -> bool {
    // SAFETY: the program passes the place of a request.
    request != 0 && unsafe { abi().load_on::<P>(request) } == abi().request_null
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
        pub unsafe fn $name<P: Path>(
            thread: &Thread,
            request: Word,
            $($flag: Word,)?
            status: Word,
            forward: impl FnOnce(Word, $(one_word!($flag),)? Word) -> c_int,
        ) -> c_int {
            // SAFETY: the program passes the place of a request.
            unsafe {
                if !is_null::<P>(request) {
                    return $apart::<P>(request, $($flag,)? status, thread, forward);
                }
                if !state::is_on_in::<P>() {
                    return forward(request, $($flag,)? status);
                }
                of_none::<P>(thread, |record| timed!(P, thread, record, $name, forward(request, $($flag,)? status)))
            }
        }

        #[inline(never)]
        unsafe fn $apart<P: Path>(
            request: Word,
            $($flag: Word,)?
            status: Word,
            thread: &Thread,
            forward: impl FnOnce(Word, $(one_word!($flag),)? Word) -> c_int,
        ) -> c_int {
            // SAFETY: the program passes the place of a request.
            let mut single = unsafe { Single::look::<P>(thread, request) };
            let mut own = status::Own::new();
            let status = if single.receives { own.stand_in::<P>(status) } else { status };
            let done = timed!(P, thread, single.record, $name, forward(request, $($flag,)? status));
            recorded(|| {
                let shortcut = count::<P>(thread, single.record, done);
                // SAFETY: the call has returned, and has filled the places that the program passed.
                unsafe { single.finish(thread, request, done, shortcut, status, || $is_done) };
            });
            done.code
        }
    )*};
}

of_one! {
    MPI_Wait, wait(), is done where true;
    MPI_Test, test(flag), is done where Abi::told(flag) != 0;
}

pub unsafe fn MPI_Waitall<P: Path>(
    thread: &Thread,
    length: c_int,
    array: Word,
    statuses: Word,
    forward: impl FnOnce(c_int, Word, Word) -> c_int,
) -> c_int {
    // SAFETY: the program passes an array of so many requests.
    unsafe {
        if P::IS_SHORT && length > 0 && array != 0 && are_null::<P>(array, length as usize) {
            return of_none::<P>(thread, |record| {
                timed!(P, thread, record, MPI_Waitall, forward(length, array, statuses))
            });
        }
        wait_for_all::<P>(length, array, statuses, thread, forward)
    }
}

/// A call that is given other requests than null. Apart, as above.
#[inline(never)]
unsafe fn wait_for_all<P: Path>(
    length: c_int,
    array: Word,
    statuses: Word,
    thread: &Thread,
    forward: impl FnOnce(c_int, Word, Word) -> c_int,
) -> c_int {
    // SAFETY: the program passes arrays of so many requests and statuses.
    unsafe {
        let taken = in_flight::take::<P>(thread);
        let mut several = Several::look::<P>(thread, taken, op::MPI_Waitall, (length, array), Use::All);
        let statuses = several.statuses::<P>(statuses);
        let done = timed!(P, thread staying at taken, several.record, MPI_Waitall, {
            let code = forward(length, array, statuses);
            rest::told::<P>(code, &several, array, statuses)
        });
        recorded(|| {
            let shortcut = count::<P>(thread, several.record, done);
            several.finish_all::<P>(thread, done, shortcut, array, statuses, true);
        });
        // What goes back lies in the room of this level.
        drop(several);
        taken.give_back::<P>(thread);
        done.code
    }
}

/// Calls over several that programs repeat until these complete.
macro_rules! repeated {
    ($($name:ident($($argument:ident),*; $statuses:ident), some done where $has_completed:expr,
        then |$several:ident, $done:ident, $by:ident| $finish:expr;)*) => {$(
        pub unsafe fn $name<P: Path>(
            thread: &Thread,
            length: c_int,
            array: Word,
            $($argument: Word,)*
            $statuses: Word,
            forward: impl FnOnce(c_int, Word, $(one_word!($argument),)* Word) -> c_int,
        ) -> c_int {
            // SAFETY: the program passes arrays of so many requests and places, and places for the rest.
            unsafe {
                let taken = in_flight::take::<P>(thread);
                let mut $several = Several::look::<P>(thread, taken, op::$name, (length, array), Use::Poll);
                let $statuses = $several.statuses::<P>($statuses);
                let call = || forward(length, array, $($argument,)* $statuses);
                let $done = timed!(P, thread staying at taken, $several.record, $name, call());
                recorded(|| {
                    let shortcut = count::<P>(thread, $several.record, $done);
                    if $done.code != 0 || $has_completed {
                        let $by = (thread, shortcut, array);
                        $finish;
                    }
                });
                drop($several);
                taken.give_back::<P>(thread);
                $done.code
            }
        }
    )*};
}

repeated! {
    MPI_Testall(flag; statuses), some done where Abi::told(flag) != 0, then |several, done, by| {
        several.take_all(by.0, op::MPI_Testall);
        several.finish_all::<P>(by.0, done, by.1, by.2, statuses, false)
    };
    MPI_Waitany(index; status), some done where true,
        then |several, done, by| several.finish::<Any>(by.0, done, by.1, by.2, [index, status, 0]);
    MPI_Testany(index, flag; status), some done where Abi::told(flag) != 0,
        then |several, done, by| several.finish::<Any>(by.0, done, by.1, by.2, [index, status, 0]);
    MPI_Waitsome(outcount, indices; statuses), some done where Abi::told(outcount) != 0,
        then |several, done, by| several.finish::<Few>(by.0, done, by.1, by.2, [outcount, indices, statuses]);
    MPI_Testsome(outcount, indices; statuses), some done where Abi::told(outcount) != 0,
        then |several, done, by| several.finish::<Few>(by.0, done, by.1, by.2, [outcount, indices, statuses]);
}
