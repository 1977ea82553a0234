//! The stream of one process, from its shard.

use std::collections::HashMap;
use std::iter::Peekable;
use std::vec::IntoIter;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::detail::Detail;
use super::group::{BLOCK_RANKS, Each, Key, NO_RANK, Peak, Row, Sum, Totals};
use super::item::{self, Communicator, Edge, Identity, Item, Name, Process, Run, Spread, Stand, Use};
use super::merge::Source;
use crate::calls;
use crate::shard::{
    self, BUCKET_FAILED, BUCKET_INVOLVED, BUCKET_PENDING, Bound, CONTIGUOUS, Cell, FINISHED, FIRST_COMM, FREED, LEFT,
    NO_COMM, RUNNING, SEVERAL_COMMS, SNAPSHOT, Shard,
};

/// The phase of a sum over all phases.
pub const ALL_PHASES: u64 = u64::MAX;

/// The items of one process, made when they are asked for: what is held beside the shard is the order of its entries.
pub struct Leaf {
    facts: Facts,
    head: IntoIter<Item>,
    /// How many communicators were told.
    communicators: usize,
    names: IntoIter<Item>,
    /// Cells and edges that count anything, sorted.
    cells: Peekable<IntoIter<u32>>,
    edges: IntoIter<u32>,
    /// The sum over the phases of the group that has just been told.
    over_phases: Option<Sum>,
    /// What was put off until the sum before it is told.
    put_off: Option<Item>,
    tail: IntoIter<Item>,
    detail: Detail,
    is_phased: bool,
}

impl Leaf {
    /// `is_phased`: whether any process of the run named a phase.
    pub fn new(shard: Shard, detail: Detail, is_phased: bool) -> Leaf {
        let mut facts = Facts::of(shard, detail);
        let all = |count: usize| (0..count as u32).collect::<Vec<u32>>();
        let mut cells = all(facts.shard.cells.len());
        cells.retain(|index| !is_empty(&facts.shard.cells[*index as usize]));
        cells.sort_unstable_by_key(|index| facts.place_of_cell(*index));
        let mut edges = all(facts.shard.edges.len());
        edges.retain(|index| facts.has_edge(*index));
        edges.sort_unstable_by_key(|index| facts.place_of_edge(*index));
        facts.add_up_times(&cells);
        let mut names: Vec<Item> = facts.names().collect();
        names.sort_by_key(Item::place);
        let mut tail: Vec<Item> = facts.uses().chain(facts.stands()).collect();
        tail.sort_by_key(Item::place);
        Leaf {
            head: vec![facts.run(), facts.process()].into_iter(),
            communicators: 0,
            names: names.into_iter(),
            cells: cells.into_iter().peekable(),
            edges: edges.into_iter(),
            over_phases: None,
            put_off: None,
            tail: tail.into_iter(),
            facts,
            detail,
            is_phased,
        }
    }

    fn next_communicator(&mut self) -> Option<Item> {
        self.communicators += 1;
        self.facts.communicator(self.communicators - 1)
    }

    /// All that was counted under the next key.
    fn next_row(&mut self) -> Option<(Key, Row)> {
        let (key, mut row) = self.facts.group(self.cells.next()?);
        while let Some((_, more)) =
            self.cells.peek().map(|next| self.facts.group(*next)).filter(|(next, _)| *next == key)
        {
            row.add(&more);
            self.cells.next();
        }
        Some((key, row))
    }

    fn next_edge(&mut self) -> Option<Item> {
        self.edges.next().map(|index| self.facts.edge(index))
    }

    fn next_group(&mut self) -> Option<Item> {
        if let Some(item) = self.put_off.take() {
            return Some(item);
        }
        let next = self.cells.peek().map(|index| Key { phase: ALL_PHASES, ..self.facts.group(*index).0 });
        if let Some(sum) = self.over_phases.take_if(|sum| Some(sum.key) != next) {
            return Some(Item::Sum(Box::new(sum)));
        }
        let (key, row) = self.next_row()?;
        let is_involved = key.bucket == BUCKET_INVOLVED;
        if self.is_phased && !is_involved {
            let key = Key { phase: ALL_PHASES, ..key };
            // One rank's parts are added up first, then they are a sum over ranks.
            match &mut self.over_phases {
                Some(sum) => {
                    let mut whole = row_of(&sum.totals);
                    whole.add(&row);
                    sum.totals = Totals::of(&whole);
                }
                None => self.over_phases = Some(Sum { key, totals: Totals::of(&row) }),
            }
        }
        let sum = Item::Sum(Box::new(Sum { key, totals: Totals::of(&row) }));
        let each = |row: Row, block| Item::Each(Each { key, block, rows: vec![row] });
        Some(match self.detail {
            Detail::Rank => each(row, row.rank / BLOCK_RANKS),
            Detail::Comm => sum,
            Detail::Node if is_involved => each(row, 0),
            Detail::Node => {
                self.put_off = Some(each(row, 0));
                sum
            }
        })
    }
}

impl Source for Leaf {
    fn next(&mut self) -> Option<Item> {
        let first = self.head.next().or_else(|| self.next_communicator()).or_else(|| self.names.next());
        first.or_else(|| self.next_group()).or_else(|| self.next_edge()).or_else(|| self.tail.next())
    }
}

/// The row that the totals of a single rank were made of.
fn row_of(totals: &Totals) -> Row {
    let Peak { ns: time_ns, rank } = totals.rank_most;
    Row {
        place: rank.into(),
        rank,
        calls: totals.calls,
        failed: totals.failed,
        bytes_sent: totals.bytes_sent,
        bytes_recv: totals.bytes_recv,
        time_ns,
        time_min_ns: totals.call_shortest.map_or(0, |peak| peak.ns),
        time_max_ns: totals.call_longest.map_or(0, |peak| peak.ns),
    }
}

/// A shard, and what its numbers mean to all processes.
struct Facts {
    shard: Shard,
    rank: u32,
    ns_per_tick: f64,
    detail: Detail,
    place: u64,
    /// Indices of the communicators in the order of their identities, and the other way round.
    by_identity: Vec<u32>,
    place_by_index: Vec<u32>,
    /// MPI time in the rows `-` and `*`, and in the communicators in the order of their identities, where anything was called.
    times_ns: Vec<Option<u64>>,
    phases: HashMap<u8, u64>,
    datatypes: HashMap<u32, u64>,
}

/// Behind the rows `-` and `*`.
const FIRST_PLACE: u32 = 2;

impl Facts {
    fn of(shard: Shard, detail: Detail) -> Facts {
        let rank = shard.header.world_rank;
        let place = match detail {
            Detail::Rank => rank.into(),
            Detail::Node => hash(&shard::text(&shard.header.host), 0),
            Detail::Comm => 0,
        };
        let mut by_identity: Vec<u32> = (0..shard.communicators.len() as u32).collect();
        let identity = |index: u32| shard.communicators[index as usize].identity;
        by_identity.sort_by_key(|index| identity(*index));
        let mut place_by_index = vec![0; by_identity.len()];
        let mut last = (item::SEVERAL_COMMS, FIRST_PLACE - 1);
        for (at, index) in (FIRST_PLACE..).zip(&by_identity) {
            // Two records of one identity, which nobody should leave, have one place.
            let identity = identity(*index);
            last = if identity == last.0 { last } else { (identity, at) };
            place_by_index[*index as usize] = last.1;
        }
        // One whose name was cut off altogether is like none.
        let named = shard.phases.iter().filter(|phase| phase.text[0] != 0);
        let phases = named.map(|phase| (phase.number as u8, hash(&shard::text(&phase.text), 0)));
        let datatypes = shard.datatypes.iter().map(|datatype| {
            (datatype.number, hash(&shard::text(&datatype.text), 1 + u8::from(datatype.flags & CONTIGUOUS != 0)))
        });
        Facts {
            rank,
            ns_per_tick: shard.ns_per_tick(),
            detail,
            place,
            times_ns: vec![None; by_identity.len() + FIRST_PLACE as usize],
            by_identity,
            place_by_index,
            phases: phases.collect(),
            datatypes: datatypes.collect(),
            shard,
        }
    }

    /// Where a communicator stands among the shard's.
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
    fn place_of(&self, number: u32) -> u32 {
        match number {
            NO_COMM | SEVERAL_COMMS => number,
            _ => self.index(number).map_or(NO_COMM, |index| self.place_by_index[index]),
        }
    }

    fn place_of_cell(&self, index: u32) -> (u32, u16, u8, u64) {
        let cell = &self.shard.cells[index as usize];
        (self.place_of(cell.comm()), cell.operation(), bucket_shown(cell), self.phase(cell.phase()))
    }

    fn place_of_edge(&self, index: u32) -> (u32, u16, u32) {
        let edge = &self.shard.edges[index as usize];
        (self.place_of(edge.comm()), edge.operation(), edge.world_rank)
    }

    fn add_up_times(&mut self, cells: &[u32]) {
        for cell in cells.iter().map(|index| &self.shard.cells[*index as usize]) {
            if cell.bucket() != BUCKET_INVOLVED {
                let time_ns = if calls::outside_span(cell.operation()) { 0 } else { self.ns(cell.ticks) };
                let place = self.place_of(cell.comm()) as usize;
                self.times_ns[place] = Some(self.times_ns[place].unwrap_or(0).saturating_add(time_ns));
            }
        }
    }

    /// A process that was ended between two additions may leave a duration below zero.
    fn ns(&self, ticks: u64) -> u64 {
        ((ticks as i64).max(0) as f64 * self.ns_per_tick).round() as u64
    }

    fn identity(&self, number: u32) -> Identity {
        match number {
            SEVERAL_COMMS => item::SEVERAL_COMMS,
            _ => self.index(number).map_or(item::NO_COMM, |index| self.shard.communicators[index].identity),
        }
    }

    fn run(&self) -> Item {
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

    fn process(&self) -> Item {
        let header = &self.shard.header;
        let mpi_ns = self.times_ns.iter().flatten().fold(0u64, |sum, time_ns| sum.saturating_add(*time_ns));
        let host = shard::text(&header.host);
        let (rank, pid, wall_ns, state) = (self.rank, header.pid, self.wall_ns(), header.state);
        Item::Process(Process { rank, host, pid, wall_ns, mpi_ns, state })
    }

    /// The communicator that comes so many-th, the rows `-` and `*` before all others.
    fn communicator(&self, number: usize) -> Option<Item> {
        let spread = |place: usize| {
            let peak = Peak { ns: self.times_ns[place]?, rank: self.rank };
            Some(Spread { ranks: 1, time_ns: peak.ns, least: peak, most: peak })
        };
        let Some(at) = number.checked_sub(FIRST_PLACE as usize) else {
            return Some(Item::Communicator(Box::new(Communicator {
                identity: [item::NO_COMM, item::SEVERAL_COMMS][number],
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
                spread: spread(number),
            })));
        };
        let index = *self.by_identity.get(at)? as usize;
        let record = &self.shard.communicators[index];
        let labels = &self.shard.labels;
        let named = labels.binary_search_by_key(&record.number, |label| label.number).ok();
        let label = named.map(|at| shard::text(&labels[at].text)).unwrap_or_default();
        let place = self.place_by_index[index] as usize;
        Some(Item::Communicator(Box::new(Communicator {
            identity: record.identity,
            letter: record.letter,
            root: record.root,
            size: record.size,
            remote_size: record.remote_size,
            parent: Some(self.identity(record.parent)).filter(|parent| !is_special(*parent)),
            label: (!label.is_empty()).then_some(label),
            freed: record.flags & FREED != 0,
            counter: (record.root == self.rank).then_some(record.counter),
            source: self.rank,
            members: vec![(self.rank, self.rank)],
            // That of several records of one identity is told once.
            spread: spread(place).filter(|_| place == number),
        })))
    }

    fn names(&self) -> impl Iterator<Item = Item> {
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

    fn phase(&self, number: u8) -> u64 {
        self.phases.get(&number).copied().unwrap_or(0)
    }

    fn datatype(&self, number: u32) -> u64 {
        self.datatypes.get(&number).copied().unwrap_or(0)
    }

    fn group(&self, index: u32) -> (Key, Row) {
        let cell = &self.shard.cells[index as usize];
        let (identity, phase) = (self.identity(cell.comm()), self.phase(cell.phase()));
        (Key { identity, operation: cell.operation(), bucket: bucket_shown(cell), phase }, self.row(cell))
    }

    fn row(&self, cell: &Cell) -> Row {
        let bound = |bound: Bound| match cell.calls {
            0 => 0,
            // What is left of several pending receives may have seen others.
            1 => self.ns(cell.ticks),
            // A bound is rounded outwards.
            _ => self.ns(bound.ticks()).min(self.ns(cell.ticks)),
        };
        // These have no times: their place keeps the call that was noted last.
        let time_ns = if cell.bucket() == BUCKET_INVOLVED { 0 } else { self.ns(cell.ticks) };
        Row {
            place: self.place,
            rank: self.rank,
            calls: cell.calls,
            failed: if cell.bucket() == BUCKET_FAILED { cell.calls } else { 0 },
            bytes_sent: cell.bytes_sent,
            bytes_recv: cell.bytes_recv,
            time_ns,
            time_min_ns: bound(cell.ticks_min),
            time_max_ns: bound(cell.ticks_max),
        }
    }

    /// Without ranks there is nothing between which messages go.
    fn has_edge(&self, index: u32) -> bool {
        self.shard.edges[index as usize].calls as i64 > 0 && self.detail != Detail::Comm
    }

    fn edge(&self, index: u32) -> Item {
        let edge = &self.shard.edges[index as usize];
        Item::Edge(Edge {
            identity: self.identity(edge.comm()),
            operation: edge.operation(),
            source: self.place,
            source_rank: self.rank,
            destination: edge.world_rank,
            calls: edge.calls,
            bytes: edge.bytes,
        })
    }

    fn uses(&self) -> impl Iterator<Item = Item> {
        let rank = if self.detail == Detail::Comm { NO_RANK } else { self.rank };
        let uses = self.shard.uses.iter().filter(|entry| entry.calls as i64 > 0);
        uses.map(move |entry| {
            Item::Use(Use {
                identity: self.identity(entry.comm()),
                operation: entry.operation(),
                datatype: self.datatype(entry.datatype()),
                place: self.place,
                rank,
                calls: entry.calls,
                bytes: entry.bytes,
            })
        })
    }

    /// Where the threads of a process stood that had not finished.
    fn stands(&self) -> impl Iterator<Item = Item> {
        let shard = &self.shard;
        let is_open = matches!(shard.header.state, RUNNING | SNAPSHOT);
        let last_ns = shard.since_start_ns(shard.last_sign_ticks());
        shard.stands.iter().filter(move |_| is_open).map(move |stand| {
            let since_ns = shard.since_start_ns(stand.since_ticks);
            let call = stand.call.map(|(number, operation)| (self.identity(number), operation));
            // Most calls of a process that pauses counting go by unseen.
            let is_known = call.is_some() || shard.header.paused == 0;
            Item::Stand(Stand {
                rank: self.rank,
                thread: stand.thread,
                call,
                since_ns: is_known.then_some(since_ns),
                for_ns: is_known.then_some(last_ns.saturating_sub(since_ns)),
            })
        })
    }
}

/// The bucket that a cell is shown in.
fn bucket_shown(cell: &Cell) -> u8 {
    match cell.bucket() {
        // A receive whose message never arrived holds nothing.
        BUCKET_PENDING | BUCKET_FAILED => 0,
        bucket => bucket,
    }
}

fn is_special(identity: Identity) -> bool {
    [item::NO_COMM, item::SEVERAL_COMMS].contains(&identity)
}

fn is_empty(cell: &Cell) -> bool {
    // A count below zero can only stem from a process that was ended between two additions.
    (cell.calls as i64) < 0 || (cell.calls == 0 && cell.bytes_sent == 0 && cell.bytes_recv == 0)
}

/// What a text is known by in all processes: neither 0 nor [`ALL_PHASES`]. `kind` tells equal texts about different things apart.
fn hash(text: &str, kind: u8) -> u64 {
    xxh3_64_with_seed(text.as_bytes(), kind.into()).clamp(1, ALL_PHASES - 1)
}
