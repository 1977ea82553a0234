//! Communicators and windows that a thread is freeing just now. Their handles have lost their meaning already, since the library may
//! give them to others at once, but the delete functions of their attributes may still use them, during the call. Not so communicators
//! where calls come one after the other: nobody gets their handle before the call has returned.

use std::cell::Cell;
use std::ptr;

use vocabulary::shard::Communicator;

use crate::guest::{guard, stack};
use crate::mpi::abi::Word;
use crate::objects::handles::Handles;
use crate::objects::records;

/// Delete functions that free further objects, whose delete functions free further ones: nobody goes deeper.
const MOST: usize = 8;

#[derive(Clone, Copy)]
struct Entry {
    handle: Word,
    record: *mut Communicator,
    /// Where the handle had its meaning.
    table: Option<&'static Handles>,
    /// The stack pointer of the call that frees it.
    frame: usize,
}

pub struct BeingFreed {
    entries: [Cell<Entry>; MOST],
    length: Cell<usize>,
}

impl BeingFreed {
    pub const fn none() -> BeingFreed {
        const NONE: Entry = Entry { handle: 0, record: ptr::null_mut(), table: None, frame: 0 };
        BeingFreed { entries: [const { Cell::new(NONE) }; MOST], length: Cell::new(0) }
    }

    /// The record of a handle that this thread is freeing.
    pub fn find(&self, handle: Word) -> Option<*mut Communicator> {
        let mut live = self.entries[..self.length.get().min(MOST)].iter().rev().map(Cell::get);
        live.find(|entry| entry.handle == handle).map(|entry| entry.record)
    }

    /// The calls of these frames have been left: what they were freeing is still there.
    pub fn revive(&self, is_left: impl Fn(usize) -> bool) {
        while let Some(last) = self.length.get().checked_sub(1) {
            if !is_left(self.entries[last.min(MOST - 1)].get().frame) {
                return;
            }
            self.revive_latest();
        }
    }

    #[cold]
    #[inline(never)]
    fn revive_latest(&self) {
        let last = self.length.get().saturating_sub(1);
        self.length.set(last);
        // Of what lies deeper than anybody goes nothing was kept.
        if let Some(Entry { handle, record, table: Some(table), .. }) = self.entries.get(last).map(Cell::get) {
            guard::caught(|| table.enter(handle, record));
        }
    }
}

/// Who keeps them.
pub trait Frees {
    fn being_freed(&self) -> &BeingFreed;
}

/// A call that frees is under way. Where the program leaves it by an exception, the handle has its meaning again.
pub struct Freeing<'a, T: Frees> {
    owner: &'a T,
}

impl<'a, T: Frees> Freeing<'a, T> {
    #[inline(always)]
    pub fn begin(owner: &'a T, table: &'static Handles, handle: Word, record: *mut Communicator) -> Freeing<'a, T> {
        let freeing = owner.being_freed();
        let length = freeing.length.get();
        if let Some(place) = freeing.entries.get(length) {
            let is_known = !ptr::eq(record, records::none());
            place.set(Entry { handle, record, table: is_known.then_some(table), frame: stack::pointer() });
        }
        freeing.length.set(length + 1);
        Freeing { owner }
    }

    /// The call has returned.
    #[inline(always)]
    pub fn end(self) {
        let length = &self.owner.being_freed().length;
        length.set(length.get().saturating_sub(1));
        std::mem::forget(self);
    }
}

impl<T: Frees> Drop for Freeing<'_, T> {
    // Inlined, so that nothing of it lies in memory.
    #[inline(always)]
    fn drop(&mut self) {
        left(self.owner);
    }
}

/// Given the owner, which the hot path holds anyway.
#[cold]
#[inline(never)]
fn left<T: Frees>(owner: &T) {
    owner.being_freed().revive_latest();
}
