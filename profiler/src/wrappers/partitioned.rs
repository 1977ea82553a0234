//! Partitioned communication: the calls that mark partitions and ask for them. Their request is passed by value, perhaps by
//! several threads at the same time. It is looked up before the call: it may be complete and freed right behind it.

use std::ffi::c_int;

use super::forward::timed;
use crate::guest::guard::recorded;
use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::objects::communicators;
use crate::objects::requests::{self, Partition};
use crate::record::persistent;
use crate::record::tally::{self, Done};
use crate::thread::Thread;

fn look(request: Word) -> Partition {
    let unknown = Partition { comm: communicators::none(), bytes: 0, destination: None };
    requests::partition(request & abi().mask).unwrap_or(unknown)
}

fn marked(thread: &Thread, done: Done, partition: Partition, count: u64) {
    if !state::is_on() {
        return;
    }
    match done.code {
        0 => persistent::ready(thread, done, partition, count),
        _ => tally::plain(thread, partition.comm, done),
    }
}

pub unsafe fn MPI_Pready(thread: &Thread, request: Word, forward: impl FnOnce() -> c_int) -> c_int {
    let partition = look(request);
    let done = timed!(thread, partition.comm, MPI_Pready, forward());
    recorded(|| {
        marked(thread, done, partition, 1);
    });
    done.code
}

pub unsafe fn MPI_Pready_range(
    thread: &Thread,
    low: c_int,
    high: c_int,
    request: Word,
    forward: impl FnOnce() -> c_int,
) -> c_int {
    let partition = look(request);
    let done = timed!(thread, partition.comm, MPI_Pready_range, forward());
    recorded(|| {
        // Both ends belong to the range.
        let count = i64::from(high) - i64::from(low) + 1;
        marked(thread, done, partition, u64::try_from(count).unwrap_or(0));
    });
    done.code
}

pub unsafe fn MPI_Pready_list(thread: &Thread, length: c_int, request: Word, forward: impl FnOnce() -> c_int) -> c_int {
    let partition = look(request);
    let done = timed!(thread, partition.comm, MPI_Pready_list, forward());
    recorded(|| {
        marked(thread, done, partition, u64::try_from(length).unwrap_or(0));
    });
    done.code
}

pub unsafe fn MPI_Parrived(thread: &Thread, request: Word, _: Word, forward: impl FnOnce() -> c_int) -> c_int {
    let partition = look(request);
    let done = timed!(thread, partition.comm, MPI_Parrived, forward());
    recorded(|| {
        if state::is_on() {
            tally::plain(thread, partition.comm, done);
        }
    });
    done.code
}
