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

/// The items of one process.
pub struct Leaf {
    first: IntoIter<Item>,
    groups: Peekable<IntoIter<(Key, Row)>>,
    /// The sum over the phases of the group that has just been told.
    over_phases: Option<Sum>,
    /// What was put off until the sum before it is told.
    put_off: Option<Item>,
    last: IntoIter<Item>,
    detail: Detail,
    is_phased: bool,
}

impl Leaf {
    /// `is_phased`: whether any process of the run named a phase.
    pub fn new(shard: &Shard, detail: Detail, is_phased: bool) -> Leaf {
        let facts = Facts::of(shard, detail);
        let groups = facts.groups();
        let mut spreads = HashMap::new();
        let mut mpi_ns = 0u64;
        for (key, row) in groups.iter().filter(|(key, _)| key.bucket != BUCKET_INVOLVED) {
            let time_ns = if calls::outside_span(key.operation) { 0 } else { row.time_ns };
            mpi_ns = mpi_ns.saturating_add(time_ns);
            let spread: &mut u64 = spreads.entry(key.identity).or_default();
            *spread = spread.saturating_add(time_ns);
        }
        let mut first = vec![facts.run(), facts.process(mpi_ns)];
        first.extend(facts.communicators(&spreads));
        first.extend(facts.names());
        let mut last = facts.edges();
        last.extend(facts.uses());
        last.extend(facts.stands());
        for items in [&mut first, &mut last] {
            items.sort_by_key(Item::place);
            items.dedup_by(|more, item| {
                let is_same = more.place() == item.place();
                if is_same {
                    item.add(more.clone());
                }
                is_same
            });
        }
        Leaf {
            first: first.into_iter(),
            groups: groups.into_iter().peekable(),
            over_phases: None,
            put_off: None,
            last: last.into_iter(),
            detail,
            is_phased,
        }
    }

    fn next_group(&mut self) -> Option<Item> {
        if let Some(item) = self.put_off.take() {
            return Some(item);
        }
        let is_part = |sum: &Sum, next: Option<&(Key, Row)>| {
            next.is_some_and(|(key, _)| Key { phase: ALL_PHASES, ..*key } == sum.key)
        };
        if self.over_phases.as_ref().is_some_and(|sum| !is_part(sum, self.groups.peek())) {
            return self.over_phases.take().map(|sum| Item::Sum(Box::new(sum)));
        }
        let (key, row) = self.groups.next()?;
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
        self.first.next().or_else(|| self.next_group()).or_else(|| self.last.next())
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
struct Facts<'a> {
    shard: &'a Shard,
    rank: u32,
    ns_per_tick: f64,
    detail: Detail,
    place: u64,
    phases: HashMap<u8, u64>,
    datatypes: HashMap<u32, u64>,
}

impl<'a> Facts<'a> {
    fn of(shard: &'a Shard, detail: Detail) -> Facts<'a> {
        let rank = shard.header.world_rank;
        let place = match detail {
            Detail::Rank => rank.into(),
            Detail::Node => hash(&shard::text(&shard.header.host), 0),
            Detail::Comm => 0,
        };
        // One whose name was cut off altogether is like none.
        let named = shard.phases.iter().filter(|phase| phase.text[0] != 0);
        let phases = named.map(|phase| (phase.number as u8, hash(&shard::text(&phase.text), 0)));
        let datatypes = shard.datatypes.iter().map(|datatype| {
            (datatype.number, hash(&shard::text(&datatype.text), 1 + u8::from(datatype.flags & CONTIGUOUS != 0)))
        });
        Facts {
            shard,
            rank,
            ns_per_tick: shard.ns_per_tick(),
            detail,
            place,
            phases: phases.collect(),
            datatypes: datatypes.collect(),
        }
    }

    /// A process that was ended between two additions may leave a duration below zero.
    fn ns(&self, ticks: u64) -> u64 {
        ((ticks as i64).max(0) as f64 * self.ns_per_tick).round() as u64
    }

    fn identity(&self, number: u32) -> Identity {
        match number {
            NO_COMM => item::NO_COMM,
            SEVERAL_COMMS => item::SEVERAL_COMMS,
            _ => {
                let all = &self.shard.communicators;
                // Numbers have no gaps, but where a shard is damaged.
                let at = number.wrapping_sub(FIRST_COMM) as usize;
                let found = all.get(at).filter(|communicator| communicator.number == number);
                let search = || all.binary_search_by_key(&number, |communicator| communicator.number).ok();
                found.or_else(|| all.get(search()?)).map_or(item::NO_COMM, |communicator| communicator.identity)
            }
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
        let (shard, header) = (self.shard, &self.shard.header);
        match header.state {
            FINISHED | LEFT => header.latest.monotonic_ns.saturating_sub(header.started.monotonic_ns),
            _ => shard.since_start_ns(shard.last_sign_ticks()),
        }
    }

    fn process(&self, mpi_ns: u64) -> Item {
        let header = &self.shard.header;
        let host = shard::text(&header.host);
        let (rank, pid, wall_ns, state) = (self.rank, header.pid, self.wall_ns(), header.state);
        Item::Process(Process { rank, host, pid, wall_ns, mpi_ns, state })
    }

    /// `times_ns`: the MPI time in those on which anything was called.
    fn communicators(&self, times_ns: &HashMap<Identity, u64>) -> Vec<Item> {
        let spread = |identity: Identity| {
            let peak = Peak { ns: *times_ns.get(&identity)?, rank: self.rank };
            Some(Spread { ranks: 1, time_ns: peak.ns, least: peak, most: peak })
        };
        let real = self.shard.communicators.iter().map(|record| {
            let labels = &self.shard.labels;
            let named = labels.binary_search_by_key(&record.number, |label| label.number).ok();
            let label = named.map(|at| shard::text(&labels[at].text)).unwrap_or_default();
            Communicator {
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
                spread: spread(record.identity),
            }
        });
        let special = [item::NO_COMM, item::SEVERAL_COMMS].into_iter().map(|identity| Communicator {
            identity,
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
            spread: spread(identity),
        });
        real.chain(special).map(|communicator| Item::Communicator(Box::new(communicator))).collect()
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

    /// Sorted, one row per key.
    fn groups(&self) -> Vec<(Key, Row)> {
        let mut groups: Vec<(Key, Row)> = Vec::with_capacity(self.shard.cells.len());
        for cell in self.shard.cells.iter().filter(|cell| !is_empty(cell)) {
            let bucket = match cell.bucket() {
                // A receive whose message never arrived holds nothing.
                BUCKET_PENDING | BUCKET_FAILED => 0,
                bucket => bucket,
            };
            let (identity, phase) = (self.identity(cell.comm()), self.phase(cell.phase()));
            groups.push((Key { identity, operation: cell.operation(), bucket, phase }, self.row(cell)));
        }
        groups.sort_by_key(|(key, _)| *key);
        groups.dedup_by(|(key, more), (known, row)| {
            let is_same = key == known;
            if is_same {
                row.add(more);
            }
            is_same
        });
        groups
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
    fn edges(&self) -> Vec<Item> {
        let edges = self.shard.edges.iter().filter(|edge| edge.calls as i64 > 0 && self.detail != Detail::Comm);
        let edge = |edge: &shard::Edge| {
            Item::Edge(Edge {
                identity: self.identity(edge.comm()),
                operation: edge.operation(),
                source: self.place,
                source_rank: self.rank,
                destination: edge.world_rank,
                calls: edge.calls,
                bytes: edge.bytes,
            })
        };
        edges.map(edge).collect()
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
        let shard = self.shard;
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
