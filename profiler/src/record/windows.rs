//! What a window handle means: the record of the communicator that the window was made over. The communicator itself may be
//! gone: target ranks are translated through the window's own group.

use std::ffi::c_int;

use crate::guest::generation::generation;
use crate::mpi::abi::{Word, abi};
use crate::mpi::pmpi::Group;
use crate::mpi::world;
use crate::objects::communicators::{self, Record};
use crate::objects::handles::Handles;
use crate::thread::Thread;

pub static HANDLES: Handles = Handles::new();

/// The record of a window, also of one that is being freed, which delete functions of attributes may still use; the row `-` for
/// one that was made where we could not see it.
#[inline(always)]
pub fn of(thread: &Thread, win: Word) -> Record {
    let latest = &thread.communicators.window;
    latest.get(win, generation()).unwrap_or_else(|| look_up(thread, win))
}

#[inline(never)]
fn look_up(thread: &Thread, win: Word) -> Record {
    let (handle, now) = (win & abi().mask, generation());
    match HANDLES.find(handle) {
        Some(record) => {
            communicators::remember(record);
            thread.communicators.window.keep(win, now, record);
            record
        }
        None => thread.communicators.freeing.find(handle).unwrap_or(communicators::none()),
    }
}

pub fn enter(win: Word, record: Record) {
    HANDLES.enter(win & abi().mask, record);
}

/// Takes the handle away before the window is freed: another thread may get the same handle at once.
pub fn leave(win: Word) -> Option<Record> {
    HANDLES.leave(win & abi().mask)
}

/// World rank of a rank of the window's group.
pub unsafe fn world_rank_of(win: Word, rank: c_int) -> Option<u32> {
    // SAFETY: the caller passes a window.
    unsafe {
        let group = Group::of_window(win & abi().mask)?;
        world::world_ranks(group.handle(), &[rank])?.first().copied()
    }
}
