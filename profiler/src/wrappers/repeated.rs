//! Calls over several requests that programs repeat until these complete.

use std::ffi::c_int;

use vocabulary::calls::op;

use super::completion::one_word;
use super::finish_some::Which;
use super::forward::timed;
use super::look::{Several, count};
use crate::guest::guard::recorded;
use crate::guest::short_path::Path;
use crate::mpi::abi::{Abi, Word, abi};
use crate::mpi::status;
use crate::objects::communicators::Record;
use crate::objects::shortcuts::Shortcut;
use crate::record::in_flight::{self, Taken};
use crate::record::tally::Done;
use crate::thread::Thread;

/// A call that completes one of several tells its index.
pub enum One {}

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

/// A call that completes some tells how many, their indices, and their statuses in that order.
pub enum Few {}

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

/// Where the array is as the latest such call has left it, all is known that is asked before the real function is called, and where that completes none,
/// nothing is left to do. All else is apart, with the arguments first, so that they stay in their registers.
macro_rules! repeated {
    ($($name:ident($($argument:ident),*; $statuses:ident), some done where $has_completed:expr,
        then $finish:ident::<$of:tt>($($told:expr),*);)*) => {$(
        pub unsafe fn $name<P: Path>(
            thread: &Thread,
            length: c_int,
            array: Word,
            $($argument: Word,)*
            $statuses: Word,
            forward: impl FnOnce(c_int, Word, $(one_word!($argument),)* Word) -> c_int,
        ) -> c_int {
            /// Apart from the short path.
            #[inline(never)]
            unsafe fn anew_apart<P: Path>(
                length: c_int,
                array: Word,
                $($argument: Word,)*
                $statuses: Word,
                thread: &Thread,
                forward: impl FnOnce(c_int, Word, $(one_word!($argument),)* Word) -> c_int,
            ) -> c_int {
                let taken = in_flight::taken_on_short::<P>(thread);
                // SAFETY: as below.
                unsafe { anew::<P>(length, array, $($argument,)* $statuses, thread, taken, forward) }
            }

            #[inline(always)]
            unsafe fn anew<P: Path>(
                length: c_int,
                array: Word,
                $($argument: Word,)*
                $statuses: Word,
                thread: &Thread,
                taken: Taken,
                forward: impl FnOnce(c_int, Word, $(one_word!($argument),)* Word) -> c_int,
            ) -> c_int {
                // SAFETY: as below.
                unsafe {
                    let several = &Several::look_anew::<P>(thread, taken, op::$name, length, array);
                    let $statuses = several.statuses::<P>($statuses);
                    let call = || forward(length, array, $($argument,)* $statuses);
                    let done = timed!(P, thread staying at taken, several.record, $name, call());
                    recorded(move || {
                        let shortcut = count::<P>(thread, several.record, done);
                        if done.code != 0 || $has_completed {
                            several.$finish::<P, $of>(thread, done, shortcut, array, $($told),*);
                        } else {
                            several.keep::<P>(thread, array);
                        }
                    });
                    several.leave::<P>(thread, taken);
                    done.code
                }
            }

            #[cold]
            #[inline(never)]
            #[allow(unused_variables)]
            unsafe fn failed<P: Path>(
                length: c_int,
                array: Word,
                $($argument: Word,)*
                $statuses: Word,
                thread: &Thread,
                record: Record,
                (code, ticks): (c_int, u64),
            ) -> c_int {
                // SAFETY: as below.
                recorded(move || unsafe {
                    let done = Done { operation: op::$name, code, ticks };
                    let shortcut = count::<P>(thread, record, done);
                    if let Some(several) = Several::known(thread, array)
                        && several.length == length as usize
                    {
                        several.$finish::<P, $of>(thread, done, shortcut, array, $($told),*);
                    }
                });
                in_flight::taken_on_short::<P>(thread).give_back::<P>(thread);
                thread.looked::<P>();
                code
            }

            // SAFETY: the program passes arrays of so many requests and places, and places for the rest.
            unsafe {
                let taken = in_flight::take::<P>(thread);
                if !P::IS_SHORT {
                    return anew::<P>(length, array, $($argument,)* $statuses, thread, taken, forward);
                }
                if !Several::is_known::<P>(thread, op::$name, length, array) {
                    return anew_apart::<P>(length, array, $($argument,)* $statuses, thread, forward);
                }
                let (record, $statuses) = Several::known_with::<P>(thread, $statuses);
                let call = || forward(length, array, $($argument,)* $statuses);
                let Done { code, ticks, .. } = timed!(P, thread staying at taken, record, $name, call());
                if code != 0 {
                    return failed::<P>(length, array, $($argument,)* $statuses, thread, record, (code, ticks));
                }
                recorded(move || {
                    let shortcut = count::<P>(thread, record, Done { operation: op::$name, code: 0, ticks });
                    if $has_completed {
                        known::$finish::<P, $of>(thread, shortcut, ticks, length, array, $($told),*);
                    }
                });
                taken.give_back::<P>(thread);
                thread.looked::<P>();
                0
            }
        }
    )*};
}

/// What is left to do where all was known, apart, since most often nothing is.
mod known {
    use super::{Done, Path, Several, Shortcut, Thread, Which, Word, c_int};
    use crate::wrappers::finish_some;

    #[inline(never)]
    pub unsafe fn finish_all<P: Path, const FREES: bool>(
        thread: &Thread,
        shortcut: Option<&Shortcut>,
        ticks: u64,
        length: c_int,
        array: Word,
        statuses: Word,
    ) {
        let done = Done { operation: super::op::MPI_Testall, code: 0, ticks };
        if let Some(several) = Several::known(thread, array)
            && several.length == length as usize
        {
            // SAFETY: as demanded of this one.
            unsafe { several.finish_all::<P, FREES>(thread, done, shortcut, array, statuses) }
        }
    }

    /// How many requests it was given does not matter: the call tells which have completed.
    #[inline(never)]
    pub unsafe fn finish<P: Path, W: Which>(
        thread: &Thread,
        shortcut: Option<&Shortcut>,
        ticks: u64,
        _: c_int,
        array: Word,
        first: Word,
        second: Word,
        third: Word,
    ) {
        let Some(several) = Several::known(thread, array) else { return };
        // SAFETY: as demanded of this one.
        unsafe {
            if W::IS_ONE
                && let Some(shortcut) = shortcut
                && several.is_unchanged::<P>(thread)
                && finish_some::alone::<P>(thread, shortcut, ticks, several, array, first, second)
            {
                return;
            }
            finish_otherwise::<P, W>(thread, shortcut, ticks, array, first, second, third);
        }
    }

    /// Apart, so that none of what was known lies in memory for it.
    #[inline(never)]
    unsafe fn finish_otherwise<P: Path, W: Which>(
        thread: &Thread,
        shortcut: Option<&Shortcut>,
        ticks: u64,
        array: Word,
        first: Word,
        second: Word,
        third: Word,
    ) {
        let Some(several) = Several::known(thread, array) else { return };
        // SAFETY: as demanded of this one.
        unsafe {
            finish_some::finish_several::<P, W>(thread, 0, ticks, shortcut, &several, array, [first, second, third]);
        }
    }
}

repeated! {
    MPI_Testall(flag; statuses), some done where Abi::told(flag) != 0, then finish_all::<false>(statuses);
    MPI_Waitany(index; status), some done where true, then finish::<One>(index, status, 0);
    MPI_Testany(index, flag; status), some done where Abi::told(flag) != 0, then finish::<One>(index, status, 0);
    MPI_Waitsome(outcount, indices; statuses), some done where Abi::told(outcount) != 0,
        then finish::<Few>(outcount, indices, statuses);
    MPI_Testsome(outcount, indices; statuses), some done where Abi::told(outcount) != 0,
        then finish::<Few>(outcount, indices, statuses);
}
