//! What a thread's calls of one operation over one communicator need, found by one comparison where a call is like the one before:
//! its counters, the size of its datatype, the messages to its destination. All of it is kept elsewhere too, and found there by what
//! it means; so a shortcut may be forgotten at any time. Only those that persistent requests keep for themselves stay what they are while
//! these are started. Where calls take turns, what it knows is often that of the next one ([`turns`](super::turns)).
//!
//! A handler of a signal may call MPI at any instruction, or leave by a jump. So what a comparison tells is taken back before what belongs to it
//! changes, and told again when all of that is there ([`in_order`]).
//!
//! Where calls are counted by call site, those of the short path have a shortcut for each place of the program that calls. The full path
//! has those without one (`caller` is 0), and takes the latest of either.

mod table;

use std::cell::Cell;
use std::ptr;

use vocabulary::shard::{self as image, Completed, Edge, NO_OPERATION, SiteCell};

pub use table::{NEAR, PROBES, Shortcuts, unused};

use crate::guest::latest::in_order;
use crate::guest::short_path::Path;
use crate::mpi::abi::Word;
use crate::objects::records::Record;
use crate::objects::turns::Place;

/// Two cache lines.
#[repr(C, align(64))]
pub struct Shortcut {
    /// The handle as the program passed it; for calls that complete requests, the address of the record.
    key: Cell<Word>,
    /// [`handles::generation`](super::handles::generation) when the record was looked up.
    generation: Cell<u64>,
    /// Where the latest call was counted.
    latest: Place,
    pub record: Cell<Record>,
    /// A predefined datatype, and the bytes of one element.
    datatype: Cell<Word>,
    datatype_bytes: Cell<u64>,
    /// The key of the counters, without a bucket.
    pub cells: Cell<u64>,
    /// The counters of receives whose message has not arrived.
    pub pending: Cell<*mut image::Cell>,
    /// Where its calls return to; 0 where it is for all of them.
    caller: Cell<u64>,
    /// The counters of receives of that site whose message has not arrived; null if not looked up.
    pending_at_site: Cell<*mut SiteCell>,
    pub site: Cell<u32>,
    operation: Cell<u16>,
    phase: Cell<u8>,
    /// How many calls were not the one that was thought to be next.
    misses: Cell<u8>,
}

const _: () = assert!(size_of::<Shortcut>() == 128);

/// No handle of any family.
const NO_KEY: Word = Word::MAX;
/// Neither: it is being made, and not vacant.
const IN_THE_MAKING: Word = Word::MAX - 1;
/// The key of no counters.
const NO_CELLS: u64 = u64::MAX;
/// The generation of what holds for no further call.
pub const NEVER: u64 = 0;

impl Shortcut {
    pub const fn none() -> Shortcut {
        Shortcut {
            key: Cell::new(NO_KEY),
            generation: Cell::new(0),
            latest: Place::none(),
            record: Cell::new(ptr::null_mut()),
            datatype: Cell::new(NO_KEY),
            datatype_bytes: Cell::new(0),
            cells: Cell::new(NO_CELLS),
            pending: Cell::new(ptr::null_mut()),
            caller: Cell::new(0),
            pending_at_site: Cell::new(ptr::null_mut()),
            site: Cell::new(0),
            operation: Cell::new(NO_OPERATION),
            phase: Cell::new(0),
            misses: Cell::new(0),
        }
    }

    /// The handle that it is for.
    #[inline(always)]
    pub fn key(&self) -> Word {
        self.key.get()
    }

    /// Whether it was for this handle in some generation.
    #[inline(always)]
    pub fn was_for(&self, key: Word) -> bool {
        self.key.get() == key
    }

    /// Whether it is for this handle, and nothing that it tells has changed since.
    #[inline(always)]
    pub fn is_for(&self, key: Word, generation: u64) -> bool {
        self.key.get() == key && self.generation.get() == generation
    }

    /// The same, and for this caller, where the path tells callers apart.
    #[inline(always)]
    pub fn is_for_call<P: Path>(&self, key: Word, caller: u64, generation: u64) -> bool {
        self.is_for(key, generation) && (!P::IS_SITED || self.caller.get() == caller)
    }

    /// Whether its counters are those of this key, which has no bucket.
    #[inline(always)]
    pub fn is_of(&self, cells: u64) -> bool {
        self.cells.get() == cells
    }

    /// The same of receives, and those of what has not arrived are known. They are not where a call was left that has just made it one for them.
    #[inline(always)]
    pub fn receives_in(&self, cells: u64) -> bool {
        self.is_of(cells) && !self.pending.get().is_null()
    }

    /// Whether it is these counters, of some bucket, that its calls are counted in.
    ///
    /// # Safety
    /// They are.
    #[inline(always)]
    unsafe fn counts_in(&self, cell: *const image::Cell) -> bool {
        // SAFETY: as demanded.
        (unsafe { (*cell).key } ^ self.cells.get()) <= u64::from(u8::MAX)
    }

    /// It is going to be another key's: until [`Shortcut::begin`] is through, it is nobody's.
    pub fn reserve(&self) {
        self.key.set(IN_THE_MAKING);
        in_order();
    }

    #[inline(always)]
    fn is_reserved(&self) -> bool {
        self.key.get() == IN_THE_MAKING
    }

    /// Makes it one for another key, of which nothing else is known yet: it holds for no call before it is renewed. `nobody`: the counters of
    /// no message.
    pub fn begin(
        &self,
        (key, operation, caller): (Word, u16, u64),
        phase: u8,
        (record, cells): (Record, u64),
        nobody: *mut Edge,
    ) {
        self.reserve();
        // Requests that it was the shortcut of ask for these.
        self.cells.set(NO_CELLS);
        in_order();
        self.generation.set(NEVER);
        self.caller.set(caller);
        self.latest.set(&Place::none());
        self.latest.edge.set(nobody);
        self.misses.set(0);
        self.set_site(0);
        self.operation.set(operation);
        self.phase.set(phase);
        self.record.set(record);
        self.pending.set(ptr::null_mut());
        in_order();
        self.cells.set(cells);
        in_order();
        self.key.set(key);
    }

    // That of a persistent request is in no table: nobody asks for its handle.

    /// Makes it one for the starts of a persistent request. It is of no call before [`Shortcut::end_starts`].
    pub fn begin_starts(&self, phase: u8, record: Record, cells: u64) {
        self.forget_call();
        in_order();
        // Its messages know their counters themselves.
        self.begin((NO_KEY, NO_OPERATION, 0), phase, (record, cells), ptr::null_mut());
    }

    /// All that starts by this operation need is known.
    pub fn end_starts(&self, operation: u16) {
        in_order();
        self.operation.set(operation);
    }

    #[inline(always)]
    pub fn is_of_call(&self, operation: u16, phase: u8) -> bool {
        self.operation.get() == operation && self.phase.get() == phase
    }

    pub fn forget_call(&self) {
        self.operation.set(NO_OPERATION);
    }

    /// It holds in this generation: all that calls look for without asking is there.
    pub fn renew(&self, generation: u64) {
        in_order();
        self.generation.set(generation);
    }

    /// Whoever comes next looks all of it up.
    pub fn forget(&self) {
        self.key.set(NO_KEY);
    }

    /// The counters of a call with so many bytes, if they are those of the latest one.
    #[inline(always)]
    pub fn cell(&self, message_bytes: u64) -> Option<*mut image::Cell> {
        if self.latest.reaches(message_bytes) { Some(self.latest.cell.get()) } else { None }
    }

    /// The counters of calls that carry nothing. They are known.
    #[inline(always)]
    pub fn only_cell(&self) -> *mut image::Cell {
        self.latest.cell.get()
    }

    /// `bounds`: the least and the most bytes of the bucket.
    #[inline(always)]
    pub fn set_cell(&self, (least, most): (u64, u64), cell: *mut image::Cell) {
        self.latest.set_cell((least, most - least), cell);
    }

    /// The site of its calls. Nothing is known of that yet.
    pub fn set_site(&self, site: u32) {
        self.latest.at_site.set(ptr::null_mut());
        self.pending_at_site.set(ptr::null_mut());
        in_order();
        self.site.set(site);
    }

    /// The counters of its site in the bucket of the latest call, if they are known.
    #[inline(always)]
    pub fn at_site(&self) -> Option<*mut SiteCell> {
        self.latest.at_site()
    }

    pub fn set_at_site(&self, cell: *mut SiteCell) {
        self.latest.at_site.set(cell);
    }

    /// The same of receives whose message has not arrived.
    #[inline(always)]
    pub fn pending_at_site(&self) -> Option<*mut SiteCell> {
        Some(self.pending_at_site.get()).filter(|place| !place.is_null())
    }

    pub fn set_pending_at_site(&self, cell: *mut SiteCell) {
        self.pending_at_site.set(cell);
    }

    #[inline(always)]
    pub fn datatype_bytes(&self, datatype: Word) -> Option<u64> {
        if self.datatype.get() == datatype { Some(self.datatype_bytes.get()) } else { None }
    }

    /// Only of predefined datatypes, whose handles never mean anything else.
    #[inline(always)]
    pub fn set_datatype(&self, datatype: Word, bytes: u64) {
        self.datatype.set(NO_KEY);
        in_order();
        self.datatype_bytes.set(bytes);
        in_order();
        self.datatype.set(datatype);
    }

    /// The counters of messages to a rank, if they are those of the latest one.
    #[inline(always)]
    pub fn edge(&self, destination: u32) -> Option<*mut Edge> {
        if self.latest.destination.get() == destination { Some(self.latest.edge.get()) } else { None }
    }

    /// The counters of the latest message, nobody's where it was none. They are known.
    #[inline(always)]
    pub fn latest_edge(&self) -> *mut Edge {
        self.latest.edge.get()
    }

    // Calls that make communicators have no datatype.

    /// [`words_of_duplicate`](super::communicators::words_of_duplicate), where the call that returns there has made one before.
    #[inline(always)]
    pub fn duplicate(&self, caller: u64) -> Option<(u32, u32)> {
        let words = self.datatype_bytes.get();
        if self.datatype.get() as u64 == caller { Some(((words >> 32) as u32, words as u32)) } else { None }
    }

    pub fn set_duplicate(&self, caller: u64, (remote, words): (u32, u32)) {
        self.set_datatype(caller as Word, u64::from(remote) << 32 | u64::from(words));
    }

    pub fn forget_duplicate(&self) {
        self.datatype.set(NO_KEY);
    }

    // Calls that complete requests have no bytes, no messages and nothing pending: these fields have what they completed last.

    /// Where requests are counted that received from a peer, if they are those of the latest call.
    #[inline(always)]
    pub fn completed(&self, started: *const image::Cell, peer: u64) -> Option<*mut Completed> {
        let is_it = self.pending.get().cast_const() == started && u64::from(self.latest.destination.get()) == peer;
        if is_it { Some(self.latest_completed()) } else { None }
    }

    pub fn set_completed(&self, started: *const image::Cell, peer: u64, entry: *mut Completed) {
        self.pending.set(ptr::null_mut());
        in_order();
        self.set_edge(peer as u32, entry.cast());
        in_order();
        self.pending.set(started.cast_mut());
    }

    /// The same of requests that did not receive.
    #[inline(always)]
    pub fn completed_other(&self, started: *const image::Cell) -> Option<*mut Completed> {
        if self.datatype.get() == started as Word { Some(self.latest_completed_other()) } else { None }
    }

    /// What was found for the latest request.
    #[inline(always)]
    pub fn latest_completed(&self) -> *mut Completed {
        self.latest.edge.get().cast()
    }

    #[inline(always)]
    pub fn latest_completed_other(&self) -> *mut Completed {
        self.datatype_bytes.get() as *mut Completed
    }

    /// Until another peer is found, [`Shortcut::completed_by_all`] asks for none.
    #[inline(always)]
    pub fn forget_peer(&self) {
        if self.latest.destination.get() != 0 {
            self.pending.set(ptr::null_mut());
            self.latest.destination.set(0);
        }
    }

    #[inline(always)]
    pub fn completed_by_all(&self, started: *const image::Cell) -> Option<*mut Completed> {
        if self.pending.get().cast_const() == started { Some(self.latest_completed()) } else { None }
    }

    /// It was another call's.
    pub fn forget_completed(&self) {
        self.pending.set(ptr::null_mut());
        self.datatype.set(NO_KEY);
    }

    pub fn set_completed_other(&self, started: *const image::Cell, entry: *mut Completed) {
        self.set_datatype(started as Word, entry as u64);
    }

    #[inline(always)]
    pub fn set_edge(&self, destination: u32, edge: *mut Edge) {
        self.latest.set_edge(destination, edge);
    }
}
