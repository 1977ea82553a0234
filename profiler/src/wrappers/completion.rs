//! Completion of requests. A call over requests of one communicator belongs to it, over several to the row `*`, over none that is
//! active to the row `-`.

use std::ffi::c_int;
use std::hint::assert_unchecked;

use vocabulary::calls::op;

use super::array::are_null;
use super::finish_all;
use super::forward::timed;
use super::look::{Several, count, is_none, look, look_at_once};
use super::rest;
use crate::guest::guard::recorded;
use crate::guest::rarely;
use crate::guest::short_path::Path;
use crate::guest::state;
use crate::mpi::abi::{Abi, Word, abi};
use crate::mpi::status;
use crate::objects::communicators::{self, Record};
use crate::record::in_flight::{self, Taken};
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
    forward: impl FnOnce(Word, Word) -> c_int,
) -> c_int {
    // SAFETY: the program passes the place of a request.
    unsafe {
        if is_none::<P>(thread, request) {
            if !state::is_on_in::<P>() {
                return forward(request, status);
            }
            return of_none::<P>(thread, |record| timed!(P, thread, record, MPI_Wait, forward(request, status)));
        }
        wait_for::<P>(request, status, thread, forward)
    }
}

pub unsafe fn MPI_Test<P: Path>(
    thread: &Thread,
    request: Word,
    flag: Word,
    status: Word,
    forward: impl FnOnce(Word, Word, Word) -> c_int,
) -> c_int {
    // SAFETY: the program passes the place of a request.
    unsafe {
        if is_none::<P>(thread, request) {
            if !state::is_on_in::<P>() {
                return forward(request, flag, status);
            }
            return of_none::<P>(thread, |record| timed!(P, thread, record, MPI_Test, forward(request, flag, status)));
        }
        test_one::<P>(request, flag, status, thread, forward)
    }
}

/// Calls that are given one. Apart, so that what takes no request saves no register for them; and once more where it takes more to find the
/// request, so that nothing of that is in the way where it does not. Their arguments come first, as in the call: so they stay in their registers.
macro_rules! of_one {
    ($($function:ident, $otherwise:ident($($flag:ident)?), $name:ident, is done where $is_done:expr;)*) => {$(
        #[inline(never)]
        unsafe fn $function<P: Path>(
            request: Word,
            $($flag: Word,)?
            status: Word,
            thread: &Thread,
            forward: impl FnOnce(Word, $(one_word!($flag),)? Word) -> c_int,
        ) -> c_int {
            // SAFETY: the program passes the place of a request.
            match unsafe { look_at_once::<P>(thread, request) } {
                Some(single) if P::IS_SHORT => {
                    of_one!(P, thread, single, request, ($($flag)?), status, forward, $name, $is_done)
                }
                // SAFETY: as above.
                _ => unsafe { $otherwise::<P>(request, $($flag,)? status, thread, forward) },
            }
        }

        #[inline(never)]
        unsafe fn $otherwise<P: Path>(
            request: Word,
            $($flag: Word,)?
            status: Word,
            thread: &Thread,
            forward: impl FnOnce(Word, $(one_word!($flag),)? Word) -> c_int,
        ) -> c_int {
            // SAFETY: the program passes the place of a request.
            let single = unsafe { look::<P>(thread, request) };
            of_one!(P, thread, single, request, ($($flag)?), status, forward, $name, $is_done)
        }
    )*};
    ($path:ident, $thread:ident, $single:ident, $request:ident, ($($flag:ident)?), $status:ident, $forward:ident, $name:ident, $is_done:expr) => {{
        let mut own = status::Own::new();
        let status = if $single.receives { own.stand_in::<$path>($status) } else { $status };
        let done = timed!($path, $thread, $single.record, $name, $forward($request, $($flag,)? status));
        recorded(move || {
            let shortcut = count::<$path>($thread, $single.record, done);
            // SAFETY: the call has returned, and has filled the places that the program passed.
            unsafe { $single.finish::<$path>($thread, $request, done, shortcut, status, || $is_done) };
            $thread.looked::<$path>();
        });
        done.code
    }};
}

/// The type of an argument.
macro_rules! one_word {
    ($argument:ident) => {
        Word
    };
}
pub(super) use one_word;

of_one! {
    wait_for, wait_otherwise(), MPI_Wait, is done where true;
    test_one, test_otherwise(flag), MPI_Test, is done where Abi::told(flag) != 0;
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
        let taken = in_flight::take::<P>(thread);
        if P::IS_SHORT {
            if length <= 0 {
                return wait_for_none::<P>(length, array, statuses, thread, forward);
            }
            if array == 0 {
                // The library will tell of it.
                rarely();
                return wait_for_none::<P>(length, array, statuses, thread, forward);
            }
            if abi().load_on::<P>(array) == abi().request_null {
                return wait_for_nulls::<P>(length, array, statuses, thread, forward);
            }
            return wait_for_all::<P>(length, array, statuses, thread, forward);
        }
        look_and_wait::<P>(length, array, statuses, thread, taken, forward)
    }
}

/// A call whose array begins with a null request: most often it holds nothing else. Apart, as above.
#[inline(never)]
unsafe fn wait_for_nulls<P: Path>(
    length: c_int,
    array: Word,
    statuses: Word,
    thread: &Thread,
    forward: impl FnOnce(c_int, Word, Word) -> c_int,
) -> c_int {
    // SAFETY: the program passes an array of so many requests, one at least.
    unsafe {
        if !are_null::<P>(array, length as usize) {
            return wait_for_all::<P>(length, array, statuses, thread, forward);
        }
        let taken = in_flight::taken_on_short::<P>(thread);
        of_none::<P>(thread, |record| timed!(P, thread at taken, record, MPI_Waitall, forward(length, array, statuses)))
    }
}

/// A call that is given no request, or no array.
#[inline(never)]
unsafe fn wait_for_none<P: Path>(
    length: c_int,
    array: Word,
    statuses: Word,
    thread: &Thread,
    forward: impl FnOnce(c_int, Word, Word) -> c_int,
) -> c_int {
    let taken = in_flight::taken_on_short::<P>(thread);
    of_none::<P>(thread, |record| timed!(P, thread at taken, record, MPI_Waitall, forward(length, array, statuses)))
}

/// A call that is given an array of one request at least.
#[inline(never)]
unsafe fn wait_for_all<P: Path>(
    length: c_int,
    array: Word,
    statuses: Word,
    thread: &Thread,
    forward: impl FnOnce(c_int, Word, Word) -> c_int,
) -> c_int {
    // SAFETY: as is told; as demanded of this one.
    unsafe {
        assert_unchecked(length > 0 && array != 0);
        look_and_wait::<P>(length, array, statuses, thread, in_flight::taken_on_short::<P>(thread), forward)
    }
}

#[inline(always)]
unsafe fn look_and_wait<P: Path>(
    length: c_int,
    array: Word,
    statuses: Word,
    thread: &Thread,
    taken: Taken,
    forward: impl FnOnce(c_int, Word, Word) -> c_int,
) -> c_int {
    // SAFETY: the program passes arrays of so many requests and statuses.
    unsafe {
        let several = Several::look_by::<P, true, true>(thread, taken, op::MPI_Waitall, length, array, false);
        let statuses = several.statuses::<P>(statuses);
        let Done { code, ticks, .. } = timed!(P, thread staying at taken, several.record, MPI_Waitall, {
            let code = forward(length, array, statuses);
            rest::told::<P>(thread, code, &several, array, statuses)
        });
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
        });
        several.leave::<P>(thread, taken);
        code
    }
}
