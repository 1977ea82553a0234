//! What one thread counted: an index over its cells and edges in the shard.

use std::cell::{Cell, UnsafeCell};
use std::ptr::{self, NonNull};
use std::sync::atomic::{Ordering, compiler_fence};

use commsee_runtime::table;
use vocabulary::shard::{self as image, Bound, Completed, Edge, FileCell, SiteCell, Use};

use crate::mpi::abi::Word;
use crate::objects::datatypes::{self, Recent};
use crate::shard::index::{Index, Keyed};
use crate::shard::memory;

pub struct Counters {
    cells: Index<image::Cell>,
    edges: Index<Edge>,
    /// Only where datatypes are recorded.
    uses: Cell<*const Uses>,
    /// Only where calls are counted by call site.
    sites: Cell<*const Index<SiteCell>>,
    /// Only where requests were completed.
    completed: Cell<*const Completions>,
    /// What its latest call has completed that completed several.
    pub latest_completed: Cell<LatelyCompleted>,
    /// Takes what there is no memory to count.
    not_completed: UnsafeCell<Completed>,
    /// Only where the program opens files.
    files: Cell<*const Index<FileCell>>,
}

impl Counters {
    /// None where there is no memory for it.
    pub fn new() -> Option<Counters> {
        Some(Counters {
            cells: Index::new()?,
            edges: Index::new()?,
            uses: Cell::new(ptr::null()),
            sites: Cell::new(ptr::null()),
            completed: Cell::new(ptr::null()),
            latest_completed: Cell::new(LatelyCompleted::NONE),
            not_completed: UnsafeCell::new(Completed::new(0, 0, 0)),
            files: Cell::new(ptr::null()),
        })
    }

    /// The counters of a (communicator, operation, bucket), and whether they are kept: those for which there was no memory are another
    /// one's next time.
    #[inline(always)]
    pub fn cell(&self, key: u64) -> (*mut image::Cell, bool) {
        let cell = match self.cells.find(key) {
            Some(cell) => cell,
            None => self.new_cell(key),
        };
        (cell, self.cells.is_kept(cell))
    }

    /// The counters of a (communicator, operation, destination) to which messages went before.
    #[inline(always)]
    pub fn known_edge(&self, key: u64) -> Option<*mut Edge> {
        self.edges.find(key)
    }

    /// The same for the first one, and whether they are kept.
    #[cold]
    #[inline(never)]
    pub fn new_edge(&self, key: u64, world_rank: u32) -> (*mut Edge, bool) {
        let edge = self.edges.add(key, Edge { key, world_rank, reserved: 0, calls: 0, bytes: 0 });
        (edge, self.edges.is_kept(edge))
    }

    /// Adds to the counters of a (communicator, operation, bucket). The work calls nothing that comes back here.
    #[inline(always)]
    pub fn count<R>(&self, key: u64, work: impl FnOnce(&mut image::Cell) -> R) -> R {
        let cell = match self.cells.find(key) {
            Some(cell) => cell,
            None => self.new_cell(key),
        };
        // SAFETY: the index holds addresses of live entries of this thread only.
        work(unsafe { &mut *cell })
    }

    #[cold]
    #[inline(never)]
    fn new_cell(&self, key: u64) -> *mut image::Cell {
        self.cells.add(key, Counters::empty(key))
    }

    fn empty(key: u64) -> image::Cell {
        image::Cell { key, ticks_min: Bound::LONGEST, ..bytemuck::Zeroable::zeroed() }
    }

    /// Whether it takes no further block to add some.
    #[inline(always)]
    pub fn have_room_apart(&self) -> bool {
        self.cells.has_room()
    }

    /// Further counters of a (communicator, operation, bucket) with what they have counted. Whoever reads adds them up.
    #[inline(always)]
    pub fn add_apart(&self, cell: image::Cell) {
        self.cells.add_apart(cell);
    }

    /// Adds messages to the counters of a (communicator, operation, destination), and returns the receiver's world rank, which is
    /// asked for when it is new.
    #[inline(always)]
    pub fn count_messages(&self, key: u64, count_and_bytes: (u64, u64), world_rank: impl FnOnce() -> u32) -> u32 {
        let edge = self.edges.find(key).unwrap_or_else(|| self.new_edge(key, world_rank()).0);
        // SAFETY: as above.
        unsafe { Counters::add_messages(edge, count_and_bytes) }
    }

    /// SAFETY: `edge` is one of this thread's.
    #[inline(always)]
    pub unsafe fn add_messages(edge: *mut Edge, (count, bytes): (u64, u64)) -> u32 {
        // SAFETY: as demanded.
        let edge = unsafe { &mut *edge };
        edge.calls += count;
        // Two additions to memory are two instructions; as a vector they would be six.
        compiler_fence(Ordering::AcqRel);
        edge.bytes = edge.bytes.wrapping_add(bytes);
        edge.world_rank
    }

    /// The number of a datatype that a successful call was given.
    pub fn datatype(&self, datatype: Word, size_bytes: u64) -> Option<u32> {
        datatypes::number_of(&self.uses()?.recent, datatype, size_bytes)
    }

    /// Counts one datatype argument.
    #[inline(always)]
    pub fn count_use(&self, comm: u32, operation: u16, datatype: u32, bytes: u64) {
        let Some(uses) = self.uses() else { return };
        let key = Edge::key(comm, operation, datatype);
        let entry = uses.index.find(key).unwrap_or_else(|| uses.index.add(key, Use { key, calls: 0, bytes: 0 }));
        // SAFETY: the index holds addresses of live entries of this thread only.
        let entry = unsafe { &mut *entry };
        entry.calls += 1;
        entry.bytes = entry.bytes.wrapping_add(bytes);
    }

    /// The counters of a (communicator, operation, bucket) at one site, and whether they are kept. None where there is no memory.
    pub fn at_site(&self, key: u64, site: u32) -> Option<(*mut SiteCell, bool)> {
        let sites = self.sites()?;
        let entry = SiteCell::new(key, site);
        let entry = sites.find(entry.key()).unwrap_or_else(|| sites.add(entry.key(), entry));
        Some((entry, sites.is_kept(entry)))
    }

    /// Adds to them.
    pub fn count_at_site(&self, key: u64, site: u32, work: impl FnOnce(&mut SiteCell)) {
        if let Some((entry, _)) = self.at_site(key, site) {
            // SAFETY: the index holds addresses of live entries of this thread only.
            work(unsafe { &mut *entry });
        }
    }

    /// Adds to the counters of a (communicator, operation, bucket) on one file.
    pub fn count_on_file(&self, key: u64, file: u32, work: impl FnOnce(&mut FileCell)) {
        let Some(files) = self.files() else { return };
        let entry = FileCell::new(key, file);
        let entry = files.find(entry.key()).unwrap_or_else(|| files.add(entry.key(), entry));
        // SAFETY: the index holds addresses of live entries of this thread only.
        work(unsafe { &mut *entry });
    }

    /// What calls of this key have completed that was started like this.
    pub fn completed(&self, key: [u64; 2]) -> Option<*mut Completed> {
        self.completions()?.index.find(key)
    }

    /// What calls of a key have completed that was started by a call of these counters, and came from this peer, if it was looked up lately.
    #[inline(always)]
    pub fn completed_lately(&self, calls: u64, started: *const image::Cell, peer: u64) -> Option<*mut Completed> {
        let completions = self.completions()?;
        let home = Lately::home(calls, started, peer);
        for place in [home, home ^ 1] {
            let lately = completions.lately(place).get();
            if lately.started == started && lately.calls == calls && lately.peer == peer && !lately.entry.is_null() {
                return Some(lately.entry);
            }
        }
        None
    }

    /// It was looked up now.
    pub fn keep_completed(&self, calls: u64, started: *const image::Cell, peer: u64, entry: *mut Completed) {
        // Counters without a place of their own are another call's next time.
        if let Some(completions) = self.completions()
            && self.cells.is_kept(started.cast_mut())
        {
            let home = Lately::home(calls, started, peer);
            completions.lately(home ^ 1).set(completions.lately(home).get());
            completions.lately(home).set(Lately { calls, started, peer, entry });
        }
    }

    /// The first of what such calls have completed.
    pub fn new_completed(&self, entry: Completed) -> *mut Completed {
        if self.completed.get().is_null() {
            match Completions::new().and_then(memory::keep) {
                Some(new) => self.completed.set(new),
                None => memory::lose_call(),
            }
        }
        match self.completions() {
            Some(Completions { index, .. }) => index.add(entry.key, entry),
            None => self.not_completed.get(),
        }
    }

    #[inline(always)]
    fn completions(&self) -> Option<&Completions> {
        // SAFETY: null, or kept above and never freed.
        unsafe { self.completed.get().as_ref() }
    }

    fn files(&self) -> Option<&Index<FileCell>> {
        kept_or_new(&self.files)
    }

    fn sites(&self) -> Option<&Index<SiteCell>> {
        kept_or_new(&self.sites)
    }

    fn uses(&self) -> Option<&Uses> {
        // SAFETY: null, or kept below and never freed.
        if let Some(known) = unsafe { self.uses.get().as_ref() } {
            return Some(known);
        }
        let new = Index::new().map(|index| Uses { index, recent: Recent::new() }).and_then(memory::keep);
        match new {
            Some(new) => self.uses.set(new),
            None => memory::lose_call(),
        }
        new
    }
}

/// What calls have completed, and what was looked up of it lately: requests of several communicators, sizes or peers take turns.
struct Completions {
    index: Index<Completed>,
    /// `LATELY` of them: not on the stack of the thread, which may be small.
    lately: NonNull<Cell<Lately>>,
}

impl Completions {
    /// None where there is no memory for it.
    fn new() -> Option<Completions> {
        // All zeros are one that was not looked up.
        Some(Completions { index: Index::new()?, lately: NonNull::new(memory::zeroed(LATELY))? })
    }

    #[inline(always)]
    fn lately(&self, place: usize) -> &Cell<Lately> {
        // SAFETY: there are so many, which are never freed.
        unsafe { &*self.lately.as_ptr().add(place % LATELY) }
    }
}

/// What was looked up.
#[derive(Clone, Copy)]
struct Lately {
    calls: u64,
    started: *const image::Cell,
    peer: u64,
    entry: *mut Completed,
}

const LATELY: usize = 256;

impl Lately {
    /// One of two places side by side.
    #[inline(always)]
    fn home(calls: u64, started: *const image::Cell, peer: u64) -> usize {
        let hash = table::hash(started as u64 ^ calls ^ peer.rotate_left(16));
        (hash >> (u64::BITS - LATELY.trailing_zeros())) as usize % LATELY
    }
}

/// Of which call the counters are, and where those are counted that received, and those that did not.
#[derive(Clone, Copy)]
pub struct LatelyCompleted {
    pub key: u64,
    pub received: Alike,
    pub others: Alike,
}

/// Requests that were started in the same way.
#[derive(Clone, Copy)]
pub struct Alike {
    pub started: *const image::Cell,
    pub entry: *mut Completed,
}

impl LatelyCompleted {
    /// Of no call.
    pub const NONE: LatelyCompleted = LatelyCompleted::of(u64::MAX);

    pub const fn of(key: u64) -> LatelyCompleted {
        const NONE: Alike = Alike { started: ptr::null(), entry: ptr::null_mut() };
        LatelyCompleted { key, received: NONE, others: NONE }
    }
}

/// An index that most threads need not have.
fn kept_or_new<T: Keyed + 'static>(place: &Cell<*const Index<T>>) -> Option<&Index<T>> {
    // SAFETY: null, or kept below and never freed.
    if let Some(known) = unsafe { place.get().as_ref() } {
        return Some(known);
    }
    let new = Index::new().and_then(memory::keep);
    match new {
        Some(new) => place.set(new),
        None => memory::lose_call(),
    }
    new
}

/// What a thread knows of datatypes.
struct Uses {
    index: Index<Use>,
    recent: Recent,
}
