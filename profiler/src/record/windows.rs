//! What a window handle means: the record of the communicator that the window was made over. The communicator itself may be
//! gone: target ranks are translated through the window's own group.

use std::ffi::c_int;

use crate::guest::state;
use crate::mpi::abi::{Word, abi};
use crate::mpi::pmpi::Group;
use crate::mpi::world;
use crate::objects::communicators::{self, Record};
use crate::objects::handles::Handles;
use crate::record::tally::{self, Done};
use crate::thread::Thread;
use crate::volume::{Context, Volume};

pub static HANDLES: Handles = Handles::new();

/// The record of a window, also of one that is being freed, which delete functions of attributes may still use; the row `-` for
/// one that was made where we could not see it.
#[inline(always)]
pub fn of(thread: &Thread, win: Word) -> Record {
    let handle = win & abi().mask;
    HANDLES.find(handle).or_else(|| thread.communicators.freeing.find(handle)).unwrap_or(communicators::none())
}

pub fn enter(win: Word, record: Record) {
    HANDLES.enter(win & abi().mask, record);
}

/// Takes the handle away before the window is freed: another thread may get the same handle at once.
pub fn leave(win: Word) -> Option<Record> {
    HANDLES.leave(win & abi().mask)
}

/// A call over a window, with the bytes that its rule tells.
#[inline(always)]
pub fn call(thread: &Thread, win: Word, done: Done, rule: impl FnOnce(&mut Access) -> Volume) {
    let record = of(thread, win);
    if done.code != 0 {
        return tally::plain(thread, record, done);
    }
    let volume = rule(&mut Access { thread, record, win, operation: done.operation });
    tally::with_volume(thread, record, done, volume);
}

/// A call over a window that yields a request. Its bytes are known when it starts, also of one that gets.
#[inline(always)]
pub fn started(thread: &Thread, win: Word, request: Word, done: Done, rule: impl FnOnce(&mut Access) -> Volume) {
    let record = of(thread, win);
    if done.code != 0 {
        if state::is_on() {
            tally::plain(thread, record, done);
        }
        return;
    }
    let operation = done.operation;
    tally::started_over(thread, record, request, done, false, |thread| {
        rule(&mut Access { thread, record, win, operation })
    });
}

/// Rules put what moves between this process and the target's memory into the matrix.
pub struct Access<'a> {
    thread: &'a Thread,
    record: Record,
    win: Word,
    operation: u16,
}

impl Context for Access<'_> {
    fn record(&self) -> Record {
        self.record
    }

    fn comm(&self) -> Word {
        abi().comm_null
    }

    #[inline(always)]
    fn message(&mut self, target: c_int, bytes: u64) {
        if self.record == communicators::none() {
            return;
        }
        // SAFETY: the call over this window has just succeeded.
        let world_rank = || unsafe { world_rank_of(self.win, target) };
        tally::messages(self.thread, self.record, self.operation, target, (1, bytes), world_rank);
    }

    #[inline(always)]
    fn describe(&mut self, datatype: Word, elements: u64) {
        tally::add_use(self.thread, self.record, self.operation, datatype, elements);
    }
}

unsafe fn world_rank_of(win: Word, rank: c_int) -> Option<u32> {
    // SAFETY: the caller passes a window.
    unsafe {
        let group = Group::of_window(win & abi().mask)?;
        world::world_ranks(group.handle(), &[rank])?.first().copied()
    }
}
