//! Persistent requests are started.

use std::ffi::c_int;

use vocabulary::calls::op;

use super::forward::timed;
use super::look::{Call, Several, Use, count, look_any};
use crate::guest::guard::recorded;
use crate::guest::state;
use crate::mpi::abi::Word;
use crate::objects::requests;
use crate::record::persistent;
use crate::record::tally::{self, Done};
use crate::thread::Thread;

pub unsafe fn MPI_Start(thread: &Thread, request: Word, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program passes the place of a request.
    let (handle, record) = unsafe { look_any(request) };
    let done = timed!(thread, record, MPI_Start, forward());
    recorded(move || {
        let is_known = done.code == 0
            && requests::persistent(handle, |request, persistent| match state::is_on() {
                true => persistent::restarted(thread, request, persistent, done.ticks),
                false => persistent::restarted_uncounted(request),
            })
            .is_some();
        // A call that failed, or that started what is not known, is counted as one that carries nothing.
        if !is_known && state::is_on() {
            tally::plain(thread, record, done);
        }
    });
    done.code
}

pub unsafe fn MPI_Startall(thread: &Thread, length: c_int, array: Word, forward: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the program passes an array of so many requests.
    let several = unsafe { Several::look(Call { thread, operation: op::MPI_Startall }, array, length, Use::Start) };
    let done = timed!(thread, several.record, MPI_Startall, forward());
    recorded(|| match done.code {
        0 => started_all(thread, &several, done),
        _ => _ = count(thread, several.record, done),
    });
    done.code
}

fn started_all(thread: &Thread, several: &Several, done: Done) {
    let mut call = state::is_on().then(|| {
        let volume = |handle| requests::persistent(handle, |_, persistent| (persistent.sent, persistent.received));
        let volumes = several.look.noted().iter().filter_map(|noted| volume(noted.handle));
        let add = |sum: (u64, u64), (sent, received)| (sum.0.wrapping_add(sent), sum.1.wrapping_add(received));
        persistent::restarted_all(thread, several.record, done, volumes.fold((0, 0), add))
    });
    for noted in several.look.noted() {
        requests::persistent(noted.handle, |request, persistent| match &mut call {
            Some(call) => persistent::restarted_among(thread, request, persistent, call, done.ticks),
            None => persistent::restarted_uncounted(request),
        });
    }
}
