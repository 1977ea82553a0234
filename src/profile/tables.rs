//! The tables of a profile while they are filled, in the order of a stream's sections.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::{CachedStatement, Connection, params};

use super::layers::Layers;
use super::number::{Named, number_communicators, number_names};
use super::utc;
use super::write::Error;
use crate::buckets::Buckets;
use crate::calls::CALLS;
use crate::creators;
use crate::ranks;
use crate::shard::{self, BUCKET_INVOLVED, FINISHED, LEFT, NO_OPERATION, REMOTE_RANK, SNAPSHOT};
use crate::stream::{
    ALL_PHASES, Communicator, Detail, Each, Edge, Identity, Item, Key, NO_RANK, Name, Peak, Process, Program, Row, Run,
    Stand, Sum, Totals, Transfer, Use, add_ranges,
};

/// Programs of a job that are told apart.
const MOST_PROGRAMS: usize = 64;

pub struct Tables<'a> {
    db: &'a Connection,
    detail: Detail,
    /// Numbers of cells: so many for each group.
    world_size: i64,
    insert: Statements<'a>,
    layers: Layers<'a>,
    /// Until the first group comes: all must be known before any can be numbered.
    communicators: Vec<Communicator>,
    phase_names: Vec<Name>,
    datatype_names: Vec<Name>,
    numbers: HashMap<Identity, u32>,
    phases: HashMap<u64, u32>,
    datatypes: HashMap<u64, u32>,
    are_numbered: bool,
    operations: BTreeSet<u16>,
    programs: Vec<Program>,
    hosts: HashMap<String, u32>,
    /// The lowest rank of each rank's node, where rows stand for nodes. A rank of which nothing came stands for itself.
    node_of: HashMap<u32, u32>,
    group: Option<Group>,
    groups: i64,
}

struct Statements<'a> {
    process: CachedStatement<'a>,
    cell: CachedStatement<'a>,
    uneven_cell: CachedStatement<'a>,
    involvement: CachedStatement<'a>,
    edge: CachedStatement<'a>,
}

/// The group whose rows are coming.
struct Group {
    id: i64,
    key: Key,
    /// Whether its sums came by themselves.
    is_summed: bool,
    totals: Option<Totals>,
    cells: Option<Cells>,
}

struct Cells {
    common: Counts,
    last_rank: u32,
}

/// Calls, failed calls, bytes sent and received.
type Counts = [u64; 4];

impl<'a> Tables<'a> {
    pub fn new(db: &'a Connection, detail: Detail, run: &Run) -> Result<Tables<'a>, Error> {
        let insert = Statements {
            process: db.prepare_cached("INSERT INTO process VALUES (?, ?, ?, ?, ?, ?)")?,
            cell: db.prepare_cached("INSERT INTO cell VALUES (?, ?, ?, ?)")?,
            uneven_cell: db.prepare_cached("INSERT INTO uneven_cell VALUES (?, ?, ?, ?, ?)")?,
            involvement: db.prepare_cached(
                "INSERT INTO involvement VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET calls = CAST(calls + excluded.calls AS INTEGER)",
            )?,
            // Messages to several ranks of a node are one row where rows stand for nodes.
            edge: db.prepare_cached(
                "INSERT INTO edge VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET \
                 calls = CAST(calls + excluded.calls AS INTEGER), bytes = CAST(bytes + excluded.bytes AS INTEGER)",
            )?,
        };
        Ok(Tables {
            db,
            detail,
            world_size: run.world_size.into(),
            insert,
            layers: Layers::new(db, run.ranks >= run.world_size.into())?,
            communicators: Vec::new(),
            phase_names: Vec::new(),
            datatype_names: Vec::new(),
            numbers: HashMap::new(),
            phases: HashMap::new(),
            datatypes: HashMap::new(),
            are_numbered: false,
            operations: BTreeSet::new(),
            programs: Vec::new(),
            hosts: HashMap::new(),
            node_of: HashMap::new(),
            group: None,
            groups: 0,
        })
    }

    pub fn write(&mut self, item: Item) -> Result<(), Error> {
        match item {
            Item::Run(_) => Ok(()),
            Item::Process(process) => self.add_process(&process),
            Item::Communicator(communicator) => {
                self.communicators.push(*communicator);
                Ok(())
            }
            Item::Phase(name) => {
                self.phase_names.push(name);
                Ok(())
            }
            Item::Datatype(name) => {
                self.datatype_names.push(name);
                Ok(())
            }
            Item::Route(route) => {
                self.layers.add_route(*route);
                Ok(())
            }
            Item::Endpoint(endpoint) => {
                self.layers.add_endpoint(endpoint);
                Ok(())
            }
            Item::Note(note) => self.layers.add_note(&note),
            Item::Sum(sum) => self.add_sum(*sum),
            Item::Each(each) => self.add_each(&each),
            Item::Edge(edge) => self.add_edge(&edge),
            Item::Transfer(transfer) => self.add_transfer(&transfer),
            Item::Use(used) => self.add_use(&used),
            Item::Stand(stand) => self.add_stand(&stand),
            Item::Clock(clock) => self.layers.add_clock(&clock),
            Item::Event(event) => {
                self.number()?;
                self.operations.insert(event.operation);
                let comm = self.comm(event.identity);
                let layer_comm = self.comm(event.context.communicator);
                self.layers.add_event(&event, comm, layer_comm)
            }
            Item::Program(program) => {
                self.add_program(program);
                Ok(())
            }
        }
    }

    fn add_program(&mut self, program: Program) {
        self.programs.push(program);
        if self.programs.len() > MOST_PROGRAMS {
            // A job whose ranks all have other arguments: those that come last stand for themselves no more.
            let last = self.programs.pop();
            let rest = self.programs.last_mut().zip(last);
            if let Some((rest, last)) = rest {
                rest.command = "(others)".to_owned();
                add_ranges(&mut rest.members, last.members);
            }
        }
    }

    /// A line for each program, where there are several: its ranks, a tab, and its command.
    fn programs(&self) -> Option<String> {
        let mut programs: Vec<&Program> = self.programs.iter().collect();
        programs.sort_by_key(|program| program.members.first().copied());
        let line = |program: &&Program| format!("{}\t{}", ranks::format_ranges(&program.members), program.command);
        (programs.len() > 1).then(|| programs.iter().map(line).collect::<Vec<_>>().join("\n"))
    }

    fn add_process(&mut self, process: &Process) -> Result<(), Error> {
        let state = match process.state {
            FINISHED | LEFT => "finished",
            SNAPSHOT => "running",
            _ => "ended before MPI_Finalize",
        };
        let Process { rank, host, pid, wall_ns, mpi_ns, .. } = process;
        self.insert.process.execute(params![rank, host, pid, *wall_ns as i64, *mpi_ns as i64, state])?;
        // Ranks ascend.
        let lowest = match self.hosts.get(host) {
            Some(lowest) => *lowest,
            None => *self.hosts.entry(host.clone()).or_insert(*rank),
        };
        if self.detail == Detail::Node {
            self.node_of.insert(*rank, lowest);
        }
        Ok(())
    }

    /// Before the first item that refers to communicators, phases and datatypes.
    fn number(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.are_numbered, true) {
            return Ok(());
        }
        let named = number_communicators(std::mem::take(&mut self.communicators));
        self.numbers = named.iter().map(|named| (named.communicator.identity, named.number)).collect();
        self.write_communicators(named)?;
        let phases = number_names(std::mem::take(&mut self.phase_names), 1);
        let mut insert = self.db.prepare("INSERT INTO phase VALUES (?, ?)")?;
        insert.execute(params![0, ""])?;
        for (number, name) in &phases {
            insert.execute(params![number, name.text])?;
        }
        self.phases = phases.iter().map(|(number, name)| (name.hash, *number)).chain([(0, 0)]).collect();
        let datatypes = number_names(std::mem::take(&mut self.datatype_names), 0);
        let mut insert = self.db.prepare("INSERT INTO datatype VALUES (?, ?, ?)")?;
        for (number, name) in &datatypes {
            insert.execute(params![number, name.text, name.contiguous])?;
        }
        self.datatypes = datatypes.iter().map(|(number, name)| (name.hash, *number)).collect();
        Ok(())
    }

    fn write_communicators(&self, communicators: Vec<Named>) -> Result<(), Error> {
        let mut lists: HashMap<String, i64> = HashMap::new();
        let mut insert_list = self.db.prepare("INSERT INTO members VALUES (?, ?)")?;
        let mut insert =
            self.db.prepare("INSERT INTO communicator VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
        for Named { number, name, communicator, is_special } in communicators {
            let list = ranks::format_ranges(&communicator.members);
            let members = match lists.get(&list) {
                _ if is_special => None,
                Some(known) => Some(*known),
                None => {
                    let new = lists.len() as i64;
                    insert_list.execute(params![new, list])?;
                    lists.insert(list, new);
                    Some(new)
                }
            };
            let real = |number: u32| (!is_special).then_some(number);
            let spread = communicator.spread;
            insert.execute(params![
                number,
                name,
                (!is_special).then(|| char::from(communicator.letter).to_string()),
                real(communicator.size),
                real(communicator.remote_size),
                communicator.parent.and_then(|parent| self.numbers.get(&parent)),
                real(communicator.root).filter(|root| *root != NO_RANK),
                communicator.label,
                (!is_special).then_some(communicator.freed),
                members,
                spread.map_or(0, |spread| spread.ranks as i64),
                spread.map_or(0, |spread| spread.time_ns as i64),
                spread.map(|spread| spread.least.ns as i64),
                spread.map(|spread| spread.least.rank),
                spread.map(|spread| spread.most.ns as i64),
                spread.map(|spread| spread.most.rank),
                communicator.layer
            ])?;
        }
        Ok(())
    }

    /// A communicator's number; what refers to nothing belongs to the row `-`.
    fn comm(&self, identity: Identity) -> u32 {
        self.numbers.get(&identity).copied().unwrap_or(shard::NO_COMM)
    }

    fn known_by(&self, rank: u32) -> u32 {
        known_by(&self.node_of, rank)
    }

    fn phase(&self, hash: u64) -> u32 {
        self.phases.get(&hash).copied().unwrap_or(0)
    }

    /// Goes on to the next group, if it is another one.
    fn begin(&mut self, key: Key) -> Result<(), Error> {
        self.number()?;
        if self.group.as_ref().is_none_or(|group| group.key != key) {
            self.end_group()?;
            self.operations.insert(key.operation);
            self.groups += 1;
            self.group = Some(Group { id: self.groups, key, is_summed: false, totals: None, cells: None });
        }
        Ok(())
    }

    fn add_sum(&mut self, sum: Sum) -> Result<(), Error> {
        if sum.key.bucket == BUCKET_INVOLVED {
            return self.involve(sum.key, NO_RANK, sum.totals.calls);
        }
        self.begin(sum.key)?;
        if let Some(group) = &mut self.group {
            (group.is_summed, group.totals) = (true, Some(sum.totals));
        }
        Ok(())
    }

    fn involve(&mut self, key: Key, rank: u32, calls: u64) -> Result<(), Error> {
        self.number()?;
        self.operations.insert(key.operation);
        let (comm, phase) = (self.comm(key.identity), self.phase(key.phase));
        self.insert.involvement.execute(params![comm, key.operation, known(rank), phase, calls as i64])?;
        Ok(())
    }

    fn add_each(&mut self, each: &Each) -> Result<(), Error> {
        if each.key.bucket == BUCKET_INVOLVED {
            let involve = |row: &Row| self.involve(each.key, self.known_by(row.rank), row.calls);
            return each.rows.iter().try_for_each(involve);
        }
        self.begin(each.key)?;
        let Some(group) = &mut self.group else { return Ok(()) };
        let cells = group.cells.get_or_insert_with(|| Cells { common: most_common(&each.rows), last_rank: 0 });
        let first_cell = group.id * self.world_size;
        for row in &each.rows {
            let rank = known_by(&self.node_of, row.rank);
            cells.last_rank = cells.last_rank.max(rank);
            if !group.is_summed {
                match &mut group.totals {
                    Some(totals) => totals.add(&Totals::of(row)),
                    None => group.totals = Some(Totals::of(row)),
                }
            }
            let number = first_cell + i64::from(rank);
            let bound = |ns: u64| (row.calls > 1).then_some(ns as i64);
            let (shortest, longest) = (bound(row.time_min_ns), bound(row.time_max_ns));
            self.insert.cell.execute(params![number, row.time_ns as i64, shortest, longest])?;
            let counts = counts(row);
            if counts != cells.common {
                let [calls, failed, sent, received] = counts.map(|count| count as i64);
                self.insert.uneven_cell.execute(params![number, calls, failed, sent, received])?;
            }
        }
        Ok(())
    }

    fn end_group(&mut self) -> Result<(), Error> {
        let Some(Group { id, key, totals: Some(totals), cells, .. }) = self.group.take() else { return Ok(()) };
        let ranks = totals.ranks;
        let number = id * self.world_size;
        // What the views make of null need not be stored.
        let of_several = |stored: u64| (ranks > 1).then_some(stored as i64);
        let (least, most) = (totals.rank_least, totals.rank_most);
        let bound = |peak: Option<Peak>| peak.filter(|_| totals.calls != 1).map(|peak| peak.ns as i64);
        let by = |peak: Option<Peak>, rank: u32| peak.map(|peak| peak.rank).filter(|by| *by != rank);
        let mut insert = self
            .db
            .prepare_cached("INSERT INTO total VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
        insert.execute(params![
            number,
            self.comm(key.identity),
            key.operation,
            key.bucket,
            (key.phase != ALL_PHASES).then(|| self.phase(key.phase)),
            ranks as i64,
            totals.calls as i64,
            totals.bytes_sent as i64,
            totals.bytes_recv as i64,
            totals.time_ns as i64,
            of_several(least.ns),
            least.rank,
            of_several(most.ns),
            (most.rank != least.rank).then_some(most.rank),
            bound(totals.call_shortest),
            by(totals.call_shortest, least.rank),
            bound(totals.call_longest),
            by(totals.call_longest, most.rank),
            cells.as_ref().map(|cells| cells.last_rank)
        ])?;
        let mean = |all: u64| (all as i64).checked_div(ranks as i64);
        let means = [mean(totals.calls), Some(0), mean(totals.bytes_sent), mean(totals.bytes_recv)];
        let common = cells.as_ref().map(|cells| cells.common.map(|count| count as i64));
        let is_even = totals.failed == 0
            && mean(totals.calls) == Some(totals.calls_max as i64)
            && common.is_none_or(|common| common.map(Some) == means);
        if !is_even {
            let common = common.map_or([None; 4], |common| common.map(Some));
            let sql = "INSERT INTO uneven_total VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
            self.db.prepare_cached(sql)?.execute(params![
                number,
                totals.calls_max as i64,
                totals.failed as i64,
                totals.failed_max as i64,
                common[0],
                common[1],
                common[2],
                common[3]
            ])?;
        }
        Ok(())
    }

    fn add_edge(&mut self, edge: &Edge) -> Result<(), Error> {
        self.number()?;
        self.operations.insert(edge.operation);
        let source = self.known_by(edge.source_rank);
        let destination = if edge.destination == REMOTE_RANK { NO_RANK } else { self.known_by(edge.destination) };
        let (comm, calls, bytes) = (self.comm(edge.identity), edge.calls as i64, edge.bytes as i64);
        self.insert.edge.execute(params![comm, edge.operation, source, known(destination), calls, bytes])?;
        Ok(())
    }

    fn add_transfer(&mut self, transfer: &Transfer) -> Result<(), Error> {
        self.number()?;
        self.operations.insert(transfer.operation);
        let (comm, node_of) = (self.comm(transfer.identity), &self.node_of);
        let layer_comm = self.comm(transfer.context.communicator);
        self.layers.add(transfer, [comm, layer_comm], |rank| known_by(node_of, rank))
    }

    fn add_use(&mut self, used: &Use) -> Result<(), Error> {
        self.number()?;
        self.operations.insert(used.operation);
        let Some(datatype) = self.datatypes.get(&used.datatype) else { return Ok(()) };
        let rank = self.known_by(used.rank);
        let mut insert = self.db.prepare_cached("INSERT INTO datatype_use VALUES (?, ?, ?, ?, ?, ?)")?;
        let comm = self.comm(used.identity);
        insert.execute(params![comm, used.operation, datatype, known(rank), used.calls as i64, used.bytes as i64])?;
        Ok(())
    }

    fn add_stand(&mut self, stand: &Stand) -> Result<(), Error> {
        self.number()?;
        self.operations.extend(stand.call.map(|(_, operation)| operation));
        self.db.prepare_cached("INSERT INTO standing VALUES (?, ?, ?, ?, ?, ?)")?.execute(params![
            stand.rank,
            stand.thread,
            stand.call.map(|(identity, _)| self.comm(identity)),
            stand.call.map(|(_, operation)| operation),
            stand.since_ns.map(|ns| ns as i64),
            stand.for_ns.map(|ns| ns as i64)
        ])?;
        Ok(())
    }

    /// What is known only now, and the short lists.
    pub fn finish(mut self, run: &Run) -> Result<(), Error> {
        self.number()?;
        self.end_group()?;
        let header = &run.header;
        let edges = header.edges_bytes.get(..header.edge_count as usize).unwrap_or_default();
        let buckets = Buckets::new(edges).unwrap_or_default();
        let mut insert = self.db.prepare("INSERT INTO metadata VALUES (?, ?)")?;
        for (key, value) in self.meta(run, &buckets) {
            insert.execute(params![key, value])?;
        }
        let mut insert = self.db.prepare("INSERT INTO creator VALUES (?, ?)")?;
        for (letter, call) in creators::all() {
            insert.execute(params![letter.to_string(), call])?;
        }
        let mut insert = self.db.prepare("INSERT INTO operation VALUES (?, ?, ?)")?;
        for (operation, call) in
            self.operations.iter().filter_map(|number| Some((number, CALLS.get(usize::from(*number))?)))
        {
            insert.execute(params![operation, call.name, call.class.name()])?;
        }
        if self.operations.contains(&NO_OPERATION) {
            insert.execute(params![NO_OPERATION, "-", "-"])?;
        }
        let mut insert = self.db.prepare("INSERT INTO bucket VALUES (?, ?, ?)")?;
        for bucket in 0..=buckets.edges().len() as u8 {
            let (low, high) = buckets.bounds(bucket);
            insert.execute(params![bucket, low as i64, high.map(|edge| edge as i64)])?;
        }
        Ok(())
    }

    fn meta(&self, run: &Run, buckets: &Buckets) -> BTreeMap<&'static str, String> {
        let header = &run.header;
        let hex = |words: [u64; 2]| format!("{:016x}{:016x}", words[0], words[1]);
        let mut meta = BTreeMap::from([
            ("commsee_version", env!("CARGO_PKG_VERSION").to_owned()),
            ("command", shard::text(&header.command)),
            ("start_time", utc(header.start_realtime_ns)),
            ("end_time", utc(run.end_realtime_ns)),
            ("mpi_library", shard::text(&header.library)),
            ("mpi_family", ["unknown", "openmpi", "mpich", "mpi5"][(header.family as usize).min(3)].to_owned()),
            ("mpi_version", format!("{}.{}", header.mpi_version[0], header.mpi_version[1])),
            ("ranks", header.world_size.to_string()),
            ("ranks_recorded", run.ranks.to_string()),
            ("hosts", self.hosts.len().to_string()),
            ("detail", self.detail.name().to_owned()),
            ("bucket_edges", buckets.to_string()),
            ("clock", ["unknown", "tsc", "virtual counter", "monotonic"][(header.clock as usize).min(3)].to_owned()),
            ("clock_ns_per_tick", run.ns_per_tick.to_string()),
            (
                "thread_level",
                ["MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"]
                    [(header.thread_level as usize).min(3)]
                .to_owned(),
            ),
            ("options", shard::text(&header.options)),
            ("run", hex(header.run)),
            ("launch", if header.launch == [0, 0] { String::new() } else { hex(header.launch) }),
        ]);
        meta.extend(self.programs().map(|programs| ("programs", programs)));
        let job = header.job();
        let nodes = if job.nodes > 0 { job.nodes.to_string() } else { String::new() };
        let of_job = [
            ("batch_system", job.system),
            ("job", job.id),
            ("job_step", job.step),
            ("job_task", job.task),
            ("job_nodes", nodes),
        ];
        meta.extend(of_job.into_iter().filter(|(_, value)| !value.is_empty()));
        if run.lost_calls > 0 {
            meta.insert("lost_calls", run.lost_calls.to_string());
        }
        if run.damaged > 0 {
            meta.insert("damaged_entries", run.damaged.to_string());
        }
        meta
    }
}

/// The rank that a row stands under: where it stands for a node the lowest of the node, also if that one counted nothing.
fn known_by(node_of: &HashMap<u32, u32>, rank: u32) -> u32 {
    node_of.get(&rank).copied().unwrap_or(rank)
}

/// A rank as tables have it: -1 is none, or all.
pub fn known(rank: u32) -> i64 {
    if rank == NO_RANK { -1 } else { rank.into() }
}

fn counts(row: &Row) -> Counts {
    [row.calls, row.failed, row.bytes_sent, row.bytes_recv]
}

/// The counts of most rows, if more than half of them have the same (Boyer and Moore's vote); else those of some row.
fn most_common(rows: &[Row]) -> Counts {
    let mut votes = 0u32;
    let mut winner = Counts::default();
    for counts in rows.iter().map(counts) {
        match votes {
            0 => (winner, votes) = (counts, 1),
            _ if counts == winner => votes += 1,
            _ => votes -= 1,
        }
    }
    winner
}
