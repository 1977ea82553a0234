//! A call begins: which thread makes it, and whether it is one that the program makes.

use commsee_runtime::stack;
use vocabulary::shard::NO_OPERATION;

use crate::guest::caller::Caller;
use crate::guest::guard::caught;
use crate::mpi::own;
use crate::objects::communicators::Record;
use crate::record::call::{self, Over};
use crate::record::tally::{self, Done};
use crate::shard::memory;
use crate::thread::{self, Thread};

/// A call that the thread is in, until its wrapper returns, or the program leaves it by an exception or by the end of its thread.
pub struct Inside(&'static Thread);

impl Inside {
    #[inline(always)]
    fn begin(thread: &'static Thread, caller: Caller, stack: usize) -> Inside {
        thread.in_flight.begin(caller, stack);
        Inside(thread)
    }

    #[inline(always)]
    pub fn thread(&self) -> &'static Thread {
        self.0
    }
}

impl Drop for Inside {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.in_flight.end();
    }
}

/// A call that begins while it may be recorded. `caller`: where it was made. None where it is only passed on.
#[inline(always)]
pub fn enter(operation: u16, caller: Caller) -> Option<Inside> {
    let stack = stack::pointer();
    // SAFETY: null, or this thread, which is never freed.
    match unsafe { thread::pointer().as_ref() } {
        Some(thread) if thread.in_flight.is_outside() => {
            thread.in_flight.begin_outermost(caller, stack);
            Some(Inside(thread))
        }
        thread => enter_otherwise(thread, operation, caller, stack),
    }
}

/// The thread has not been seen before, or is in a call: then the MPI library may make this one, or the program in a callback.
#[cold]
#[inline(never)]
fn enter_otherwise(thread: Option<&'static Thread>, operation: u16, caller: Caller, stack: usize) -> Option<Inside> {
    let Some(thread) = thread else { return Some(Inside::begin(thread::of_run()?, caller, stack)) };
    if !thread.in_flight.is_ours() {
        end_left(thread, stack);
        if thread.in_flight.depth() == 0 {
            return Some(Inside::begin(thread, caller, stack));
        }
    }
    // The library's Fortran layer does the Fortran call that is recorded already. What callbacks call from here on is the program's own.
    if thread.fortran.get() == operation {
        thread.fortran.set(NO_OPERATION);
        return None;
    }
    if own::is_its(caller.address()) {
        return None;
    }
    if thread.in_flight.is_ours() || !thread.in_flight.has_level() {
        memory::give_up_call();
        return None;
    }
    Some(Inside::begin(thread, caller, stack))
}

/// The program has jumped out of the calls whose wrappers had a stack that was no longer than this one (`longjmp`).
fn end_left(thread: &Thread, stack: usize) {
    let is_left = || thread.in_flight.own().noted().stack <= stack as u64;
    while thread.in_flight.depth() > 0 && stack != 0 && is_left() {
        end_innermost(thread);
    }
}

/// The thread ends, or MPI does, and so do all calls that it has not returned from.
pub fn end_all(thread: &Thread) {
    while thread.in_flight.depth() > 0 && !thread.in_flight.is_ours() {
        end_innermost(thread);
    }
}

/// A call that was left counts as one that failed. Nobody knows when, so it has no time.
fn end_innermost(thread: &Thread) {
    thread.fortran.set(NO_OPERATION);
    caught(|| call::left(thread, thread.in_flight.own().noted().begin_ticks));
    thread.in_flight.end();
}

/// The thread stays in a call whose return nobody will see any more.
pub fn stay(inside: Inside, record: Record, operation: u16, begin_ticks: u64) -> &'static Thread {
    let (thread, (is_handle, comm)) = (inside.thread(), Over::Record(record).word());
    thread.in_flight.own().fill(operation, is_handle, comm, begin_ticks);
    std::mem::forget(inside);
    thread
}

/// Counts a call that carries nothing, and was not noted while it was under way, made from there.
pub fn apart(thread: &'static Thread, record: Record, done: Done, caller: Caller) {
    if thread.in_flight.has_level() && !thread.in_flight.is_ours() {
        let inside = Inside::begin(thread, caller, stack::pointer());
        tally::plain(inside.thread(), record, done);
    }
}
