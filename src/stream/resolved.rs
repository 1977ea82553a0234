//! What a shard says, and what its numbers mean to all processes.

use std::collections::HashMap;

use super::detail::Detail;
use super::group::{Key, NO_RANK, Peak, Row};
use super::hash::{CodeHashes, hash};
use super::identity::{self, Identity};
use super::item::{Birthplace, Communicator, Edge, InFlight, Item, Name, OfRanks, Process, Run, Spread, Use};
use super::order::Order;
use crate::calls;
use crate::counters::{Arguments, Calls, CellOf, Messages, ns};
use crate::shard::{
    self, BUCKET_FAILED, BUCKET_INVOLVED, BUCKET_PENDING, CONTIGUOUS, Cell, FINISHED, FIRST_COMM, FREED, Header, LEFT,
    NO_COMM, OWN_SIZE, RUNNING, SEVERAL_COMMS, SNAPSHOT, Shard,
};

/// A shard, and what its numbers mean to all processes.
pub struct Resolved {
    shard: Shard,
    rank: u32,
    ns_per_tick: f64,
    detail: Detail,
    location: u64,
    /// Indices of the communicators in the order of their identities, and the other way round.
    by_identity: Vec<u32>,
    position_by_index: Vec<u32>,
    /// MPI time in the rows `-` and `*`, and in the communicators in the order of their identities, where anything was called.
    times_ns: Vec<Option<u64>>,
    phases: HashMap<u8, u64>,
    datatypes: HashMap<u32, u64>,
    hashes: CodeHashes,
    /// The sites that the shard's threads call from, where they are in a call.
    callers: Vec<u32>,
}

/// Tells texts of commands and settings from others of the same words (`layers.rs` has those below).
const OF_RANKS: u8 = 6;

/// Behind the rows `-` and `*`.
const FIRST_POSITION: u32 = 2;

impl Resolved {
    pub fn of(mut shard: Shard, detail: Detail) -> Resolved {
        let rank = shard.header.world_rank;
        let Shard { thread_states, code, .. } = &mut shard;
        let callers = thread_states.iter().map(|state| code.add_caller(state.caller)).collect();
        let hashes = CodeHashes::of(&shard.code);
        let location = match detail {
            Detail::Rank => rank.into(),
            Detail::Node => hash(&shard::text(&shard.header.host), 0),
            Detail::Comm => 0,
        };
        let mut by_identity: Vec<u32> = (0..shard.communicators.len() as u32).collect();
        let identity = |index: u32| shard.communicators[index as usize].identity;
        by_identity.sort_by_key(|index| identity(*index));
        let mut position_by_index = vec![0; by_identity.len()];
        let mut last = (identity::SEVERAL_COMMS, FIRST_POSITION - 1);
        for (at, index) in (FIRST_POSITION..).zip(&by_identity) {
            // Two records of one identity, which nobody should leave, have one position.
            let identity = identity(*index);
            last = if identity == last.0 { last } else { (identity, at) };
            position_by_index[*index as usize] = last.1;
        }
        // One whose name was cut off altogether is like none.
        let named = shard.phases.iter().filter(|phase| phase.text[0] != 0);
        let phases = named.map(|phase| (phase.number as u8, hash(&shard::text(&phase.text), 0)));
        let datatypes = shard.datatypes.iter().map(|datatype| {
            (datatype.number, hash(&shard::text(&datatype.text), 1 + u8::from(datatype.flags & CONTIGUOUS != 0)))
        });
        Resolved {
            rank,
            ns_per_tick: shard.ns_per_tick(),
            detail,
            location,
            times_ns: vec![None; by_identity.len() + FIRST_POSITION as usize],
            by_identity,
            position_by_index,
            phases: phases.collect(),
            datatypes: datatypes.collect(),
            hashes,
            callers,
            shard,
        }
    }

    pub fn shard(&self) -> &Shard {
        &self.shard
    }

    pub fn take_events(&mut self) -> Vec<(u32, shard::Event)> {
        std::mem::take(&mut self.shard.events)
    }

    pub fn hashes(&self) -> &CodeHashes {
        &self.hashes
    }

    /// What a site is known by in all processes; 0 is none.
    pub fn site(&self, number: u32) -> u64 {
        self.hashes.site(&self.shard.code, number)
    }

    /// The sites that threads of a process which had not finished were called from.
    pub fn callers(&self) -> impl Iterator<Item = u32> {
        let callers: &[u32] = if self.is_open() { &self.callers } else { &[] };
        callers.iter().copied()
    }

    /// The process had not finished.
    fn is_open(&self) -> bool {
        matches!(self.shard.header.state, RUNNING | SNAPSHOT)
    }

    pub fn ns_per_tick(&self) -> f64 {
        self.ns_per_tick
    }

    pub fn rank(&self) -> u32 {
        self.rank
    }

    pub fn detail(&self) -> Detail {
        self.detail
    }

    /// What tells rows of this process from others: its rank, the hash of its node's name, or nothing.
    pub fn location(&self) -> u64 {
        self.location
    }

    /// The index of a communicator among the shard's.
    fn index(&self, number: u32) -> Option<usize> {
        let all = &self.shard.communicators;
        // Numbers have no gaps, but where a shard is damaged.
        let at = number.wrapping_sub(FIRST_COMM) as usize;
        match all.get(at) {
            Some(communicator) if communicator.number == number => Some(at),
            _ => all.binary_search_by_key(&number, |communicator| communicator.number).ok(),
        }
    }

    /// Ascends as identities do.
    fn position_of(&self, number: u32) -> u32 {
        match number {
            NO_COMM | SEVERAL_COMMS => number,
            _ => self.index(number).map_or(NO_COMM, |index| self.position_by_index[index]),
        }
    }

    pub fn order_of_cell(&self, index: u32) -> (u32, u16, u8, u64) {
        let cell = &self.shard.cells[index as usize];
        (self.position_of(cell.comm()), cell.operation(), bucket_shown(cell), self.phase(cell.phase()))
    }

    pub fn order_of_edge(&self, index: u32) -> (u32, u16, u32) {
        let edge = &self.shard.edges[index as usize];
        (self.position_of(edge.comm()), edge.operation(), edge.world_rank)
    }

    pub fn add_up_times(&mut self, cells: &[u32]) {
        for cell in cells.iter().map(|index| &self.shard.cells[*index as usize]) {
            if cell.bucket() != BUCKET_INVOLVED {
                let time_ns = if calls::outside_span(cell.operation()) { 0 } else { self.ns(cell.ticks) };
                let position = self.position_of(cell.comm()) as usize;
                self.times_ns[position] = Some(self.times_ns[position].unwrap_or(0).saturating_add(time_ns));
            }
        }
    }

    pub fn ns(&self, ticks: u64) -> u64 {
        ns(ticks, self.ns_per_tick)
    }

    pub fn identity(&self, number: u32) -> Identity {
        match number {
            SEVERAL_COMMS => identity::SEVERAL_COMMS,
            _ => self.index(number).map_or(identity::NO_COMM, |index| self.shard.communicators[index].identity),
        }
    }

    pub fn run(&self) -> Item {
        let header = &self.shard.header;
        Item::Run(Box::new(Run {
            header: header.clone(),
            ns_per_tick: self.ns_per_tick,
            world_size: header.world_size,
            ranks: 1,
            lost_calls: header.lost_calls.into(),
            damaged: self.shard.damaged,
            end_realtime_ns: header.start_realtime_ns.saturating_add(self.wall_ns()),
        }))
    }

    fn wall_ns(&self) -> u64 {
        let (shard, header) = (&self.shard, &self.shard.header);
        match header.state {
            FINISHED | LEFT => header.latest.monotonic_ns.saturating_sub(header.started.monotonic_ns),
            _ => shard.since_start_ns(shard.last_sign_ticks()),
        }
    }

    pub fn process(&self) -> Item {
        let header = &self.shard.header;
        let mpi_ns = self.times_ns.iter().flatten().fold(0u64, |sum, time_ns| sum.saturating_add(*time_ns));
        let host = shard::text(&header.host);
        let (rank, pid, wall_ns, state) = (self.rank, header.pid, self.wall_ns(), header.state);
        let surroundings = &self.shard.surroundings;
        let (processors, numa_nodes) = (surroundings.processors(), surroundings.numa_nodes());
        let scheduled = self.scheduled();
        Item::Process(Process { rank, host, pid, wall_ns, mpi_ns, scheduled, state, processors, numa_nodes })
    }

    /// During the run time.
    fn scheduled(&self) -> Option<(u64, u64)> {
        let Header { state, scheduled: [begin, end], .. } = &*self.shard.header;
        let is_known = *state == FINISHED && begin.ran_ns > 0 && end.ran_ns > begin.ran_ns;
        is_known.then(|| (end.ran_ns - begin.ran_ns, end.ready_ns.saturating_sub(begin.ready_ns)))
    }

    pub fn program(&self) -> Item {
        Item::Program(self.of_rank(shard::text(&self.shard.header.command)))
    }

    pub fn settings(&self) -> Vec<Item> {
        let mut settings: Vec<OfRanks> = self.shard.surroundings.settings().map(|text| self.of_rank(text)).collect();
        settings.sort_by_key(|setting| setting.hash);
        settings.into_iter().map(Item::Setting).collect()
    }

    fn of_rank(&self, text: String) -> OfRanks {
        OfRanks { hash: hash(&text, OF_RANKS), text, members: vec![(self.rank, self.rank)] }
    }

    /// The communicator that comes so many-th, the rows `-` and `*` before all others.
    pub fn communicator(&self, number: usize) -> Option<Item> {
        let spread = |position: usize| {
            let peak = Peak { ns: self.times_ns[position]?, rank: self.rank };
            Some(Spread { ranks: 1, time_ns: peak.ns, least: peak, most: peak })
        };
        let Some(at) = number.checked_sub(FIRST_POSITION as usize) else {
            return Some(Item::Communicator(Box::new(Communicator {
                identity: [identity::NO_COMM, identity::SEVERAL_COMMS][number],
                layer: None,
                letter: b' ',
                root: 0,
                size: 0,
                remote_size: 0,
                parent: None,
                label: None,
                freed: false,
                counter: None,
                source: self.rank,
                members: Vec::new(),
                order: Order::default(),
                spread: spread(number),
                birthplace: None,
            })));
        };
        let index = *self.by_identity.get(at)? as usize;
        let record = &self.shard.communicators[index];
        let labels = &self.shard.labels;
        let named = labels.binary_search_by_key(&record.number, |label| label.number).ok();
        let label = named.map(|at| shard::text(&labels[at].text)).unwrap_or_default();
        let position = self.position_by_index[index] as usize;
        let counter = (record.root == self.rank || record.letter == b'W').then_some(record.counter);
        let told_by = if counter.is_some() { 0 } else { self.rank.saturating_add(1) };
        let birthplace = Some(self.site(record.site())).filter(|site| *site > 0);
        Some(Item::Communicator(Box::new(Communicator {
            identity: record.identity,
            layer: None,
            letter: record.letter,
            root: record.root,
            size: record.size,
            remote_size: record.remote_size(),
            parent: Some(self.identity(record.parent)).filter(|parent| !is_special(*parent)),
            label: (!label.is_empty()).then_some(label),
            freed: record.flags & FREED != 0,
            // That of MPI_COMM_WORLD is the same everywhere.
            counter,
            source: self.rank,
            members: vec![(self.rank, self.rank)],
            order: Order::default(),
            // That of several records of one identity is told once.
            spread: spread(position).filter(|_| position == number),
            birthplace: birthplace.map(|site| Birthplace { told_by, site }),
        })))
    }

    pub fn names(&self) -> impl Iterator<Item = Item> {
        let first = |number| (self.rank, number);
        let phases = self.shard.phases.iter().filter(|phase| phase.text[0] != 0).map(move |phase| {
            let (hash, text) = (self.phase(phase.number as u8), shard::text(&phase.text));
            Item::Phase(Name { hash, text, contiguous: false, first: first(phase.number) })
        });
        let datatypes = self.shard.datatypes.iter().map(move |datatype| {
            let (hash, text) = (self.datatype(datatype.number), shard::text(&datatype.text));
            let contiguous = datatype.flags & CONTIGUOUS != 0;
            Item::Datatype(Name { hash, text, contiguous, first: first(datatype.number) })
        });
        phases.chain(datatypes)
    }

    pub fn phase(&self, number: u8) -> u64 {
        self.phases.get(&number).copied().unwrap_or(0)
    }

    fn datatype(&self, number: u32) -> u64 {
        self.datatypes.get(&number).copied().unwrap_or(0)
    }

    pub fn cell_count(&self) -> usize {
        self.shard.cells.len()
    }

    pub fn edge_count(&self) -> usize {
        self.shard.edges.len()
    }

    /// Whether a cell counts anything.
    pub fn has_cell(&self, index: u32) -> bool {
        !is_empty(&self.shard.cells[index as usize])
    }

    pub fn key(&self, index: u32) -> Key {
        let cell = &self.shard.cells[index as usize];
        let (identity, phase) = (self.identity(cell.comm()), self.phase(cell.phase()));
        Key { identity, operation: cell.operation(), bucket: bucket_shown(cell), phase }
    }

    pub fn row(&self, index: u32) -> Row {
        let cell = &self.shard.cells[index as usize];
        let counted = Calls::read(&CellOf { cell, ns_per_tick: self.ns_per_tick });
        Row { location: self.location, rank: self.rank, counted }
    }

    /// Without ranks there is nothing between which messages go.
    pub fn has_edge(&self, index: u32) -> bool {
        self.shard.edges[index as usize].calls as i64 > 0 && self.detail != Detail::Comm
    }

    pub fn edge(&self, index: u32) -> Item {
        let edge = &self.shard.edges[index as usize];
        Item::Edge(Edge {
            identity: self.identity(edge.comm()),
            operation: edge.operation(),
            source: self.location,
            source_rank: self.rank,
            destination: edge.world_rank,
            counted: Messages::read(edge),
        })
    }

    pub fn uses(&self) -> impl Iterator<Item = Item> {
        let rank = if self.detail == Detail::Comm { NO_RANK } else { self.rank };
        let uses = self.shard.uses.iter().filter(|entry| entry.calls as i64 > 0);
        uses.map(move |entry| {
            Item::Use(Use {
                identity: self.identity(entry.comm()),
                operation: entry.operation(),
                datatype: self.datatype(entry.datatype()),
                location: self.location,
                rank,
                counted: Arguments::read(entry),
            })
        })
    }

    /// The calls that the threads of a process were in that had not finished.
    pub fn in_flight(&self) -> impl Iterator<Item = Item> {
        let shard = &self.shard;
        let is_open = self.is_open();
        let last_ns = shard.since_start_ns(shard.last_sign_ticks());
        let states = shard.thread_states.iter().zip(&self.callers);
        states.filter(move |_| is_open).map(move |(state, caller)| {
            let since_ns = shard.since_start_ns(state.since_ticks);
            let call = state.call.map(|(number, operation)| (self.identity(number), operation));
            // Most calls of a process that pauses counting go by unseen.
            let is_known = call.is_some() || shard.header.paused == 0;
            Item::InFlight(InFlight {
                rank: self.rank,
                thread: state.thread,
                call,
                since_ns: is_known.then_some(since_ns),
                for_ns: (is_known && !shard.is_old).then_some(last_ns.saturating_sub(since_ns)),
                site: self.site(*caller),
            })
        })
    }
}

/// The bucket that a cell is shown in.
pub fn bucket_shown(cell: &Cell) -> u8 {
    match cell.bucket() {
        // A receive whose message never arrived holds nothing.
        // What failed carried nothing.
        BUCKET_FAILED if calls::has_own_size(cell.operation()) => OWN_SIZE,
        BUCKET_PENDING | BUCKET_FAILED => 0,
        bucket => bucket,
    }
}

fn is_special(identity: Identity) -> bool {
    [identity::NO_COMM, identity::SEVERAL_COMMS].contains(&identity)
}

pub fn is_empty(cell: &Cell) -> bool {
    // A count below zero can only stem from a process that was ended between two additions.
    (cell.calls as i64) < 0 || (cell.calls == 0 && cell.bytes_sent == 0 && cell.bytes_recv == 0)
}
