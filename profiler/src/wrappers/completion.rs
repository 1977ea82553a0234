//! Completion of requests. A call over requests of one communicator belongs to it, over several to the row `*`, over none that is
//! active to the row `-`.

use std::ffi::c_int;

use vocabulary::calls::op;

use super::finish_all;
use super::finish_some::Which;
use super::forward::timed;
use super::look::{Several, count, is_none, look, look_at_once};
use crate::guest::guard::recorded;
use crate::guest::short_path::Path;
use crate::guest::state;
use crate::mpi::abi::{Abi, Word, abi};
use crate::mpi::status;
use crate::objects::communicators::{self, Record};
use crate::record::in_flight;
use crate::record::tally::Done;
use crate::thread::Thread;

/// A call over one request that is given none, or one that is not started: it belongs to the row `-`.
#[inline(always)]
fn of_none<P: Path>(thread: &Thread, call: impl FnOnce(Record) -> Done) -> c_int {
    let done = call(communicators::none());
    recorded(move || {
        count::<P>(thread, communicators::none(), done);
    });
    done.code
}

pub unsafe fn MPI_Wait<P: Path>(
    thread: &Thread,
    request: Word,
    status: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    // SAFETY: the program passes the place of a request.
    unsafe {
        if is_none::<P>(thread, request) {
            if !state::is_on_in::<P>() {
                return forward(status);
            }
            return of_none::<P>(thread, |record| timed!(P, thread, record, MPI_Wait, forward(status)));
        }
        wait_for::<P>(thread, request, status, forward)
    }
}

pub unsafe fn MPI_Test<P: Path>(
    thread: &Thread,
    request: Word,
    flag: Word,
    status: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    // SAFETY: the program passes the place of a request.
    unsafe {
        if is_none::<P>(thread, request) {
            if !state::is_on_in::<P>() {
                return forward(status);
            }
            return of_none::<P>(thread, |record| timed!(P, thread, record, MPI_Test, forward(status)));
        }
        test_one::<P>(thread, request, flag, status, forward)
    }
}

/// Calls that are given one. Apart, so that what takes no request saves no register for them; and once more where it takes more to find the
/// request, so that nothing of that is in the way where it does not.
macro_rules! of_one {
    ($($function:ident, $otherwise:ident($($flag:ident)?), $name:ident, is done where $is_done:expr;)*) => {$(
        #[inline(never)]
        unsafe fn $function<P: Path>(
            thread: &Thread,
            request: Word,
            $($flag: Word,)?
            status: Word,
            forward: impl FnOnce(Word) -> c_int,
        ) -> c_int {
            // SAFETY: the program passes the place of a request.
            match unsafe { look_at_once::<P>(thread, request) } {
                Some(single) if P::IS_SHORT => {
                    of_one!(P, thread, single, request, status, forward, $name, $is_done)
                }
                // SAFETY: as above.
                _ => unsafe { $otherwise::<P>(thread, request, $($flag,)? status, forward) },
            }
        }

        #[inline(never)]
        unsafe fn $otherwise<P: Path>(
            thread: &Thread,
            request: Word,
            $($flag: Word,)?
            status: Word,
            forward: impl FnOnce(Word) -> c_int,
        ) -> c_int {
            // SAFETY: the program passes the place of a request.
            let single = unsafe { look::<P>(thread, request) };
            of_one!(P, thread, single, request, status, forward, $name, $is_done)
        }
    )*};
    ($path:ident, $thread:ident, $single:ident, $request:ident, $status:ident, $forward:ident, $name:ident, $is_done:expr) => {{
        let mut own = status::Own::new();
        let status = if $single.receives { own.stand_in::<$path>($status) } else { $status };
        let done = timed!($path, $thread, $single.record, $name, $forward(status));
        recorded(move || {
            let shortcut = count::<$path>($thread, $single.record, done);
            // SAFETY: the call has returned, and has filled the places that the program passed.
            unsafe { $single.finish::<$path>($thread, $request, done, shortcut, status, || $is_done) };
            $thread.looked::<$path>();
        });
        done.code
    }};
}

of_one! {
    wait_for, wait_otherwise(), MPI_Wait, is done where true;
    test_one, test_otherwise(flag), MPI_Test, is done where Abi::told(flag) != 0;
}

pub unsafe fn MPI_Waitall<P: Path>(
    thread: &Thread,
    length: c_int,
    array: Word,
    statuses: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    // SAFETY: the program passes arrays of so many requests and statuses.
    unsafe {
        in_flight::end_left::<P>(thread);
        let several = Several::look_by::<P, true, true>(thread, op::MPI_Waitall, length, array, false);
        let statuses = several.statuses::<P>(statuses);
        let Done { code, ticks, .. } = timed!(P, thread, several.record, MPI_Waitall, forward(statuses));
        if P::IS_SHORT && code != 0 {
            let Several { look, record, receives, .. } = several;
            let (noted, call) = (several.noted(), (op::MPI_Waitall, code, ticks));
            return finish_all::failed::<P>(thread, record, noted, receives, call, look, array, statuses);
        }
        let code = if P::IS_SHORT { 0 } else { code };
        let done = Done { operation: op::MPI_Waitall, code, ticks };
        recorded(move || {
            let shortcut = count::<P>(thread, several.record, done);
            several.finish_all::<P, true>(thread, done, shortcut, array, statuses);
            several.leave::<P>(thread);
        });
        code
    }
}

pub unsafe fn MPI_Testall<P: Path>(
    thread: &Thread,
    length: c_int,
    array: Word,
    flag: Word,
    statuses: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        if P::IS_SHORT {
            thread.looks.at(0).forget_if_some_are_crossed_out();
        }
        let several = &Several::look_again::<P>(thread, op::MPI_Testall, length, array);
        let statuses = several.statuses::<P>(statuses);
        let done = timed!(P, thread, several.record, MPI_Testall, forward(statuses));
        recorded(move || {
            let shortcut = count::<P>(thread, several.record, done);
            if done.code != 0 || Abi::told(flag) != 0 {
                several.finish_all::<P, false>(thread, done, shortcut, array, statuses);
            } else {
                several.keep::<P>(thread, array);
            }
            several.leave::<P>(thread);
        });
        done.code
    }
}

/// A call that completes one of several tells its index.
enum One {}

impl Which for One {
    const IS_ONE: bool = true;

    unsafe fn most(_: [Word; 3]) -> usize {
        1
    }

    unsafe fn completed(
        code: c_int,
        length: usize,
        [index, status, _]: [Word; 3],
    ) -> impl Iterator<Item = (usize, Word)> {
        let status = if status == abi().status_ignore { 0 } else { status };
        // Where the call failed, every request may be the one: those it completed have become null.
        // SAFETY: the call has returned, and the program passed a place for the index.
        let places = match (code, unsafe { usize::try_from(Abi::told(index)) }) {
            // A place that the call has not filled may hold anything.
            (0, Ok(at)) if index != 0 && at < length => at..at + 1,
            (0, _) => 0..0,
            _ => 0..length,
        };
        places.map(move |index| (index, if code == 0 { status } else { 0 }))
    }
}

pub unsafe fn MPI_Waitany<P: Path>(
    thread: &Thread,
    length: c_int,
    array: Word,
    index: Word,
    status: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    // SAFETY: the program passes an array of so many requests, and places for the rest.
    unsafe {
        let several = &Several::look_again::<P>(thread, op::MPI_Waitany, length, array);
        let status = several.statuses::<P>(status);
        let done = timed!(P, thread, several.record, MPI_Waitany, forward(status));
        recorded(move || {
            let shortcut = count::<P>(thread, several.record, done);
            several.finish::<P, One>(thread, done, shortcut, array, [index, status, 0]);
            several.leave::<P>(thread);
        });
        done.code
    }
}

pub unsafe fn MPI_Testany<P: Path>(
    thread: &Thread,
    length: c_int,
    array: Word,
    index: Word,
    flag: Word,
    status: Word,
    forward: impl FnOnce(Word) -> c_int,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let several = &Several::look_again::<P>(thread, op::MPI_Testany, length, array);
        let status = several.statuses::<P>(status);
        let done = timed!(P, thread, several.record, MPI_Testany, forward(status));
        recorded(move || {
            let shortcut = count::<P>(thread, several.record, done);
            if done.code != 0 || Abi::told(flag) != 0 {
                several.finish::<P, One>(thread, done, shortcut, array, [index, status, 0]);
            } else {
                several.keep::<P>(thread, array);
            }
            several.leave::<P>(thread);
        });
        done.code
    }
}

/// A call that completes some tells how many, their indices, and their statuses in that order.
enum Few {}

impl Which for Few {
    unsafe fn most([count, _, _]: [Word; 3]) -> usize {
        // SAFETY: the call has filled the place. Below zero is MPI_UNDEFINED: no request was active.
        usize::try_from(unsafe { Abi::told(count) }).unwrap_or(0)
    }

    unsafe fn completed(
        code: c_int,
        length: usize,
        [count, indices, statuses]: [Word; 3],
    ) -> impl Iterator<Item = (usize, Word)> {
        let known = indices != 0 && (code == 0 || code == abi().family.err_in_status);
        // SAFETY: the call has filled the place.
        let count = if known { unsafe { Abi::told(count) } } else { 0 };
        // A count below zero is MPI_UNDEFINED: no request was active.
        (0..usize::try_from(count).unwrap_or(0).min(length)).filter_map(move |place| {
            // SAFETY: the program passes as many places as requests.
            let index = unsafe { *(indices as *const c_int).add(place) };
            // A place that the call has not filled may hold anything.
            let index = usize::try_from(index).ok().filter(|index| *index < length)?;
            Some((index, status::at(statuses, place)))
        })
    }
}

/// Both tell by the count and the indices what they completed.
macro_rules! some_of {
    ($($name:ident)*) => {$(
        pub unsafe fn $name<P: Path>(
            thread: &Thread,
            length: c_int,
            array: Word,
            outcount: Word,
            indices: Word,
            statuses: Word,
            forward: impl FnOnce(Word) -> c_int,
        ) -> c_int {
            // SAFETY: the program passes arrays of so many places.
            unsafe {
                let several = &Several::look_again::<P>(thread, op::$name, length, array);
                let statuses = several.statuses::<P>(statuses);
                let done = timed!(P, thread, several.record, $name, forward(statuses));
                recorded(move || {
                    let shortcut = count::<P>(thread, several.record, done);
                    if done.code != 0 || Abi::told(outcount) != 0 {
                        several.finish::<P, Few>(thread, done, shortcut, array, [outcount, indices, statuses]);
                    } else {
                        several.keep::<P>(thread, array);
                    }
                    several.leave::<P>(thread);
                });
                done.code
            }
        }
    )*};
}

some_of! { MPI_Waitsome MPI_Testsome }
