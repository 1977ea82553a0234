//! Calls the library, between two readings of the clock. Where the thread stands is in the shard before, so that a job that hangs or is
//! killed leaves word of it: each thread writes cache lines of its own. The communicator stands there as the program's handle, and the caller as an
//! address: what these mean is looked up by whoever reads them.
//!
//! A program may leave a call otherwise than by its return: by an exception, or by the end of its thread. Then the way out leads through the wrapper,
//! which a value to be dropped there costs nothing as long as nobody comes that way ([`InLibrary`]); the call counts as one that failed. Of a
//! `longjmp` nobody is told: see `thread/in_flight.rs`.

use std::ffi::c_int;

use vocabulary::shard::InFlightCall;

use crate::guest::clock;
use crate::guest::guard::caught;
use crate::mpi::abi::Word;
use crate::objects::communicators::{self, Record};
use crate::record::tally::{self, Done};
use crate::thread::Thread;
use crate::trace;

/// What a call is noted with while it is under way.
#[derive(Clone, Copy)]
pub enum Over {
    /// The handle of a communicator, which may be none at all.
    Comm(Word),
    Record(Record),
}

impl Over {
    /// As a call in flight has it: whether it is a handle, and that or a number.
    #[inline(always)]
    pub fn word(self) -> (bool, u64) {
        match self {
            Over::Comm(comm) => (true, comm as u64),
            // SAFETY: records are never freed.
            Over::Record(record) => (false, unsafe { (*record).number }.into()),
        }
    }
}

/// The thread is in the library. Dropped where the program leaves the call by an exception or by the end of its thread.
struct InLibrary<'a>(&'a Thread);

impl Drop for InLibrary<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        caught(|| left(self.0, clock::now()));
    }
}

/// The call itself.
#[inline(always)]
pub fn call(thread: &Thread, operation: u16, over: Over, real: impl FnOnce() -> c_int) -> Done {
    let level = thread.in_flight.own();
    let (is_handle, comm) = over.word();
    level.fill(operation, is_handle, comm, clock::now());
    thread.in_flight.call();
    let in_library = InLibrary(thread);
    let code = real();
    std::mem::forget(in_library);
    thread.in_flight.come_back();
    Done { operation, code, ticks: returned(thread, clock::now()) }
}

/// Ends it. Returns its time without that of the calls that were made within it.
#[inline(always)]
fn returned(thread: &Thread, end_ticks: u64) -> u64 {
    let level = thread.in_flight.own();
    level.set_end(end_ticks);
    let ticks = end_ticks.wrapping_sub(level.noted().begin_ticks);
    let is_plain = thread.in_flight.is_outermost() && !trace::is_on();
    if is_plain { ticks } else { returned_otherwise(thread, end_ticks, ticks) }
}

/// It is on the timeline, or was made within another call, or others within it.
#[cold]
#[inline(never)]
fn returned_otherwise(thread: &Thread, end_ticks: u64, ticks: u64) -> u64 {
    if trace::is_on() {
        trace::call(thread, thread.in_flight.own().noted(), end_ticks);
    }
    if let Some(outer) = thread.in_flight.outer() {
        outer.add_nested(ticks);
    }
    ticks.saturating_sub(thread.in_flight.take_nested())
}

/// The program has left the innermost call, which took until then as far as is known.
#[cold]
#[inline(never)]
pub fn left(thread: &Thread, end_ticks: u64) {
    thread.in_flight.come_back();
    let ticks = returned(thread, end_ticks);
    let noted = thread.in_flight.own().noted();
    tally::left(thread, number_of(noted), (noted.word >> 16) as u16, ticks);
}

fn number_of(call: &InFlightCall) -> u32 {
    if !call.is_of_handle() {
        return call.comm as u32;
    }
    // SAFETY: records are never freed.
    unsafe { (*communicators::known(call.comm as Word)).number }
}
