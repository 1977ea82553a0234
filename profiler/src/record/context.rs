//! What the rules for bytes are told of a call that has returned, and where they put its messages and datatypes.

use std::cell::Cell;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr;

use vocabulary::shard::{Edge, INTER};

use crate::mpi::abi::{Word, abi};
use crate::mpi::status;
use crate::objects::communicators::Record;
use crate::objects::datatypes;
use crate::objects::neighbors::Neighbors;
use crate::objects::shortcuts::Shortcut;
use crate::record::carriers::{Carrier, other_edge};
use crate::thread::Thread;
use crate::thread::counters::Counters;
use crate::trace;
use crate::volume::{Context, Part};

/// A call that has just been made, as its shortcut knows it: no function is called, and nothing is counted before all is known.
pub struct Quick<'a> {
    shortcut: &'a Shortcut,
    /// The rule has asked something that the shortcut does not know.
    has_missed: Cell<bool>,
    /// The message of the call: its counters, or null, and its bytes.
    message: (*mut Edge, u64),
}

impl<'a> Quick<'a> {
    #[inline(always)]
    pub fn new(shortcut: &'a Shortcut) -> Quick<'a> {
        Quick { shortcut, has_missed: Cell::new(false), message: (ptr::null_mut(), 0) }
    }

    /// Whether the shortcut knew all that the rule has asked.
    #[inline(always)]
    pub fn knows_all(&self) -> bool {
        !self.has_missed.get()
    }

    #[inline(always)]
    pub fn count_message(&self) {
        let (edge, bytes) = self.message;
        if !edge.is_null() {
            // SAFETY: the counters that a shortcut knows are this thread's.
            unsafe { Counters::add_messages(edge, (1, bytes)) };
        }
    }

    #[inline(always)]
    fn missed<R>(&self, instead: R) -> R {
        self.has_missed.set(true);
        instead
    }
}

impl Context for Quick<'_> {
    #[inline(always)]
    fn record(&self) -> Record {
        self.shortcut.record.get()
    }

    fn comm(&self) -> Word {
        abi().comm_null
    }

    #[inline(always)]
    fn size(&self, datatype: Word) -> u64 {
        match self.shortcut.datatype_bytes(datatype) {
            Some(bytes) => bytes,
            None => self.missed(0),
        }
    }

    /// What a negative count makes is in the reach of no bucket.
    #[inline(always)]
    fn block(&self, count: i64, datatype: Word) -> u64 {
        (count as u64).wrapping_mul(self.size(datatype))
    }

    /// A second one is too many.
    #[inline(always)]
    fn message(&mut self, destination: c_int, bytes: u64) {
        match self.shortcut.edge(destination as u32) {
            Some(edge) if self.message.0.is_null() => self.message = (edge, bytes),
            _ => self.missed(()),
        }
    }

    #[inline(always)]
    unsafe fn brought(&self, status: Word) -> u64 {
        // SAFETY: the caller passes a status that the library has filled.
        match unsafe { status::usual_bytes(status) } {
            Some(bytes) => bytes,
            None => self.missed(0),
        }
    }

    #[inline(always)]
    fn records_datatypes(&self) -> bool {
        false
    }

    fn describe(&mut self, _: Word, _: u64) {}

    #[inline(always)]
    fn part(&self, root: c_int) -> Part {
        let communicator = self.communicator();
        match communicator.flags & INTER != 0 {
            true => self.missed(Part::Idle),
            false if communicator.rank == root as u32 => Part::Root,
            false => Part::Other,
        }
    }

    fn neighbors(&self) -> &'static Neighbors {
        self.missed(Neighbors::none())
    }
}

/// The same, where its rule looks up what it needs, and counts.
pub struct Now<'a, C: Carrier> {
    thread: &'a Thread,
    shortcut: &'a Shortcut,
    key: Word,
    operation: u16,
    carrier: PhantomData<C>,
}

impl<'a, C: Carrier> Now<'a, C> {
    pub fn new(thread: &'a Thread, shortcut: &'a Shortcut, key: Word, operation: u16) -> Now<'a, C> {
        Now { thread, shortcut, key, operation, carrier: PhantomData }
    }
}

impl<C: Carrier> Context for Now<'_, C> {
    fn record(&self) -> Record {
        self.shortcut.record.get()
    }

    fn comm(&self) -> Word {
        C::comm(self.key)
    }

    fn size(&self, datatype: Word) -> u64 {
        self.shortcut.datatype_bytes(datatype).unwrap_or_else(|| other_size(self.shortcut, datatype))
    }

    fn message(&mut self, destination: c_int, bytes: u64) {
        let known = self.shortcut.edge(destination as u32);
        let edge = known.or_else(|| other_edge::<C>(self.thread, self.shortcut, self.key, self.operation, destination));
        let Some(edge) = edge else { return };
        // SAFETY: as above.
        let world_rank = unsafe { Counters::add_messages(edge, (1, bytes)) };
        if trace::is_on() {
            trace::sent(self.thread, self.record(), self.operation, trace::take_tag(self.thread), world_rank, bytes);
        }
    }

    fn tagged(&self, tag: c_int) {
        if trace::is_on() {
            trace::set_tag(self.thread, tag);
        }
    }

    unsafe fn arrived(&mut self, status: Word, bytes: u64) {
        if trace::is_on() {
            // SAFETY: the caller passes a status that the library has filled.
            unsafe {
                trace::received(self.thread, self.record(), self.operation, trace::posted(self.thread), status, bytes)
            };
        }
    }

    /// The status that MPICH 4.0 gives such a receive is that of a message without bytes from rank 0.
    fn awaits_none(&mut self) {
        if trace::is_on() {
            trace::set_posted(self.thread, trace::NONE_POSTED);
        }
    }

    fn describe(&mut self, datatype: Word, elements: u64) {
        let size_bytes = datatypes::size(datatype);
        if let Some(number) = self.thread.counters.datatype(datatype, size_bytes) {
            // SAFETY: records are never freed.
            let comm = unsafe { (*self.record()).number };
            self.thread.counters.count_use(comm, self.operation, number, elements.wrapping_mul(size_bytes));
        }
    }
}

/// The size of another datatype than the one that the operation's latest call was given.
#[inline(never)]
fn other_size(shortcut: &Shortcut, datatype: Word) -> u64 {
    match datatypes::predefined(datatype) {
        Some(bytes) => {
            shortcut.set_datatype(datatype, bytes);
            bytes
        }
        None => datatypes::size(datatype),
    }
}
