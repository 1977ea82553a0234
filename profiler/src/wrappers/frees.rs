//! Calls that free communicators.

use std::ffi::c_int;

use vocabulary::calls::op;
use vocabulary::shard::FREED;

use super::creators::{count, failed};
use crate::guest::clock;
use crate::guest::guard::recorded;
use crate::guest::short_path::{Full, Path};
use crate::guest::state::{self, Alone};
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators;
use crate::objects::freeing::Freeing;
use crate::record::in_flight;
use crate::record::tally::{self, Done};
use crate::thread::Thread;

/// Where calls come one after the other, nobody can be given the handle before this call has returned. So it keeps its meaning until then:
/// delete functions of attributes may still use it, and nothing is to be undone where the call fails or is left.
#[inline(always)]
unsafe fn free<P: Path>(thread: &Thread, comm: Word, operation: u16, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: a null address is the program's mistake, which the library will report.
    let handle = if comm == 0 { abi().comm_null } else { unsafe { abi().load(comm) } };
    if state::is_threaded() {
        return free_among_threads::<P>(thread, handle, operation, forward);
    }
    let counted = tally::counted_before::<P>(thread);
    let level = in_flight::free_level::<P>(thread);
    let begin = clock::now_on::<P>();
    let place = in_flight::enter::<P>(thread, level, handle, operation, begin);
    let code = forward();
    if P::IS_SHORT && code != 0 {
        return failed(thread, place, operation, code);
    }
    let code = if P::IS_SHORT { 0 } else { code };
    let end = clock::now_on::<P>();
    let (begin, handle) = in_flight::leave_as_noted::<P>(place, begin, handle, end);
    recorded(|| {
        let ticks = tally::without_nested::<P>(thread, counted, begin, end.wrapping_sub(begin));
        // Where hook modules watch handles, one more call is made.
        let freed = match P::IS_SHORT {
            true => state::alone_unwatched(),
            false => state::alone(),
        };
        let freed =
            freed.filter(|_| code == 0).and_then(|alone| freed_at_once::<P>(alone, thread, handle, operation, ticks));
        if freed.is_none() {
            not_freed::<P>(thread, handle, operation, code, ticks);
        }
    });
    code
}

/// What is known of it and takes no more, is counted.
#[inline(always)]
fn freed_at_once<P: Path>(alone: Alone, thread: &Thread, handle: Word, operation: u16, ticks: u64) -> Option<()> {
    let record = communicators::freed(alone, handle)?;
    if !P::IS_SHORT {
        in_flight::outlast_handle(thread, handle, record);
    }
    if state::is_on_in::<P>() {
        tally::once::<P>(thread, record, operation, ticks);
    }
    Some(())
}

/// Nothing is known of what the call freed, or the program has opened a session with more threads in it, or a hook module watches handles. On the
/// full path, also: the call failed.
#[cold]
#[inline(never)]
fn not_freed<P: Path>(thread: &Thread, handle: Word, operation: u16, code: c_int, ticks: u64) {
    if P::IS_SHORT
        && let Some(alone) = state::alone()
        && freed_at_once::<P>(alone, thread, handle, operation, ticks).is_some()
    {
        return;
    }
    let record = if code == 0 { communicators::leave(handle) } else { communicators::known(handle) };
    if code == 0 && record != communicators::none() {
        // SAFETY: records are never freed.
        unsafe { (*record).flags |= FREED };
    }
    count(thread, record, Done { operation, code, ticks });
}

/// The handle loses its meaning before the library can give it to another communicator.
#[cold]
#[inline(never)]
fn free_among_threads<P: Path>(
    thread: &Thread,
    handle: Word,
    operation: u16,
    forward: impl FnOnce() -> c_int,
) -> c_int {
    let record = communicators::leave(handle);
    if !P::IS_SHORT && record != communicators::none() {
        in_flight::outlast_handle(thread, handle, record);
    }
    // Delete functions of attributes may still use it, during the call.
    let freeing = Freeing::begin(thread, &communicators::HANDLES, handle & abi().mask, record);
    let counted = tally::counted_before::<P>(thread);
    let level = in_flight::free_level::<P>(thread);
    let begin = clock::now_on::<P>();
    let place = in_flight::enter_over::<P>(thread, level, record, operation, begin);
    let code = forward();
    let end = clock::now_on::<P>();
    in_flight::leave::<P>(place, end);
    recorded(|| {
        let ticks = tally::without_nested::<P>(thread, counted, begin, end.wrapping_sub(begin));
        freeing.end();
        thread.communicators.forget();
        if state::is_on_in::<P>() {
            if code == 0 && record != communicators::none() {
                tally::once::<P>(thread, record, operation, ticks);
            } else {
                tally::plain(thread, record, Done { operation, code, ticks });
            }
        }
        if record != communicators::none() {
            if code == 0 {
                // SAFETY: records are never freed.
                unsafe { (*record).flags |= FREED };
            } else {
                communicators::enter(handle, record);
            }
        }
    });
    code
}

pub unsafe fn MPI_Comm_free<P: Path>(thread: &Thread, comm: Word, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program passes the place of a communicator.
    unsafe { free::<P>(thread, comm, op::MPI_Comm_free, forward) }
}

pub unsafe fn MPI_Comm_disconnect(thread: &Thread, comm: Word, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: as above.
    unsafe { free::<Full>(thread, comm, op::MPI_Comm_disconnect, forward) }
}
