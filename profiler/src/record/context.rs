//! What the rules for bytes are told of a call that has returned, and where they put its messages and datatypes.

use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr;

use vocabulary::shard::{Edge, INTER};

use crate::guest::short_path::{Full, Path};
use crate::mpi::abi::{Word, abi};
use crate::mpi::status;
use crate::objects::communicators::Record;
use crate::objects::datatypes;
use crate::objects::shortcuts::Shortcut;
use crate::objects::turns::NO_DESTINATION;
use crate::record::carriers::{Carrier, Known, other_edge, shortcut};
use crate::thread::Thread;
use crate::thread::counters::Counters;
use crate::trace;
use crate::volume::{Context, Part};

/// Rules put the messages of a call that has just been made into the matrix.
pub struct Now<'a, P: Path, C: Carrier> {
    thread: &'a Thread,
    shortcut: &'a Shortcut,
    key: Word,
    operation: u16,
    path: PhantomData<(P, C)>,
}

/// What a rule is told by the shortcut alone. The counters of a message to another rank than the latest one may be looked for
/// afterwards.
pub struct AtOnce<'a, P> {
    thread: &'a Thread,
    shortcut: &'a Shortcut,
    /// Whether calls of the operation send one message.
    sends: bool,
    /// Its counters, if they are those of the latest one; nobody's where none was sent.
    edge: *mut Edge,
    knows_edge: bool,
    bytes: u64,
    /// The rank that it went to, or none.
    pub destination: c_int,
    path: PhantomData<P>,
}

impl<'a, P: Path> AtOnce<'a, P> {
    #[inline(always)]
    pub fn new(thread: &'a Thread, shortcut: &'a Shortcut) -> AtOnce<'a, P> {
        AtOnce {
            thread,
            shortcut,
            sends: false,
            edge: ptr::null_mut(),
            knows_edge: true,
            bytes: 0,
            destination: NO_DESTINATION,
            path: PhantomData,
        }
    }

    /// The rule has told all: whether the counters of what it told of a message are known.
    #[inline(always)]
    pub fn knows_message(&self) -> bool {
        self.knows_edge
    }

    /// What it told of a message is counted.
    #[inline(always)]
    pub fn count_message(self) {
        if self.sends {
            // SAFETY: the counters that a shortcut knows are this thread's.
            unsafe { Counters::add_messages(self.edge, (1, self.bytes)) };
        }
    }
}

impl<P: Path> Context for AtOnce<'_, P> {
    #[inline(always)]
    fn record(&self) -> Record {
        self.shortcut.record.get()
    }

    fn comm(&self) -> Word {
        abi().comm_null
    }

    #[inline(always)]
    fn message(&mut self, destination: c_int, bytes: u64) {
        match self.shortcut.edge(destination as u32) {
            Some(edge) => self.edge = edge,
            None => self.knows_edge = false,
        }
        (self.sends, self.bytes, self.destination) = (true, bytes, destination);
    }

    #[inline(always)]
    fn went_to(&self, destination: c_int) -> bool {
        self.shortcut.edge(destination as u32).is_some()
    }

    fn describe(&mut self, _: Word, _: u64) {}

    #[inline(always)]
    fn records_datatypes(&self) -> bool {
        false
    }

    /// The usual datatype is one whatever the count is. No bucket reaches as far as a negative one would.
    #[inline(always)]
    fn known_block(&self, count: i64, datatype: Word) -> Option<u64> {
        Some((count as u64).wrapping_mul(self.shortcut.datatype_bytes(datatype)?))
    }

    /// One that nobody reads: an addition takes less than to ask whether there is one to be made.
    #[inline(always)]
    fn no_message(&mut self) {
        (self.sends, self.edge, self.destination) = (true, self.thread.counters.nobody(), NO_DESTINATION);
    }

    #[inline(always)]
    unsafe fn brought(&self, status: Word) -> Option<u64> {
        // SAFETY: the caller passes a status that the library has filled.
        unsafe { status::usual_bytes::<P>(status) }
    }

    /// In an intercommunicator it is not so simple.
    #[inline(always)]
    fn known_part(&self, root: c_int) -> Option<Part> {
        let communicator = self.communicator();
        if communicator.flags & INTER != 0 {
            return None;
        }
        Some(if communicator.rank == root as u32 { Part::Root { is_inter: false } } else { Part::Other })
    }
}

impl<'a, P: Path, C: Carrier> Now<'a, P, C> {
    #[inline(always)]
    pub fn new(thread: &'a Thread, shortcut: &'a Shortcut, key: Word, operation: u16) -> Now<'a, P, C> {
        Now { thread, shortcut, key, operation, path: PhantomData }
    }
}

impl Now<'_, Full, Known> {
    /// For a call whose rule has no messages.
    pub fn of_record(thread: &Thread, record: Record, operation: u16) -> Now<'_, Full, Known> {
        let shortcut = shortcut::<Full, Known>(thread, operation, record as Word);
        Now { thread, shortcut, key: record as Word, operation, path: PhantomData }
    }
}

impl<P: Path, C: Carrier> Context for Now<'_, P, C> {
    #[inline(always)]
    fn record(&self) -> Record {
        self.shortcut.record.get()
    }

    fn comm(&self) -> Word {
        C::comm(self.key)
    }

    #[inline(always)]
    fn size(&self, datatype: Word) -> u64 {
        match self.shortcut.datatype_bytes(datatype) {
            Some(bytes) => bytes,
            None => other_size(self.shortcut, datatype),
        }
    }

    /// The usual datatype is one whatever the count is.
    #[inline(always)]
    fn block(&self, count: i64, datatype: Word) -> u64 {
        match self.shortcut.datatype_bytes(datatype) {
            Some(bytes) if count >= 0 => (count as u64).wrapping_mul(bytes),
            _ => other_block(self.shortcut, count, datatype),
        }
    }

    #[inline(always)]
    fn message(&mut self, destination: c_int, bytes: u64) {
        let edge = match self.shortcut.edge(destination as u32) {
            Some(edge) => edge,
            None => match other_edge::<C>(self.thread, self.shortcut, self.key, destination) {
                Some(edge) => edge,
                None => return,
            },
        };
        // SAFETY: the counters that a shortcut knows are this thread's.
        let world_rank = unsafe { Counters::add_messages(edge, (1, bytes)) };
        if trace::is_on_in::<P>() {
            trace::sent(self.thread, self.record(), self.operation, trace::take_tag(self.thread), world_rank, bytes);
        }
    }

    #[inline(always)]
    unsafe fn arrived(&mut self, status: Word, bytes: u64) {
        if trace::is_on_in::<P>() {
            // SAFETY: the caller passes a status that the library has filled.
            unsafe {
                trace::received(self.thread, self.record(), self.operation, trace::posted(self.thread), status, bytes)
            };
        }
    }

    /// The status that MPICH 4.0 gives such a receive is that of a message without bytes from rank 0.
    #[inline(always)]
    fn awaits_none(&mut self) {
        if trace::is_on_in::<P>() {
            trace::set_posted(self.thread, trace::NONE_POSTED);
        }
    }

    #[inline(always)]
    fn records_datatypes(&self) -> bool {
        !P::IS_SHORT && datatypes::are_recorded()
    }

    #[inline(always)]
    fn describe(&mut self, datatype: Word, elements: u64) {
        add_use(self.thread, self.record(), self.operation, datatype, elements);
    }
}

#[inline(never)]
fn other_block(shortcut: &Shortcut, count: i64, datatype: Word) -> u64 {
    if count <= 0 { 0 } else { (count as u64).wrapping_mul(other_size(shortcut, datatype)) }
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

/// Apart, and given no address of what the hot path keeps in registers.
#[cold]
#[inline(never)]
pub fn add_use(thread: &Thread, record: Record, operation: u16, datatype: Word, elements: u64) {
    let size_bytes = datatypes::size(datatype);
    if let Some(number) = thread.counters.datatype(datatype, size_bytes) {
        // SAFETY: records are never freed.
        let comm = unsafe { (*record).number };
        thread.counters.count_use(comm, operation, number, elements.wrapping_mul(size_bytes));
    }
}
