//! Calls that free communicators.

use std::ffi::c_int;

use vocabulary::calls::op;
use vocabulary::shard::FREED;

use super::creators::count;
use crate::guest::guard::recorded;
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators::{self, Record};
use crate::objects::freeing::Freeing;
use crate::record::call::{Over, call};
use crate::record::tally::{self, Done};
use crate::thread::Thread;

unsafe fn free(thread: &Thread, comm: Word, operation: u16, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: a null address is the program's mistake, which the library will report.
    let handle = if comm == 0 { abi().comm_null } else { unsafe { abi().load(comm) } };
    if state::is_threaded() {
        return free_among_threads(thread, handle, operation, forward);
    }
    // Nobody can be given the handle before this call has returned. So it keeps its meaning until then: delete functions of attributes may still use
    // it, and nothing is to be undone where the call fails or is left.
    let done = call(thread, operation, Over::Comm(handle), forward);
    recorded(|| {
        let freed = (done.code == 0).then(|| communicators::leave(handle));
        end(thread, freed.unwrap_or_else(|| communicators::known(handle)), done);
    });
    done.code
}

/// The call has returned, which took the handle of a communicator away.
fn end(thread: &Thread, record: Record, done: Done) {
    if done.code != 0 || record == communicators::none() {
        return count(thread, record, done);
    }
    // SAFETY: records are never freed.
    unsafe { (*record).flags |= FREED };
    if state::is_on() {
        tally::once(thread, record, done.operation, done.ticks);
    }
}

/// The handle loses its meaning before the library can give it to another communicator.
#[cold]
#[inline(never)]
fn free_among_threads(thread: &Thread, handle: Word, operation: u16, forward: impl FnOnce() -> c_int) -> c_int {
    let record = communicators::leave(handle);
    // Delete functions of attributes may still use it, during the call.
    let freeing = Freeing::begin(&thread.communicators.freeing, &communicators::HANDLES, handle & abi().mask, record);
    let done = call(thread, operation, Over::Record(record), forward);
    recorded(|| {
        freeing.end();
        thread.communicators.forget();
        end(thread, record, done);
        if done.code != 0 && record != communicators::none() {
            communicators::enter(handle, record);
        }
    });
    done.code
}

pub unsafe fn MPI_Comm_free(thread: &Thread, comm: Word, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program passes the place of a communicator.
    unsafe { free(thread, comm, op::MPI_Comm_free, forward) }
}

pub unsafe fn MPI_Comm_disconnect(thread: &Thread, comm: Word, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: as above.
    unsafe { free(thread, comm, op::MPI_Comm_disconnect, forward) }
}
