//! The tables of a profile while they are filled, in the order of a stream's sections.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::{CachedStatement, Connection, params};

use super::error::Error;
use super::files::Files;
use super::layers::Layers;
use super::messages;
use super::number::{Communicators, number_names};
use super::schema::{NO_CELLS, OVER_PHASES, adding, is_in_total, is_rare, known};
use super::sites::Sites;
use super::utc::utc;
use crate::buckets::Buckets;
use crate::calls::{CALLS, is_collective_on_files};
use crate::counters::{self, Arguments, Calls, Counter, Merge, Messages};
use crate::creators;
use crate::ranks;
use crate::shard::{self, BUCKET_INVOLVED, FINISHED, LEFT, NO_OPERATION, OWN_SIZE, REMOTE_RANK, SNAPSHOT};
use crate::stream::{
    ALL_PHASES, Completed, Detail, Each, Edge, FileCalls, Identity, InFlight, Item, Key, NO_RANK, Name, Peer, Process,
    Program, Row, Run, SiteCalls, Sum, Totals, Transfer, Use, add_ranges,
};

/// `completed.peer` of a process of another `MPI_COMM_WORLD`.
const REMOTE_PEER: i64 = -2;

/// Programs of a job that are told apart.
const MOST_PROGRAMS: usize = 64;

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
    total: CachedStatement<'a>,
    uneven_total: CachedStatement<'a>,
    involvement: CachedStatement<'a>,
    edge: CachedStatement<'a>,
    argument: CachedStatement<'a>,
    at_site: CachedStatement<'a>,
    completed: CachedStatement<'a>,
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
        let insert_into = |table: &str, columns: usize| {
            db.prepare_cached(&format!("INSERT INTO {table} VALUES ({})", vec!["?"; columns].join(", ")))
        };
        let columns =
            |is_wanted: fn(&Counter) -> bool| Calls::TABLE.iter().filter(|counter| is_wanted(counter)).count();
        let insert = Statements {
            process: db.prepare_cached("INSERT INTO process VALUES (?, ?, ?, ?, ?, ?)")?,
            cell: insert_into("cell", 1 + columns(|counter| !counter.is_common()))?,
            uneven_cell: insert_into("uneven_cell", 1 + columns(Counter::is_common))?,
            total: insert_into("total", 11 + columns(is_in_total) + 2 * Calls::EXTREMES)?,
            uneven_total: insert_into("uneven_total", 1 + columns(is_rare) + columns(|counter| counter.has_most) + columns(Counter::is_common))?,
            involvement: db.prepare_cached(
                "INSERT INTO involvement VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET calls = CAST(calls + excluded.calls AS INTEGER)",
            )?,
            // Messages to several ranks of a node are one row where rows stand for nodes.
            edge: db.prepare_cached(&adding("edge", 4, Messages::TABLE))?,
            argument: insert_into("datatype_use", 4 + Arguments::COUNT)?,
            at_site: db.prepare_cached(&adding("call_site", 6, counters::SiteCalls::TABLE))?,
            // Peers on one node are one where rows stand for nodes.
            completed: db.prepare_cached(&adding("completed", 7, counters::Completions::TABLE))?,
        };
        Ok(Tables {
            db,
            detail,
            world_size: run.world_size.into(),
            insert,
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
                let layer_comm = self.comm(event.context.communicator);
                let site = self.sites.find(event.site);
                self.layers.add_event(&event, [comm, layer_comm], site)
            }
            Item::Program(program) => {
                self.add_program(program);
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

    /// Goes on to the next group, if it is another one.
    fn begin(&mut self, key: Key) -> Result<(), Error> {
        self.number()?;
        if self.group.as_ref().is_none_or(|group| group.key != key) {
            self.end_group()?;
            self.operations.insert(key.operation);
            self.of_own_size.extend((key.bucket & OWN_SIZE > 0).then_some(key.operation));
            self.groups += 1;
            self.group = Some(Group { id: self.groups, key, is_summed: false, totals: None, cells: None });
        }
        Ok(())
    }

    fn add_sum(&mut self, sum: Sum) -> Result<(), Error> {
        if sum.key.bucket == BUCKET_INVOLVED {
            return self.involve(sum.key, NO_RANK, sum.totals.sums.calls);
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
            let involve = |row: &Row| self.involve(each.key, self.known_by(row.rank), row.counted.calls);
            return each.rows.iter().try_for_each(involve);
        }
        self.begin(each.key)?;
        let Some(group) = &mut self.group else { return Ok(()) };
        let new = || Cells { common: most_common(&each.rows), last_rank: 0, first: None, are_several: false };
        let cells = group.cells.get_or_insert_with(new);
        let first_cell = group.id * self.world_size;
        for row in &each.rows {
            let rank = known_by(&self.node_of, row.rank);
            if !group.is_summed {
                match &mut group.totals {
                    Some(totals) => totals.add(&Totals::of(row)),
                    None => group.totals = Some(Totals::of(row)),
                }
            }
            if !cells.are_several && cells.first.is_none() {
                (cells.first, cells.last_rank) = (Some(*row), rank);
                continue;
            }
            cells.are_several = true;
            if let Some(first) = cells.first.take() {
                self.insert.cell(&first, first_cell + i64::from(cells.last_rank), &cells.common)?;
            }
            cells.last_rank = cells.last_rank.max(rank);
            self.insert.cell(row, first_cell + i64::from(rank), &cells.common)?;
        }
        Ok(())
    }

    fn end_group(&mut self) -> Result<(), Error> {
        let Some(Group { id, key, totals: Some(totals), mut cells, .. }) = self.group.take() else { return Ok(()) };
        let ranks = totals.ranks;
        let number = id * self.world_size;
        let first = cells.as_mut().and_then(|cells| Some((cells.first.take()?, cells.last_rank, cells.common)));
        let is_single = first.is_some() && ranks == 1 && self.detail == Detail::Rank;
        if let Some((row, rank, common)) = first.filter(|_| !is_single) {
            self.insert.cell(&row, number + i64::from(rank), &common)?;
        }
        // What the views make of null need not be stored, and takes no room at the end of a row.
        let unless = |default: i64, stored: i64| (stored != default).then_some(stored);
        let (least, most) = (totals.rank_least, totals.rank_most);
        let phase = if key.phase == ALL_PHASES { OVER_PHASES } else { self.phase(key.phase).into() };
        let group = [Some(number), Some(self.comm(key.identity).into()), Some(key.operation.into())];
        let sums = totals.sums.only(is_in_total).map(|sum| Some(sum as i64));
        let last_rank = match &cells {
            _ if is_single || phase == OVER_PHASES => None,
            Some(cells) => Some(i64::from(cells.last_rank)).filter(|last| ranks == 1 || *last != ranks as i64 - 1),
            None => Some(NO_CELLS),
        };
        let spread = [
            unless(0, least.rank.into()),
            unless(1, ranks as i64),
            (ranks > 1).then_some(least.ns as i64),
            (ranks > 1).then_some(most.ns as i64),
            (most.rank != least.rank).then(|| most.rank.into()),
            unless(0, key.bucket.into()),
            unless(0, phase),
            last_rank,
        ];
        let extremes = Calls::extremes().zip(totals.extremes).flat_map(|((_, counter), peak)| {
            let of_rank = if matches!(counter.merge, Merge::Least(_)) { least } else { most };
            // Where each rank made one call, its time is that of the call.
            let is_left_out = |ns: u64| totals.sums.calls == 1 || (totals.sums.calls == ranks && ns == of_rank.ns);
            let ns = peak.map(|peak| peak.ns).filter(|ns| !is_left_out(*ns)).map(|ns| ns as i64);
            [ns, peak.map(|peak| peak.rank).filter(|rank| *rank != of_rank.rank).map(i64::from)]
        });
        let row = group.into_iter().chain(sums).chain(spread).chain(extremes);
        insert(&mut self.insert.total, row)?;
        let mean = |all: u64| (all as i64).checked_div(ranks as i64);
        let is_mean = |(at, counter): (usize, &Counter)| {
            let (sum, most) = (totals.sums.values()[at], totals.most.values()[at]);
            let mean = if is_rare(counter) { Some(0) } else { mean(sum) };
            let is_common = !counter.is_common()
                || cells.as_ref().is_none_or(|cells| Some(cells.common.values()[at] as i64) == mean);
            is_common && (!is_rare(counter) || sum == 0) && (!counter.has_most || Some(most as i64) == mean)
        };
        if !Calls::TABLE.iter().enumerate().all(is_mean) {
            let of_all = Calls::TABLE.iter().enumerate().flat_map(|(at, counter)| {
                let sum = is_rare(counter).then(|| totals.sums.values()[at]);
                sum.into_iter()
                    .chain(counter.has_most.then(|| totals.most.values()[at]))
                    .map(|value| Some(value as i64))
            });
            let common = Calls::TABLE.iter().enumerate().filter(|(_, counter)| counter.is_common());
            let common = common.map(|(at, _)| cells.as_ref().map(|cells| cells.common.values()[at] as i64));
            insert(&mut self.insert.uneven_total, [Some(number)].into_iter().chain(of_all).chain(common))?;
        }
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
        self.layers.add(transfer, [comm, layer_comm], |rank| known_by(node_of, rank))
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
        self.layers.finish()?;
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
        messages::store(self.db)
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
        if header.processors > 0 {
            meta.insert("processors", header.processors.to_string());
        }
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

impl Statements<'_> {
    /// A cell, and apart what it does not have in common with most.
    fn cell(&mut self, row: &Row, number: i64, common: &Calls) -> Result<(), Error> {
        let (counted, has_extremes) = (&row.counted, row.counted.calls > 1);
        let of_cell = counted.values().into_iter().zip(Calls::TABLE).filter(|(_, counter)| !counter.is_common());
        let of_cell = of_cell.map(|(value, counter)| (counter.is_sum() || has_extremes).then_some(value as i64));
        insert(&mut self.cell, [Some(number)].into_iter().chain(of_cell))?;
        if counted.keep(Counter::is_common) != *common {
            let own = counted.only(Counter::is_common).map(|count| Some(count as i64));
            insert(&mut self.uneven_cell, [Some(number)].into_iter().chain(own))?;
        }
        Ok(())
    }
}

/// Adds a row, whatever the number of its columns.
fn insert(statement: &mut CachedStatement, values: impl Iterator<Item = Option<i64>>) -> Result<(), Error> {
    for (at, value) in (1..).zip(values) {
        statement.raw_bind_parameter(at, value)?;
    }
    statement.raw_execute()?;
    Ok(())
}

/// What most rows have in common, if more than half of them have the same (Boyer and Moore's vote); else what some row has.
fn most_common(rows: &[Row]) -> Calls {
    let mut votes = 0u32;
    let mut winner = Calls::default();
    for common in rows.iter().map(|row| row.counted.keep(Counter::is_common)) {
        match votes {
            0 => (winner, votes) = (common, 1),
            _ if common == winner => votes += 1,
            _ => votes -= 1,
        }
    }
    winner
}
