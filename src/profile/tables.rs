//! The tables of a profile while they are filled, in the order of a stream's sections.

mod groups;
mod meta;
mod statements;
mod told;

use std::collections::{BTreeSet, HashMap};

use rusqlite::{CachedStatement, Connection, params};

use self::statements::Statements;
use self::told::Told;
use super::error::Error;
use super::files::Files;
use super::layers::Layers;
use super::number::{Communicators, number_names};
use super::schema::known;
use super::sites::Sites;
use crate::buckets::Buckets;
use crate::calls::{CALLS, is_collective_on_files};
use crate::counters::Calls;
use crate::creators;
use crate::shard::{self, FINISHED, LEFT, NO_OPERATION, OWN_SIZE, REMOTE_RANK, SNAPSHOT};
use crate::stream::{
    Completed, Context, Detail, Edge, FileCalls, Identity, InFlight, Item, Key, NO_RANK, Name, Peer, Process, Row, Run,
    SiteCalls, Totals, Transfer, Use,
};

/// `completed.peer` of a process of another `MPI_COMM_WORLD`.
const REMOTE_PEER: i64 = -2;

pub struct Tables<'a> {
    db: &'a Connection,
    detail: Detail,
    /// Numbers of cells: so many for each group.
    world_size: i64,
    insert: Statements<'a>,
    layers: Layers<'a>,
    sites: Sites,
    files: Files<'a>,
    /// Until the first group comes: all must be known before any can be numbered.
    communicators: Communicators,
    phase_names: Vec<Name>,
    datatype_names: Vec<Name>,
    phases: HashMap<u64, u32>,
    datatypes: HashMap<u64, u32>,
    are_numbered: bool,
    operations: BTreeSet<u16>,
    /// Those of them with buckets by each rank's own bytes.
    of_own_size: BTreeSet<u16>,
    told: Told,
    hosts: HashMap<String, u32>,
    /// The lowest rank of each rank's node, where rows stand for nodes. A rank of which nothing came stands for itself.
    node_of: HashMap<u32, u32>,
    group: Option<Group>,
    groups: i64,
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
    /// Of its counters those that most ranks have in common.
    common: Calls,
    last_rank: u32,
    /// The first one, until another one comes: of a single rank the sums tell all.
    first: Option<Row>,
    are_several: bool,
}

impl<'a> Tables<'a> {
    pub fn new(db: &'a Connection, detail: Detail, run: &Run) -> Result<Tables<'a>, Error> {
        Ok(Tables {
            db,
            detail,
            world_size: run.world_size.into(),
            insert: Statements::new(db)?,
            layers: Layers::new(db, run.ranks >= run.world_size.into())?,
            sites: Sites::default(),
            files: Files::new(db)?,
            communicators: Communicators::default(),
            phase_names: Vec::new(),
            datatype_names: Vec::new(),
            phases: HashMap::new(),
            datatypes: HashMap::new(),
            are_numbered: false,
            operations: BTreeSet::new(),
            of_own_size: BTreeSet::new(),
            told: Told::default(),
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
                self.communicators.add(*communicator);
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
            Item::Module(module) => {
                self.sites.add_module(*module);
                Ok(())
            }
            Item::Frame(frame) => {
                self.sites.add_frame(frame);
                Ok(())
            }
            Item::Site(site) => {
                self.sites.add(site);
                Ok(())
            }
            Item::Sum(sum) => self.add_sum(*sum),
            Item::Each(each) => self.add_each(&each),
            Item::Edge(edge) => self.add_edge(&edge),
            Item::SiteCalls(calls) => self.add_site_calls(&calls),
            Item::Transfer(transfer) => self.add_transfer(&transfer),
            Item::Use(used) => self.add_use(&used),
            Item::InFlight(call) => self.add_in_flight(&call),
            Item::Clock(clock) => self.layers.add_clock(&clock),
            Item::Event(event) => {
                self.number()?;
                self.operations.insert(event.operation);
                let comm = self.comm(event.identity);
                let layer_comm = match event.context {
                    Context::NONE => shard::NO_COMM,
                    context => self.comm(context.communicator),
                };
                let site = self.sites.find(event.site);
                self.layers.add_event(&event, [comm, layer_comm], site)
            }
            Item::Program(program) => {
                self.told.add_program(program);
                Ok(())
            }
            Item::Setting(setting) => {
                self.told.add_setting(setting);
                Ok(())
            }
            Item::Completed(completed) => self.add_completed(&completed),
            Item::File(name) => {
                self.files.add(name);
                Ok(())
            }
            Item::OpenedFile(opened) => {
                self.number()?;
                let comm = self.comm(opened.identity);
                self.files.add_opened(&opened, comm)
            }
            Item::FileCalls(calls) => self.add_file_calls(&calls),
        }
    }

    fn add_process(&mut self, process: &Process) -> Result<(), Error> {
        let state = match process.state {
            FINISHED | LEFT => "finished",
            SNAPSHOT => "running",
            _ => "ended before MPI_Finalize",
        };
        let Process { rank, host, pid, .. } = process;
        let (wall_ns, mpi_ns) = (process.wall_ns as i64, process.mpi_ns as i64);
        let (ran_ns, ready_ns) = process.scheduled.map(|(ran_ns, ready_ns)| (ran_ns as i64, ready_ns as i64)).unzip();
        let [cpus, numa] =
            [&process.processors, &process.numa_nodes].map(|list| Some(list).filter(|list| !list.is_empty()));
        self.insert.process.execute(params![rank, host, pid, wall_ns, mpi_ns, state, ran_ns, ready_ns, cpus, numa])?;
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
        self.sites.number(self.db)?;
        self.write_communicators()?;
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

    fn write_communicators(&mut self) -> Result<(), Error> {
        let mut insert = self
            .db
            .prepare("INSERT INTO communicator VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
        let (sites, layers) = (&self.sites, &self.layers);
        self.communicators.number(|named| {
            let about = named.about.as_ref();
            if let Some(ranks) = about.and_then(|about| about.order) {
                layers.add_order(named.number, ranks)?;
            }
            let (of_several, is_called) = (named.time_ranks > 1, named.time_ranks > 0);
            insert
                .execute(params![
                    named.number,
                    named.name,
                    about.map(|about| about.letter.to_string()),
                    about.map(|about| about.size),
                    about.map(|about| about.remote_size),
                    about.and_then(|about| about.parent),
                    about.and_then(|about| about.root),
                    about.map(|about| about.is_freed),
                    about.map(|about| about.list),
                    about.and_then(|about| sites.find(about.birthplace?)),
                    named.time_ranks,
                    named.time_ns as i64,
                    is_called.then_some(named.least.1),
                    of_several.then_some(named.least.0 as i64),
                    of_several.then_some(named.most.0 as i64),
                    (named.most.1 != named.least.1).then_some(named.most.1),
                    about.and_then(|about| about.label),
                    about.and_then(|about| about.layer)
                ])
                .map(drop)
        })?;
        let mut insert = self.db.prepare("INSERT INTO members VALUES (?, ?)")?;
        for (number, ranks) in self.communicators.lists() {
            insert.execute(params![number, ranks])?;
        }
        Ok(())
    }

    /// A communicator's number; what refers to nothing belongs to the row `-`.
    fn comm(&self, identity: Identity) -> u32 {
        self.communicators.find(identity).unwrap_or(shard::NO_COMM)
    }

    fn known_by(&self, rank: u32) -> u32 {
        known_by(&self.node_of, rank)
    }

    fn phase(&self, hash: u64) -> u32 {
        self.phases.get(&hash).copied().unwrap_or(0)
    }

    fn involve(&mut self, key: Key, rank: u32, calls: u64) -> Result<(), Error> {
        self.number()?;
        self.operations.insert(key.operation);
        let (comm, phase) = (self.comm(key.identity), self.phase(key.phase));
        self.insert.involvement.execute(params![comm, key.operation, known(rank), phase, calls as i64])?;
        Ok(())
    }

    fn add_edge(&mut self, edge: &Edge) -> Result<(), Error> {
        self.number()?;
        self.operations.insert(edge.operation);
        let source = self.known_by(edge.source_rank);
        let destination = if edge.destination == REMOTE_RANK { NO_RANK } else { self.known_by(edge.destination) };
        let key = [self.comm(edge.identity).into(), edge.operation.into(), source.into(), known(destination)];
        insert(&mut self.insert.edge, key.into_iter().chain(edge.counted.values().map(|value| value as i64)).map(Some))
    }

    fn add_site_calls(&mut self, calls: &SiteCalls) -> Result<(), Error> {
        self.number()?;
        self.operations.insert(calls.operation);
        // Calls from sites that are not known are told as well: then their sum is that of all.
        let site = self.sites.find(calls.site).unwrap_or(shard::NO_SITE);
        let (comm, phase) = (self.comm(calls.identity), self.phase(calls.phase));
        let rank = known(self.known_by(calls.rank));
        let key = [site, comm, calls.operation.into(), calls.bucket.into(), phase].map(i64::from);
        let counted = calls.counted.values().map(|value| value as i64);
        insert(&mut self.insert.at_site, key.into_iter().chain([rank]).chain(counted).map(Some))
    }

    fn add_completed(&mut self, completed: &Completed) -> Result<(), Error> {
        self.number()?;
        self.operations.extend([completed.operation, completed.started]);
        let (comm, phase) = (self.comm(completed.identity), self.phase(completed.phase));
        let peer = match completed.peer {
            Peer::REMOTE => REMOTE_PEER,
            peer => known(peer.rank().map_or(NO_RANK, |rank| self.known_by(rank))),
        };
        let of_calls = [comm, completed.operation.into(), phase].map(i64::from);
        let started = [known(self.known_by(completed.rank)), completed.started.into(), completed.bucket.into(), peer];
        let counted = completed.counted.values().map(|value| value as i64);
        insert(&mut self.insert.completed, of_calls.into_iter().chain(started).chain(counted).map(Some))
    }

    fn add_file_calls(&mut self, calls: &FileCalls) -> Result<(), Error> {
        self.number()?;
        self.operations.insert(calls.operation);
        let (comm, phase) = (self.comm(calls.identity), self.phase(calls.phase));
        let rank = known(self.known_by(calls.rank));
        let [comm, phase] = [comm, phase].map(i64::from);
        let key = [comm, calls.operation.into(), calls.bucket.into(), phase, rank];
        self.files.add_calls(calls.file, key, &calls.counted)
    }

    fn add_transfer(&mut self, transfer: &Transfer) -> Result<(), Error> {
        self.number()?;
        self.operations.insert(transfer.operation);
        let (comm, node_of) = (self.comm(transfer.identity), &self.node_of);
        let layer_comm = self.comm(transfer.context.communicator);
        let Context { site, objects: [source, target], .. } = transfer.context;
        let sites = [site, source, target].map(|site| self.sites.find(site));
        self.layers.add(transfer, [comm, layer_comm], sites, |rank| known_by(node_of, rank))
    }

    fn add_use(&mut self, used: &Use) -> Result<(), Error> {
        self.number()?;
        self.operations.insert(used.operation);
        let Some(datatype) = self.datatypes.get(&used.datatype) else { return Ok(()) };
        let rank = self.known_by(used.rank);
        let key = [self.comm(used.identity).into(), used.operation.into(), i64::from(*datatype), known(rank)];
        insert(
            &mut self.insert.argument,
            key.into_iter().chain(used.counted.values().map(|value| value as i64)).map(Some),
        )
    }

    fn add_in_flight(&mut self, in_flight: &InFlight) -> Result<(), Error> {
        self.number()?;
        self.operations.extend(in_flight.call.map(|(_, operation)| operation));
        self.db.prepare_cached("INSERT INTO standing VALUES (?, ?, ?, ?, ?, ?, ?)")?.execute(params![
            in_flight.rank,
            in_flight.thread,
            in_flight.call.map(|(identity, _)| self.comm(identity)),
            in_flight.call.map(|(_, operation)| operation),
            in_flight.since_ns.map(|ns| ns as i64),
            in_flight.for_ns.map(|ns| ns as i64),
            self.sites.find(in_flight.site)
        ])?;
        Ok(())
    }

    /// What is known only now, and the short lists.
    pub fn finish(mut self, run: &Run) -> Result<(), Error> {
        self.number()?;
        self.end_group()?;
        self.insert.cell.finish()?;
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
        let marks: &[u8] = if self.of_own_size.is_empty() { &[0] } else { &[0, OWN_SIZE] };
        for (mark, bucket) in marks.iter().flat_map(|mark| (0..=buckets.edges().len() as u8).map(move |at| (mark, at)))
        {
            let (low, high) = buckets.bounds(bucket);
            insert.execute(params![mark | bucket, low as i64, high.map(|edge| edge as i64)])?;
        }
        let mut insert = self.db.prepare("INSERT INTO own_size VALUES (?)")?;
        for operation in &self.of_own_size {
            insert.execute([operation])?;
        }
        let mut insert = self.db.prepare("INSERT INTO collective_io VALUES (?)")?;
        for operation in self.operations.iter().filter(|operation| is_collective_on_files(**operation)) {
            insert.execute([operation])?;
        }
        self.layers.finish()
    }
}

/// The rank that a row stands under: where it stands for a node the lowest of the node, also if that one counted nothing.
fn known_by(node_of: &HashMap<u32, u32>, rank: u32) -> u32 {
    node_of.get(&rank).copied().unwrap_or(rank)
}

/// Adds a row, whatever the number of its columns.
fn insert(statement: &mut CachedStatement, values: impl Iterator<Item = Option<i64>>) -> Result<(), Error> {
    for (at, value) in (1..).zip(values) {
        statement.raw_bind_parameter(at, value)?;
    }
    statement.raw_execute()?;
    Ok(())
}
