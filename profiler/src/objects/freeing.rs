//! Communicators and windows that a thread is freeing just now. Their handles have lost their meaning already, since the library may
//! give them to others at once, but the delete functions of their attributes may still use them, during the call. Not so communicators
//! where calls come one after the other: nobody gets their handle before the call has returned.

use std::cell::Cell;
use std::ptr;

use vocabulary::shard::Communicator;

use crate::guest::guard;
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
}

pub struct BeingFreed {
    entries: [Cell<Entry>; MOST],
    length: Cell<usize>,
}

impl BeingFreed {
    pub const fn none() -> BeingFreed {
        const NONE: Entry = Entry { handle: 0, record: ptr::null_mut(), table: None };
        BeingFreed { entries: [const { Cell::new(NONE) }; MOST], length: Cell::new(0) }
    }

    /// The record of a handle that this thread is freeing.
    pub fn find(&self, handle: Word) -> Option<*mut Communicator> {
        let mut live = self.entries[..self.length.get().min(MOST)].iter().rev().map(Cell::get);
        live.find(|entry| entry.handle == handle).map(|entry| entry.record)
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

/// A call that frees is under way. Where the program leaves it by an exception, the handle has its meaning again.
pub struct Freeing<'a>(&'a BeingFreed);

impl<'a> Freeing<'a> {
    pub fn begin(freeing: &'a BeingFreed, table: &'static Handles, handle: Word, record: *mut Communicator) -> Self {
        let length = freeing.length.get();
        if let Some(place) = freeing.entries.get(length) {
            let is_known = !ptr::eq(record, records::none());
            place.set(Entry { handle, record, table: is_known.then_some(table) });
        }
        freeing.length.set(length + 1);
        Freeing(freeing)
    }

    /// The call has returned.
    pub fn end(self) {
        self.0.length.set(self.0.length.get().saturating_sub(1));
        std::mem::forget(self);
    }
}

impl Drop for Freeing<'_> {
    fn drop(&mut self) {
        self.0.revive_latest();
    }
}
