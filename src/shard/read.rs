//! Reads a shard or an image of one. Nothing in it is trusted: whatever does not fit is left out and counted.

use std::collections::{BTreeMap, HashMap};

use bytemuck::Pod;

use super::code::Code;
use super::completed::Completed;
use super::event::{Event, LAYER, RECEIVED};
use super::files::{File, FileCell, UNNAMED_FILE};
use super::header::*;
use super::in_flight::InFlightCall;
use super::layout::*;
use super::site::{Place, SiteCell};
use super::surroundings::Surroundings;
use super::transfer::{Context, LayerCommunicator, NO_OPERATION, Peer, Transfer, unrouted};
use crate::buckets::{Buckets, MAX_EDGES};
use crate::calls::{CALLS, Class, TABLE_HASH};

/// No machine has more; cells are numbered by as many as there are.
const MOST_RANKS: u32 = 1 << 24;

/// Why bytes are no shard that this version can read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    #[error("shorter than a shard's header")]
    Short,
    #[error("not a shard of commsee")]
    Foreign,
    #[error("written by another version of commsee (format {0}); recover it with that one")]
    Version(u32),
    #[error("its header is damaged: {0}")]
    Damaged(&'static str),
}

/// What a thread is in.
#[derive(Clone, Copy, Debug)]
pub struct ThreadState {
    pub thread: u32,
    /// The call that it is in: the communicator's number and the operation. Nothing in the program.
    pub call: Option<(u32, u16)>,
    /// Where that call returns to; 0 where it is not known.
    pub caller: u64,
    pub since_ticks: u64,
}

/// What one process counted.
pub struct Shard {
    pub header: Box<Header>,
    pub buckets: Buckets,
    pub communicators: Vec<Communicator>,
    /// One cell per key, threads added up, pending receives among them; sorted by key.
    pub cells: Vec<Cell>,
    /// One edge per key, threads added up; sorted by key.
    pub edges: Vec<Edge>,
    /// Labels of communicators, names of phases and descriptions of datatypes; sorted by number.
    pub labels: Vec<Text>,
    pub phases: Vec<Text>,
    pub datatypes: Vec<Text>,
    /// One entry per key, threads added up; sorted by key.
    pub uses: Vec<Use>,
    /// What hook modules told: routes and peers by number, notes in their order, counters as cells.
    pub routes: Vec<Text>,
    pub peers: Vec<Peer>,
    pub notes: Vec<Text>,
    pub transfers: Vec<Transfer>,
    /// Communicators of layers, and contexts of transfers; sorted by number.
    pub layer_communicators: Vec<LayerCommunicator>,
    pub contexts: Vec<Context>,
    /// Where in the code calls are made, and what was counted there: one entry per key, threads added up; sorted by key.
    pub code: Code,
    pub site_cells: Vec<SiteCell>,
    pub surroundings: Surroundings,
    /// One entry per key, threads added up; sorted by key.
    pub completed: Vec<Completed>,
    /// Files by number, and what was done with them: one entry per key, threads added up; sorted by key.
    pub files: Vec<File>,
    pub file_cells: Vec<FileCell>,
    /// The timeline: events with the number of their thread.
    pub events: Vec<(u32, Event)>,
    /// What each thread is in; sorted by thread.
    pub thread_states: Vec<ThreadState>,
    in_flight: Vec<InFlightCall>,
    /// Entries and blocks that made no sense.
    pub damaged: u64,
    /// Its process goes on, but how long it has since its last sign cannot be told: its clock is another host's.
    pub is_old: bool,
}

impl Shard {
    /// Reads the bytes of a shard or of an image.
    pub fn parse(bytes: &[u8]) -> Result<Shard, Error> {
        let header: Header = pod(bytes, 0).ok_or(Error::Short)?;
        if header.magic != MAGIC {
            return Err(Error::Foreign);
        }
        if header.format != FORMAT || header.table_hash != TABLE_HASH {
            return Err(Error::Version(header.format));
        }
        if !header.is_intact() {
            return Err(Error::Damaged("its checksum is wrong"));
        }
        if header.world_rank >= header.world_size || header.world_size > MOST_RANKS {
            return Err(Error::Damaged("its rank or number of ranks is impossible"));
        }
        let edges = header.edges_bytes.get(..header.edge_count as usize).ok_or(Error::Damaged("bucket edges"))?;
        let buckets = Buckets::new(edges).map_err(|_| Error::Damaged("bucket edges"))?;
        let mut shard = Shard {
            header: Box::new(header),
            buckets,
            communicators: Vec::new(),
            cells: Vec::new(),
            edges: Vec::new(),
            labels: Vec::new(),
            phases: Vec::new(),
            datatypes: Vec::new(),
            uses: Vec::new(),
            routes: Vec::new(),
            peers: Vec::new(),
            notes: Vec::new(),
            transfers: Vec::new(),
            layer_communicators: Vec::new(),
            contexts: Vec::new(),
            code: Code::default(),
            site_cells: Vec::new(),
            surroundings: Surroundings::default(),
            completed: Vec::new(),
            files: Vec::new(),
            file_cells: Vec::new(),
            events: Vec::new(),
            thread_states: Vec::new(),
            in_flight: Vec::new(),
            damaged: 0,
            is_old: false,
        };
        let used = usize::try_from(header.used_bytes).unwrap_or(usize::MAX).min(bytes.len());
        shard.read_blocks(&bytes[..used]);
        shard.damaged += u64::from(used as u64 != header.used_bytes);
        shard.settle();
        Ok(shard)
    }

    /// Tells the counts in these buckets, whose edges the shard's own have among them.
    pub fn coarsen(&mut self, buckets: &Buckets) {
        if self.buckets.edges() == buckets.edges() {
            return;
        }
        let coarse = |bucket: u8| match bucket {
            BUCKET_FAILED.. => bucket,
            _ => bucket & OWN_SIZE | buckets.holding(bucket & !OWN_SIZE, &self.buckets),
        };
        for cell in &mut self.cells {
            cell.key = cell.key & !0xff | u64::from(coarse(cell.bucket()));
        }
        for transfer in &mut self.transfers {
            transfer.key[0] = transfer.key[0] & !0xff | u64::from(coarse(transfer.bucket()));
        }
        for cell in &mut self.site_cells {
            cell.key = cell.key & !0xff | u64::from(coarse(cell.key as u8));
        }
        for cell in &mut self.file_cells {
            cell.key = cell.key & !0xff | u64::from(coarse(cell.key as u8));
        }
        for entry in &mut self.completed {
            let bucket = u64::from(coarse(entry.bucket())) << 32;
            entry.key[1] = entry.key[1] & !(0xff << 32) | bucket;
        }
        self.header.edge_count = buckets.edges().len() as u32;
        self.header.edges_bytes = [0; MAX_EDGES];
        self.header.edges_bytes[..buckets.edges().len()].copy_from_slice(buckets.edges());
        self.buckets = *buckets;
        self.add_up();
    }

    /// How long a tick lasts.
    pub fn ns_per_tick(&self) -> f64 {
        let header = &self.header;
        let ticks = header.latest.ticks.saturating_sub(header.entered.ticks);
        let ns = header.latest.monotonic_ns.saturating_sub(header.entered.monotonic_ns);
        if ticks == 0 { 0.0 } else { ns as f64 / ticks as f64 }
    }

    /// A moment in nanoseconds after the end of `MPI_Init`.
    pub fn since_start_ns(&self, ticks: u64) -> u64 {
        (ticks.saturating_sub(self.header.started.ticks) as f64 * self.ns_per_tick()).round() as u64
    }

    /// The latest moment at which the process is known to have lived, in ticks.
    pub fn last_sign_ticks(&self) -> u64 {
        self.thread_states.iter().map(|state| state.since_ticks).fold(self.header.latest.ticks, u64::max)
    }

    fn read_blocks(&mut self, bytes: &[u8]) {
        let mut offset = HEADER_BYTES;
        while offset < bytes.len() {
            let Some(block) = pod::<BlockHeader>(bytes, offset).filter(|block| block.magic == BLOCK_MAGIC) else {
                self.damaged += 1;
                return;
            };
            let size = block.bytes as usize;
            if size < BLOCK_HEADER_BYTES {
                self.damaged += 1;
                return;
            }
            let end = offset.saturating_add(size).min(bytes.len());
            let body = &bytes[offset + BLOCK_HEADER_BYTES..end];
            self.damaged += match block.kind {
                COMMUNICATORS => read_entries(body, block.used, &mut self.communicators),
                CELLS => read_entries(body, block.used, &mut self.cells),
                EDGES => read_entries(body, block.used, &mut self.edges),
                LABELS => read_entries(body, block.used, &mut self.labels),
                PHASES => read_entries(body, block.used, &mut self.phases),
                DATATYPES => read_entries(body, block.used, &mut self.datatypes),
                USES => read_entries(body, block.used, &mut self.uses),
                IN_FLIGHT_CALLS => read_entries(body, block.used, &mut self.in_flight),
                ROUTES => read_entries(body, block.used, &mut self.routes),
                PEERS => read_entries(body, block.used, &mut self.peers),
                NOTES => read_entries(body, block.used, &mut self.notes),
                EVENTS => {
                    let mut events: Vec<Event> = Vec::new();
                    let damaged = read_entries(body, block.used, &mut events);
                    self.events.extend(events.into_iter().map(|event| (block.reserved[0], event)));
                    damaged
                }
                TRANSFERS => read_entries(body, block.used, &mut self.transfers),
                LAYER_COMMUNICATORS => read_entries(body, block.used, &mut self.layer_communicators),
                CONTEXTS => read_entries(body, block.used, &mut self.contexts),
                MODULES => read_numbered(body, &block, &mut self.code.modules),
                PLACES => {
                    let mut places: Vec<(u32, Place)> = Vec::new();
                    let damaged = read_numbered(body, &block, &mut places);
                    self.code.frames.extend(places.into_iter().map(|(number, place)| (number, place.into())));
                    damaged
                }
                SITES => read_numbered(body, &block, &mut self.code.sites),
                CODE_TEXTS => read_entries(body, block.used, &mut self.code.texts),
                SURROUNDINGS => read_entries(body, block.used, &mut self.surroundings.texts),
                SITE_CELLS => read_entries(body, block.used, &mut self.site_cells),
                COMPLETED => read_entries(body, block.used, &mut self.completed),
                FILES => read_entries(body, block.used, &mut self.files),
                FILE_CELLS => read_entries(body, block.used, &mut self.file_cells),
                _ => 1,
            };
            offset = end;
        }
    }

    /// Keeps what layers told of communicators and contexts that make sense, and returns how many did not.
    fn settle_contexts(&mut self) -> u64 {
        let before = self.layer_communicators.len() + self.contexts.len();
        // MPI's own identities, and those of the rows that are no communicators, are MPI's.
        self.layer_communicators.retain(|entry| entry.number > 0 && entry.identity[0] != 0 && entry.layer[0] != 0);
        self.layer_communicators.sort_by_key(|entry| entry.number);
        self.layer_communicators.dedup_by_key(|entry| entry.number);
        let of_layer =
            |number: u32| self.layer_communicators.binary_search_by_key(&number, |entry| entry.number).is_ok();
        let route = |number: u32| self.routes.binary_search_by_key(&number, |text| text.number).is_ok();
        self.contexts.retain(|context| {
            context.number > 0
                && (context.communicator == 0 || of_layer(context.communicator))
                && (context.within == 0 || route(context.within))
        });
        self.contexts.sort_by_key(|context| context.number);
        self.contexts.dedup_by_key(|context| context.number);
        (before - self.layer_communicators.len() - self.contexts.len()) as u64
    }

    /// Adds up what several threads counted under one key, and drops what refers to nothing.
    fn settle(&mut self) {
        let before = self.communicators.len();
        // The rows `-` and `*` have numbers and identities that no communicator has.
        let is_special = |identity: [u64; 2]| identity[0] == 0 && identity[1] < u64::from(FIRST_COMM);
        self.communicators.retain(|record| record.number >= FIRST_COMM && !is_special(record.identity));
        self.damaged += (before - self.communicators.len()) as u64;
        self.communicators.sort_by_key(|communicator| communicator.number);
        self.communicators.dedup_by_key(|communicator| communicator.number);
        for texts in [&mut self.labels, &mut self.phases, &mut self.datatypes, &mut self.routes] {
            texts.sort_by_key(|text| text.number);
            texts.dedup_by_key(|text| text.number);
        }
        self.surroundings.settle();
        self.damaged += self.settle_contexts() + self.code.settle();
        let known = |number: u32| {
            number < FIRST_COMM || self.communicators.binary_search_by_key(&number, |comm| comm.number).is_ok()
        };
        let before = self.files.len();
        self.files.retain(|file| file.number != UNNAMED_FILE && file.hash != 0);
        self.damaged += (before - self.files.len()) as u64;
        self.files.sort_by_key(|file| file.number);
        self.files.dedup_by_key(|file| file.number);
        let before = self.phases.len();
        self.phases.retain(|phase| (1..=u32::from(OTHER_PHASE)).contains(&phase.number));
        self.damaged += (before - self.phases.len()) as u64;
        let named = |texts: &[Text], number: u32| texts.binary_search_by_key(&number, |text| text.number).is_ok();
        let in_phase = |cell: &Cell| cell.phase() == NO_PHASE || named(&self.phases, cell.phase().into());
        self.peers.sort_by_key(|peer| (peer.kind, peer.number));
        self.peers.dedup_by_key(|peer| (peer.kind, peer.number));
        let lengths = |shard: &Shard| {
            let counted = shard.cells.len() + shard.edges.len() + shard.uses.len() + shard.transfers.len();
            counted + shard.site_cells.len() + shard.completed.len() + shard.file_cells.len()
        };
        let before = lengths(self);
        let (bucket_count, operations) = (self.buckets.edges().len() as u8, CALLS.len() as u16);
        let fits = |bucket: u8| bucket & !OWN_SIZE <= bucket_count || bucket >= BUCKET_FAILED;
        self.cells.retain(|cell| {
            let is_known = known(cell.comm()) && cell.operation() < operations;
            is_known && fits(cell.bucket()) && in_phase(cell) && is_possible(cell.calls)
        });
        self.edges.retain(|edge| known(edge.comm()) && edge.operation() < operations && is_possible(edge.calls));
        self.site_cells.retain(|entry| {
            let cell = entry.cell();
            let is_known = known(cell.comm()) && cell.operation() < operations && self.code.has_site(entry.site);
            is_known && fits(cell.bucket()) && in_phase(&cell) && is_possible(entry.calls)
        });
        self.completed.retain(|entry| {
            let calls = entry.calls();
            let is_known = known(calls.comm()) && calls.operation() < operations && in_phase(&calls);
            is_known
                && is_possible(entry.requests)
                && (!entry.is_known() || entry.operation() < operations)
                && entry.bucket() <= bucket_count
        });
        self.file_cells.retain(|entry| {
            let cell = entry.cell();
            let is_on_file = CALLS.get(usize::from(cell.operation())).is_some_and(|call| call.class == Class::Io);
            let is_named = || self.files.binary_search_by_key(&entry.file, |file| file.number).is_ok();
            let is_known = known(cell.comm()) && is_on_file && (entry.file == UNNAMED_FILE || is_named());
            // No rule of theirs tells a rank's own bytes.
            let fits = cell.bucket() <= bucket_count || cell.bucket() == BUCKET_FAILED;
            is_known && fits && in_phase(&cell) && is_possible(entry.calls)
        });
        let described = |entry: &Use| named(&self.datatypes, entry.datatype());
        self.uses.retain(|entry| {
            known(entry.comm()) && entry.operation() < operations && described(entry) && is_possible(entry.calls)
        });
        let by_layer = |transfer: &Transfer| {
            transfer.operation() < operations || transfer.operation() == NO_OPERATION && transfer.comm() == NO_COMM
        };
        let route = |routed: u32| {
            let (route, context) = unrouted(routed);
            let in_context = || self.contexts.binary_search_by_key(&context, |entry| entry.number).is_ok();
            (route == 0 || named(&self.routes, route)) && (context == 0 || in_context())
        };
        self.transfers.retain(|transfer| {
            known(transfer.comm())
                && by_layer(transfer)
                && transfer.bucket() <= bucket_count
                && route(transfer.routed())
                && is_possible(transfer.calls)
        });
        let before_events = self.events.len();
        self.events.retain(|(_, event)| {
            let operation = event.operation;
            let is_known = operation < operations || operation == NO_OPERATION && event.kind == LAYER;
            event.kind <= RECEIVED && is_known && known(event.comm) && (event.kind != LAYER || route(event.route))
        });
        self.damaged += (before_events - self.events.len()) as u64;
        self.damaged += (before - lengths(self)) as u64;
        let levels = std::mem::take(&mut self.in_flight);
        let holders = if levels.is_empty() { HashMap::new() } else { self.holders() };
        let mut states = BTreeMap::new();
        for level in &levels {
            self.add_state(level, &holders, &mut states);
        }
        self.thread_states = states.into_values().collect();
        self.add_up();
    }

    fn add_up(&mut self) {
        self.cells.sort_unstable_by_key(|cell| cell.key);
        self.cells.dedup_by(|more, sum| more.key == sum.key && add_cell(sum, more));
        self.edges.sort_unstable_by_key(|edge| edge.key);
        self.edges
            .dedup_by(|more, sum| more.key == sum.key && add(&mut sum.calls, &mut sum.bytes, more.calls, more.bytes));
        self.uses.sort_unstable_by_key(|entry| entry.key);
        self.uses
            .dedup_by(|more, sum| more.key == sum.key && add(&mut sum.calls, &mut sum.bytes, more.calls, more.bytes));
        self.site_cells.sort_unstable_by_key(SiteCell::key);
        self.site_cells.dedup_by(|more, sum| more.key() == sum.key() && add_site_cell(sum, more));
        self.completed.sort_unstable_by_key(|entry| entry.key);
        self.completed.dedup_by(|more, sum| more.key == sum.key && add_completed(sum, more));
        self.file_cells.sort_unstable_by_key(FileCell::key);
        self.file_cells.dedup_by(|more, sum| more.key() == sum.key() && add_file_cell(sum, more));
        self.transfers.sort_unstable_by_key(|transfer| transfer.key);
        self.transfers.dedup_by(|more, sum| more.key == sum.key && add_transfer(sum, more));
    }

    /// Puts what one level says to what other levels of its thread said: the innermost call counts, else the latest return.
    fn add_state(
        &mut self,
        level: &InFlightCall,
        holders: &HashMap<u64, u32>,
        states: &mut BTreeMap<u32, ThreadState>,
    ) {
        let has_begun = level.begin_ticks != 0;
        if !has_begun && level.end_ticks == 0 {
            return;
        }
        let operation = level.operation();
        if operation.is_some_and(|operation| usize::from(operation) >= CALLS.len()) {
            self.damaged += 1;
            return;
        }
        let call = operation.map(|operation| (self.communicator_at(level, holders), operation));
        // What was caught between two words of a call that begins may have no end.
        let since_ticks = if call.is_some() || level.end_ticks == 0 { level.begin_ticks } else { level.end_ticks };
        let caller = if call.is_some() { level.caller } else { 0 };
        let state = ThreadState { thread: level.thread, call, caller, since_ticks };
        let known = states.entry(level.thread).or_insert(state);
        if (known.call.is_some(), known.since_ticks) < (state.call.is_some(), state.since_ticks) {
            *known = state;
        }
    }

    /// The communicator that has each handle. That of a freed one may have been given to another one since.
    fn holders(&self) -> HashMap<u64, u32> {
        let with_handle = self.communicators.iter().filter(|comm| comm.handle != 0);
        // Numbers ascend; of equal handles the last one counts.
        let (freed, others): (Vec<&Communicator>, Vec<&Communicator>) =
            with_handle.partition(|comm| comm.flags & FREED != 0);
        freed.into_iter().chain(others).map(|comm| (comm.handle, comm.number)).collect()
    }

    fn communicator_at(&self, level: &InFlightCall, holders: &HashMap<u64, u32>) -> u32 {
        let is_known = |number: u32| self.communicators.binary_search_by_key(&number, |comm| comm.number).is_ok();
        let known = |number: u64| u32::try_from(number).is_ok_and(is_known);
        if !level.is_of_handle() {
            let is_row = level.comm < u64::from(FIRST_COMM);
            return if is_row || known(level.comm) { level.comm as u32 } else { NO_COMM };
        }
        holders.get(&(level.comm & self.header.handle_mask)).copied().unwrap_or(NO_COMM)
    }
}

/// A call each nanosecond makes fewer in a hundred days; more stem from damage, and sums of them would overflow. A thread that takes back what
/// another one counted has a count below zero.
fn is_possible(calls: u64) -> bool {
    (calls as i64).unsigned_abs() < 1 << 53
}

/// Wrapping, because one thread may take back what another one counted as pending.
fn add_cell(sum: &mut Cell, more: &Cell) -> bool {
    sum.calls = sum.calls.wrapping_add(more.calls);
    sum.bytes_sent = sum.bytes_sent.wrapping_add(more.bytes_sent);
    sum.bytes_recv = sum.bytes_recv.wrapping_add(more.bytes_recv);
    sum.ticks = sum.ticks.wrapping_add(more.ticks);
    sum.ticks_min = sum.ticks_min.min(more.ticks_min);
    sum.ticks_max = sum.ticks_max.max(more.ticks_max);
    true
}

fn add_site_cell(sum: &mut SiteCell, more: &SiteCell) -> bool {
    sum.bytes_sent = sum.bytes_sent.wrapping_add(more.bytes_sent);
    sum.ticks = sum.ticks.wrapping_add(more.ticks);
    add(&mut sum.calls, &mut sum.bytes_recv, more.calls, more.bytes_recv)
}

fn add_file_cell(sum: &mut FileCell, more: &FileCell) -> bool {
    sum.bytes_written = sum.bytes_written.wrapping_add(more.bytes_written);
    sum.ticks = sum.ticks.wrapping_add(more.ticks);
    add(&mut sum.calls, &mut sum.bytes_read, more.calls, more.bytes_read)
}

fn add_completed(sum: &mut Completed, more: &Completed) -> bool {
    sum.ticks = sum.ticks.wrapping_add(more.ticks);
    add(&mut sum.requests, &mut sum.bytes, more.requests, more.bytes)
}

fn add_transfer(sum: &mut Transfer, more: &Transfer) -> bool {
    sum.asynchronous = sum.asynchronous.wrapping_add(more.asynchronous);
    sum.time_ns = sum.time_ns.wrapping_add(more.time_ns);
    sum.time_min_ns = sum.time_min_ns.min(more.time_min_ns);
    sum.time_max_ns = sum.time_max_ns.max(more.time_max_ns);
    add(&mut sum.calls, &mut sum.bytes, more.calls, more.bytes)
}

fn add(sum_calls: &mut u64, sum_bytes: &mut u64, calls: u64, bytes: u64) -> bool {
    *sum_calls = sum_calls.wrapping_add(calls);
    *sum_bytes = sum_bytes.wrapping_add(bytes);
    true
}

/// Appends the entries that are whole; returns 1 if some were cut off.
fn read_entries<T: Pod>(body: &[u8], used: u32, entries: &mut Vec<T>) -> u64 {
    let whole = (used as usize).min(body.len() / size_of::<T>());
    entries.extend((0..whole).filter_map(|index| pod::<T>(body, index * size_of::<T>())));
    u64::from(whole != used as usize)
}

/// The same of entries whose numbers follow from that of the block's first one.
fn read_numbered<T: Pod>(body: &[u8], block: &BlockHeader, entries: &mut Vec<(u32, T)>) -> u64 {
    let mut whole = Vec::new();
    let cut_off = read_entries(body, block.used, &mut whole);
    let numbered = whole.into_iter().enumerate();
    entries.extend(numbered.map(|(at, entry)| (block.reserved[0].saturating_add(at as u32), entry)));
    cut_off
}

fn pod<T: Pod>(bytes: &[u8], offset: usize) -> Option<T> {
    bytes.get(offset..offset.checked_add(size_of::<T>())?).map(bytemuck::pod_read_unaligned)
}
