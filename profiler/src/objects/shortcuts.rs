//! What a thread's calls of one operation over one communicator need, found by one comparison where a call is like the one before:
//! its counters, the size of its datatype, the messages to its destination. All of it is kept elsewhere too, and found there by what
//! it means; so a shortcut may be forgotten at any time. Only those that persistent requests keep for themselves stay what they are while
//! these are started.
//!
//! Where calls are counted by call site, those of the short path have a shortcut for each place of the program that calls. The full path
//! has those without one (`caller` is 0), and takes the latest of either.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;

use commsee_runtime::table;
use vocabulary::calls::CALLS;
use vocabulary::shard::{self as image, Completed, Edge, NO_OPERATION, SiteCell};

use crate::guest::short_path::Path;
use crate::mpi::abi::Word;
use crate::objects::records::Record;
use crate::objects::turns::{NO_DESTINATION, Place, Turns};
use crate::shard::memory;

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
    /// How many calls did not take the turn that was thought to be theirs.
    misses: Cell<u8>,
}

const _: () = assert!(size_of::<Shortcut>() == 128);

/// No handle of any family.
const NO_KEY: Word = Word::MAX;

impl Shortcut {
    pub const fn none() -> Shortcut {
        Shortcut {
            key: Cell::new(NO_KEY),
            generation: Cell::new(0),
            latest: Place::none(),
            record: Cell::new(ptr::null_mut()),
            datatype: Cell::new(NO_KEY),
            datatype_bytes: Cell::new(0),
            cells: Cell::new(u64::MAX),
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

    /// Whether it is these counters, of some bucket, that its calls are counted in.
    ///
    /// # Safety
    /// They are.
    #[inline(always)]
    unsafe fn counts_in(&self, cell: *const image::Cell) -> bool {
        // SAFETY: as demanded.
        (unsafe { (*cell).key } ^ self.cells.get()) <= u64::from(u8::MAX)
    }

    /// Makes it one for another key, of which nothing else is known yet. `nobody`: the counters of no message.
    pub fn begin(
        &self,
        (key, operation, caller): (Word, u16, u64),
        phase: u8,
        (record, cells): (Record, u64),
        nobody: *mut Edge,
    ) {
        self.key.set(key);
        self.caller.set(caller);
        self.latest.set(&Place::none());
        self.latest.edge.set(nobody);
        self.misses.set(0);
        self.set_site(0);
        self.operation.set(operation);
        self.phase.set(phase);
        self.record.set(record);
        self.cells.set(cells);
        self.pending.set(ptr::null_mut());
    }

    // That of a persistent request is in no table: nobody asks for its handle.

    /// Makes it one for the starts of a persistent request by one operation.
    pub fn begin_starts(&self, operation: u16, phase: u8, record: Record, cells: u64) {
        // Its messages know their counters themselves.
        self.begin((NO_KEY, operation, 0), phase, (record, cells), ptr::null_mut());
    }

    #[inline(always)]
    pub fn is_of_call(&self, operation: u16, phase: u8) -> bool {
        self.operation.get() == operation && self.phase.get() == phase
    }

    pub fn forget_call(&self) {
        self.operation.set(NO_OPERATION);
    }

    /// It holds in this generation.
    pub fn renew(&self, generation: u64) {
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
    pub fn set_cell(&self, (least, most): (u64, u64), cell: *mut image::Cell) {
        self.latest.lowest_bytes.set(least);
        self.latest.reach_bytes.set(most - least);
        self.latest.cell.set(cell);
        self.latest.at_site.set(ptr::null_mut());
    }

    /// The site of its calls. Nothing is known of that yet.
    pub fn set_site(&self, site: u32) {
        self.site.set(site);
        self.latest.at_site.set(ptr::null_mut());
        self.pending_at_site.set(ptr::null_mut());
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
        self.datatype.set(datatype);
        self.datatype_bytes.set(bytes);
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
        self.datatype.set(caller as Word);
        self.datatype_bytes.set(u64::from(remote) << 32 | u64::from(words));
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
        self.pending.set(started.cast_mut());
        self.set_edge(peer as u32, entry.cast());
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
        self.datatype.set(started as Word);
        self.datatype_bytes.set(entry as u64);
    }

    pub fn set_edge(&self, destination: u32, edge: *mut Edge) {
        self.latest.destination.set(destination);
        self.latest.edge.set(edge);
    }
}

/// The shortcuts of one thread.
pub struct Shortcuts {
    /// By operation, the one that was used last.
    latest: [Cell<*const Shortcut>; CALLS.len()],
    table: Cell<*const Shortcut>,
    /// A power of two, or 0 before there is a table: then it is [`UNUSED`].
    slots: Cell<usize>,
    shift: Cell<u32>,
    taken: Cell<usize>,
    /// Whose place is taken next where there is no vacant one.
    victim: Cell<usize>,
    turns: Turns,
    /// Where there is no memory for a table.
    spare: Shortcut,
}

/// Never written to. A table of as many as there are at least.
struct Unused([Shortcut; PROBES]);

// SAFETY: see above.
unsafe impl Sync for Unused {}

static UNUSED: Unused = Unused([const { Shortcut::none() }; PROBES]);

/// One that is nobody's, for whoever must point to one.
pub const fn unused() -> *const Shortcut {
    (&raw const UNUSED.0).cast()
}

const FIRST_SLOTS: usize = 32;
/// Then shortcuts take each other's places: 256 KiB.
const MOST_SLOTS: usize = 2048;
/// How many places a shortcut has to choose from.
pub const PROBES: usize = 4;
/// How many of these are looked at without a call. They lie side by side.
pub const NEAR: usize = 2;

impl Shortcuts {
    pub const fn none() -> Shortcuts {
        Shortcuts {
            latest: [const { Cell::new(unused()) }; CALLS.len()],
            table: Cell::new(unused()),
            slots: Cell::new(0),
            shift: Cell::new(u64::BITS - PROBES.trailing_zeros()),
            taken: Cell::new(0),
            victim: Cell::new(0),
            turns: Turns::none(),
            spare: Shortcut::none(),
        }
    }

    /// The one that calls of this operation used last.
    #[inline(always)]
    pub fn latest(&self, operation: u16) -> &Shortcut {
        // SAFETY: an operation is one of the table's; shortcuts are never freed.
        unsafe { &*self.latest.get_unchecked(usize::from(operation)).get() }
    }

    /// The shortcut of these where nothing that it tells has changed since, and it lies in one of so many places that it may lie in: it becomes
    /// the latest one.
    #[inline(always)]
    pub fn again<P: Path>(
        &self,
        key: Word,
        operation: u16,
        caller: u64,
        generation: u64,
        places: usize,
    ) -> Option<&Shortcut> {
        debug_assert!(places <= PROBES);
        let home = self.home(key, operation, caller);
        for probe in 0..places {
            // SAFETY: in the table, of which there are as many slots.
            let shortcut = unsafe { &*self.table.get().add(home ^ probe) };
            if shortcut.is_for_call::<P>(key, caller, generation) && shortcut.operation.get() == operation {
                // SAFETY: as in `latest`.
                unsafe { self.latest.get_unchecked(usize::from(operation)) }.set(shortcut);
                return Some(shortcut);
            }
        }
        None
    }

    #[inline(always)]
    fn home(&self, key: Word, operation: u16, caller: u64) -> usize {
        (table::hash(key as u64 ^ u64::from(operation) << 48 ^ caller.rotate_left(16)) >> self.shift.get()) as usize
    }

    /// The shortcut of these, which becomes the latest one, or one to be made theirs by `begin`, and whether it is theirs.
    pub fn find(&self, (key, operation, caller): (Word, u16, u64), phase: u8) -> (&Shortcut, bool) {
        let is_it = |shortcut: &Shortcut| {
            shortcut.key.get() == key
                && shortcut.operation.get() == operation
                && shortcut.phase.get() == phase
                && shortcut.caller.get() == caller
        };
        let home = || self.home(key, operation, caller);
        let (mut found, mut known) = self.probe(home(), is_it);
        if !known && found.key.get() == NO_KEY {
            if (self.taken.get() + 1) * 2 > self.slots.get() && self.enlarge() {
                (found, known) = self.probe(home(), is_it);
            }
            self.taken.set(self.taken.get() + 1);
        } else if !known && self.enlarge() {
            (found, known) = self.probe(home(), is_it);
            self.taken.set(self.taken.get() + 1);
        }
        // Calls of the operation that it was for until now must not take it for theirs, which they know by the handle alone.
        if let (false, Some(latest)) = (known, self.latest.get(usize::from(found.operation.get())))
            && ptr::eq(latest.get(), found)
        {
            latest.set(unused());
        }
        if let Some(latest) = self.latest.get(usize::from(operation)) {
            latest.set(found);
        }
        (found, known)
    }

    #[inline(always)]
    fn probe(&self, home: usize, is_it: impl Fn(&Shortcut) -> bool) -> (&Shortcut, bool) {
        let slots = self.slots.get();
        if slots == 0 {
            return (&self.spare, is_it(&self.spare));
        }
        // SAFETY: in the table, of which there are as many slots.
        let at = |place: usize| unsafe { &*self.table.get().add(place) };
        let mut vacant = None;
        for probe in 0..PROBES {
            let shortcut = at(home ^ probe);
            if is_it(shortcut) {
                return (shortcut, true);
            }
            if vacant.is_none() && shortcut.key.get() == NO_KEY {
                vacant = Some(shortcut);
            }
        }
        let victim = || {
            self.victim.set(self.victim.get().wrapping_add(1));
            at(home ^ (self.victim.get() % PROBES))
        };
        (vacant.unwrap_or_else(victim), false)
    }

    /// Whether a call takes its turn: then the shortcut knows its places, as those of the latest call.
    #[inline(always)]
    pub fn take_turn<P: Path>(&self, shortcut: &Shortcut, destination: c_int, message_bytes: u64) -> bool {
        let next = self.turns.next(&shortcut.latest);
        let is_next = next.destination.get() == destination as u32
            && next.reaches(message_bytes)
            // SAFETY: it reaches something, so that it has counters, which are never freed, and whose keys never change.
            && unsafe { shortcut.counts_in(next.cell.get()) }
            // SAFETY: the same.
            && (!P::IS_SITED || next.at_site().is_some_and(|place| unsafe { (*place).site } == shortcut.site.get()));
        if is_next {
            shortcut.latest.set(next);
        }
        is_next
    }

    /// A call did not: `look_up` makes its places those of the latest call, but those of no message.
    #[inline(always)]
    pub fn learn_turn<R>(
        &self,
        shortcut: &Shortcut,
        destination: c_int,
        nobody: *mut Edge,
        look_up: impl FnOnce() -> R,
    ) -> R {
        self.turns.learn(&shortcut.latest, &shortcut.misses, || {
            if destination < 0 {
                shortcut.set_edge(NO_DESTINATION as u32, nobody);
            }
            look_up()
        })
    }

    /// A larger table, without what was in the old one, which is left to the requests that point there: together they are smaller
    /// than it is.
    #[cold]
    #[inline(never)]
    fn enlarge(&self) -> bool {
        let slots = (self.slots.get() * 2).max(FIRST_SLOTS);
        if slots > MOST_SLOTS {
            return false;
        }
        let Some(table) = memory::array::<Shortcut>(slots) else { return false };
        for place in 0..slots {
            // SAFETY: there is room for so many.
            unsafe { table.add(place).write(Shortcut::none()) };
        }
        self.table.set(table.as_ptr());
        self.slots.set(slots);
        self.shift.set(u64::BITS - slots.trailing_zeros());
        self.taken.set(0);
        true
    }
}
