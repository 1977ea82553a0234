//! The items of a stream, in the order of their sections, and what becomes of two about the same thing.

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::group::{Each, NO_RANK, Peak, Sum};
use super::identity::{Identity, NO_COMM};
use super::order::Order;
use crate::counters::{self, Arguments, Messages};
use crate::creators;
use crate::shard::{Header, Route};

#[derive(Clone)]
pub enum Item {
    Run(Box<Run>),
    Process(Process),
    Communicator(Box<Communicator>),
    Phase(Name),
    Datatype(Name),
    Route(Box<KnownRoute>),
    Endpoint(Endpoint),
    Note(Note),
    Module(Box<Module>),
    Frame(Frame),
    Site(Site),
    Sum(Box<Sum>),
    Each(Each),
    Edge(Edge),
    SiteCalls(SiteCalls),
    Transfer(Transfer),
    Use(Use),
    InFlight(InFlight),
    Clock(Clock),
    Event(Event),
    Program(Program),
    Completed(Box<Completed>),
    File(Name),
    OpenedFile(OpenedFile),
    FileCalls(Box<FileCalls>),
}

/// Resolved of the run as a whole.
#[derive(Clone)]
pub struct Run {
    /// Of the process with the lowest rank.
    pub header: Box<Header>,
    pub ns_per_tick: f64,
    /// The largest that any process knows.
    pub world_size: u32,
    /// Processes in the stream.
    pub ranks: u64,
    pub lost_calls: u64,
    pub damaged: u64,
    pub end_realtime_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pub rank: u32,
    pub host: String,
    pub pid: u32,
    pub wall_ns: u64,
    pub mpi_ns: u64,
    /// As in the header of its shard.
    pub state: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Communicator {
    pub identity: Identity,
    /// The layer that it is one of; none is MPI.
    pub layer: Option<String>,
    pub letter: u8,
    /// World rank of its rank 0. Of a layer's communicator, [`super::NO_RANK`] where nobody knows it.
    pub root: u32,
    pub size: u32,
    pub remote_size: u32,
    pub parent: Option<Identity>,
    pub label: Option<String>,
    /// By all its processes.
    pub freed: bool,
    /// The second part of its name, which its rank 0 knows.
    pub counter: Option<u32>,
    /// The rank that the facts above stem from: the root, else the lowest.
    pub source: u32,
    /// World ranks as ascending ranges, both ends included.
    pub members: Vec<(u32, u32)>,
    /// Which of them holds which rank of it; empty for MPI's.
    pub order: Order,
    pub spread: Option<Spread>,
    pub birthplace: Option<Birthplace>,
}

/// Where in the code a communicator was made. Ranks may have made it at different sites: that of its rank 0 counts, else that of the
/// lowest rank which tells one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Birthplace {
    /// 0 is the communicator's rank 0, others are their rank and 1.
    pub told_by: u32,
    /// [`Site::hash`].
    pub site: u64,
}

/// MPI time of the ranks that called anything on a communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    pub ranks: u64,
    pub time_ns: u64,
    pub least: Peak,
    pub most: Peak,
}

/// What a phase, a datatype or a file is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Name {
    pub hash: u64,
    pub text: String,
    /// Of a datatype.
    pub contiguous: bool,
    /// The lowest rank that has it, and its number there.
    pub first: (u32, u32),
}

/// Messages from one rank, or node, to one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    pub identity: Identity,
    pub operation: u16,
    /// The sending rank, or the hash of its node's name.
    pub source: u64,
    pub source_rank: u32,
    pub destination: u32,
    pub counted: Messages,
}

/// Datatype arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    pub identity: Identity,
    pub operation: u16,
    pub datatype: u64,
    pub location: u64,
    pub rank: u32,
    pub counted: Arguments,
}

/// A file of code, wherever it was mapped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    pub hash: u64,
    /// In hexadecimal digits; empty where it has none.
    pub build_id: String,
    pub path: String,
}

/// A call in a module, or in what an interpreter runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    pub hash: u64,
    /// [`Module::hash`], or 0.
    pub module: u64,
    /// The module's own.
    pub address: u64,
    pub scripted: Option<Box<Scripted>>,
}

/// A line that an interpreter runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Scripted {
    pub function: String,
    pub file: String,
    pub line: u32,
}

/// A frame, and the site of those outside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    pub hash: u64,
    /// [`Frame::hash`].
    pub frame: u64,
    /// [`Site::hash`], or 0.
    pub outer: u64,
    /// The lowest rank that has it, and its number there.
    pub first: (u32, u32),
}

/// Calls from one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteCalls {
    /// [`Site::hash`], or 0.
    pub site: u64,
    pub identity: Identity,
    pub operation: u16,
    pub bucket: u8,
    pub phase: u64,
    /// The rank, the hash of its node's name, or 0 for all.
    pub location: u64,
    pub rank: u32,
    pub counted: counters::SiteCalls,
}

/// From which rank something came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Peer(u32);

impl Peer {
    /// None, or not known.
    pub const NONE: Peer = Peer(0);
    /// One of another `MPI_COMM_WORLD`.
    pub const REMOTE: Peer = Peer(u32::MAX);

    pub const fn of(rank: u32) -> Peer {
        Peer(rank.saturating_add(1))
    }

    pub fn rank(self) -> Option<u32> {
        if self == Peer::REMOTE { None } else { self.0.checked_sub(1) }
    }
}

/// What calls have completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completed {
    /// Of the calls.
    pub identity: Identity,
    pub operation: u16,
    pub phase: u64,
    /// The rank, the hash of its node's name, or 0 for all.
    pub location: u64,
    pub rank: u32,
    /// The operation of the requests, [`crate::shard::NO_OPERATION`] where it is not known, and the bucket of their size.
    pub started: u16,
    pub bucket: u8,
    pub peer: Peer,
    pub counted: counters::Completions,
}

/// A file that was opened over a communicator, or deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenedFile {
    pub identity: Identity,
    /// [`Name::hash`], or 0 for all files whose name is not known.
    pub file: u64,
    /// How many ranks opened it.
    pub ranks: u64,
    /// How often, over all ranks, and how often they set its view.
    pub opens: u64,
    pub views: u64,
}

/// Calls on a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCalls {
    pub identity: Identity,
    pub operation: u16,
    pub bucket: u8,
    pub phase: u64,
    /// As in [`OpenedFile`].
    pub file: u64,
    /// The rank, the hash of its node's name, or 0 for all.
    pub location: u64,
    pub rank: u32,
    pub counted: counters::FileCalls,
}

/// How a layer below MPI moved data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownRoute {
    pub hash: u64,
    pub route: Route,
}

/// Whose an identity is by which a layer knows processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    pub identity: u64,
    pub rank: u32,
}

/// What a hook module said of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub hash: u64,
    pub module: String,
    pub text: String,
    pub ranks: u64,
}

/// What a layer's operation belongs to beside an MPI call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The layer's communicator, or [`NO_COMM`].
    pub communicator: Identity,
    /// The route of the layer's call, or 0.
    pub within: u64,
}

impl Context {
    pub const NONE: Context = Context { communicator: NO_COMM, within: 0 };
}

/// What a layer below MPI did between one rank, or node, and one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub identity: Identity,
    pub operation: u16,
    pub bucket: u8,
    /// [`KnownRoute::hash`], or 0.
    pub route: u64,
    pub context: Context,
    /// The rank, the hash of its node's name, or 0 for all.
    pub location: u64,
    pub rank: u32,
    /// [`Endpoint::identity`], or 0.
    pub peer: u64,
    pub calls: u64,
    pub bytes: u64,
    /// Operations that were not complete when their call returned, and their times.
    pub asynchronous: u64,
    pub time_ns: u64,
    pub time_min_ns: u64,
    pub time_max_ns: u64,
}

/// The call that a thread was in, or the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InFlight {
    pub rank: u32,
    pub thread: u32,
    /// Nothing in the program.
    pub call: Option<(Identity, u16)>,
    pub since_ns: Option<u64>,
    pub for_ns: Option<u64>,
    /// [`Site::hash`] of the call, or 0.
    pub site: u64,
}

/// The clock of a process with a timeline against that of rank 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    pub rank: u32,
    /// At the begin and at the end, where they were compared: what was added to its clock, and by how much that may be wrong.
    pub syncs: [Option<(i64, u64)>; 2],
    pub events: u64,
    /// Events that were overwritten (ring buffer full).
    pub lost_events: u64,
}

/// Something on the timeline. Times are nanoseconds since its begin, on the clock of rank 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    pub rank: u32,
    /// Among the events of its rank.
    pub number: u32,
    pub thread: u32,
    /// As in [`crate::shard::Event::kind`].
    pub kind: u8,
    pub identity: Identity,
    pub operation: u16,
    pub begin_ns: i64,
    /// Of a collective call: its number among those on its communicator.
    pub sequence: Option<u32>,
    /// Of what has a duration.
    pub end_ns: Option<i64>,
    /// The begin of the call that it belongs to.
    pub cause_ns: Option<i64>,
    pub bytes: u64,
    /// Of a layer's operation.
    pub route: u64,
    pub context: Context,
    pub peer: u64,
    /// Of a message: the sender's rank in the communicator, the tag, the world rank it was sent to, the number of its receive.
    pub message: Option<(u32, i32, u32, u32)>,
    /// [`Site::hash`] of a call, or 0.
    pub site: u64,
}

/// What some ranks run: several programs may be one job (MPMD).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    pub hash: u64,
    pub command: String,
    /// World ranks as ascending ranges, both ends included.
    pub members: Vec<(u32, u32)>,
}

/// By what the items of a stream are sorted.
pub type SortKey = (u8, Identity, u64, u64, u64, u64);

impl Item {
    pub fn sort_key(&self) -> SortKey {
        let none = [0, 0];
        let operation = |operation: u16, bucket: u8| u64::from(operation) << 8 | u64::from(bucket);
        match self {
            Item::Run(_) => (0, none, 0, 0, 0, 0),
            Item::Process(process) => (1, none, process.rank.into(), 0, 0, 0),
            Item::Communicator(communicator) => (2, communicator.identity, 0, 0, 0, 0),
            Item::Phase(name) => (3, none, name.hash, 0, 0, 0),
            Item::Datatype(name) => (4, none, name.hash, 0, 0, 0),
            Item::Route(route) => (5, none, route.hash, 0, 0, 0),
            Item::Endpoint(endpoint) => (6, none, endpoint.identity, 0, 0, 0),
            Item::Note(note) => (7, none, note.hash, 0, 0, 0),
            Item::Module(module) => (8, none, module.hash, 0, 0, 0),
            Item::Frame(frame) => (9, none, frame.hash, 0, 0, 0),
            Item::Site(site) => (10, none, site.hash, 0, 0, 0),
            // Sums before their parts.
            Item::Sum(sum) => (11, sum.key.identity, operation(sum.key.operation, sum.key.bucket), sum.key.phase, 0, 0),
            Item::Each(Each { key, block, .. }) => {
                (11, key.identity, operation(key.operation, key.bucket), key.phase, u64::from(*block) + 1, 0)
            }
            Item::Edge(edge) => {
                (12, edge.identity, operation(edge.operation, 0), edge.source, edge.destination.into(), 0)
            }
            // In the order of their table.
            Item::SiteCalls(calls) => {
                let ([first, second], group) = (calls.identity, operation(calls.operation, calls.bucket));
                (13, [calls.site, first], second, group, calls.phase, calls.location)
            }
            Item::Transfer(transfer) => {
                let group = operation(transfer.operation, transfer.bucket);
                (14, transfer.identity, group, transfer.route_in_context(), transfer.location, transfer.peer)
            }
            Item::Use(used) => (15, used.identity, operation(used.operation, 0), used.datatype, used.location, 0),
            Item::InFlight(call) => (16, none, call.rank.into(), call.thread.into(), 0, 0),
            Item::Clock(clock) => (17, none, clock.rank.into(), 0, 0, 0),
            Item::Event(event) => (18, none, event.rank.into(), event.number.into(), 0, 0),
            Item::Program(program) => (19, none, program.hash, 0, 0, 0),
            Item::Completed(completed) => {
                let started = operation(completed.started, completed.bucket) << 32 | u64::from(completed.peer.0);
                let Completed { identity, phase, location, .. } = **completed;
                (20, identity, completed.operation.into(), phase, location, started)
            }
            Item::File(name) => (21, none, name.hash, 0, 0, 0),
            Item::OpenedFile(opened) => (22, opened.identity, opened.file, 0, 0, 0),
            Item::FileCalls(calls) => {
                let group = operation(calls.operation, calls.bucket);
                (23, calls.identity, calls.file, group, calls.phase, calls.location)
            }
        }
    }

    /// Adds an item of the same key.
    pub fn add(&mut self, other: Item) {
        match (self, other) {
            (Item::Run(run), Item::Run(other)) => run.add(*other),
            (Item::Communicator(communicator), Item::Communicator(other)) => communicator.add(*other),
            (Item::Phase(name), Item::Phase(other)) | (Item::Datatype(name), Item::Datatype(other)) => {
                name.first = name.first.min(other.first);
            }
            (Item::Sum(sum), Item::Sum(other)) => sum.totals.add(&other.totals),
            (Item::Each(each), Item::Each(other)) => each.add(other),
            (Item::Edge(edge), Item::Edge(other)) => {
                edge.source_rank = edge.source_rank.min(other.source_rank);
                edge.counted.add(&other.counted);
            }
            (Item::Program(program), Item::Program(other)) => add_ranges(&mut program.members, other.members),
            (Item::Endpoint(endpoint), Item::Endpoint(other)) => endpoint.rank = endpoint.rank.min(other.rank),
            (Item::Note(note), Item::Note(other)) => note.ranks += other.ranks,
            // Copies of one file: where they lie must not depend on the order of ranks.
            (Item::Module(module), Item::Module(other)) => {
                module.path = other.path.min(std::mem::take(&mut module.path))
            }
            (Item::Site(site), Item::Site(other)) => site.first = site.first.min(other.first),
            (Item::SiteCalls(calls), Item::SiteCalls(other)) => {
                calls.rank = calls.rank.min(other.rank);
                calls.counted.add(&other.counted);
            }
            (Item::Transfer(transfer), Item::Transfer(other)) => transfer.add(&other),
            (Item::Completed(completed), Item::Completed(other)) => {
                completed.rank = completed.rank.min(other.rank);
                completed.counted.add(&other.counted);
            }
            // Ranks may have been told to keep more of the name, or less.
            (Item::File(name), Item::File(other)) if other.first < name.first => *name = other,
            (Item::OpenedFile(opened), Item::OpenedFile(other)) => {
                opened.ranks = opened.ranks.saturating_add(other.ranks);
                opened.opens = opened.opens.wrapping_add(other.opens);
                opened.views = opened.views.wrapping_add(other.views);
            }
            (Item::FileCalls(calls), Item::FileCalls(other)) => {
                calls.rank = calls.rank.min(other.rank);
                calls.counted.add(&other.counted);
            }
            (Item::Use(used), Item::Use(other)) => {
                used.rank = used.rank.min(other.rank);
                used.counted.add(&other.counted);
            }
            // One rank twice, which nobody should hand over: the first one counts.
            _ => {}
        }
    }
}

impl Run {
    fn add(&mut self, other: Run) {
        if other.header.world_rank < self.header.world_rank {
            (self.header, self.ns_per_tick) = (other.header, other.ns_per_tick);
        }
        self.world_size = self.world_size.max(other.world_size);
        self.ranks += other.ranks;
        self.lost_calls = self.lost_calls.saturating_add(other.lost_calls);
        self.damaged = self.damaged.saturating_add(other.damaged);
        self.end_realtime_ns = self.end_realtime_ns.max(other.end_realtime_ns);
    }
}

impl Communicator {
    /// Whether it leads to the processes that spawned this world.
    pub fn leads_to_parents(&self) -> bool {
        self.layer.is_none() && char::from(self.letter) == creators::PARENTS
    }

    fn add(&mut self, mut other: Communicator) {
        let trust = |communicator: &Communicator| (communicator.counter.is_none(), communicator.source);
        if trust(&other) < trust(self) {
            std::mem::swap(self, &mut other);
        }
        self.root = if self.root == NO_RANK { other.root } else { self.root };
        self.label = self.label.take().or(other.label);
        self.parent = self.parent.or(other.parent);
        self.freed &= other.freed;
        add_ranges(&mut self.members, other.members);
        self.order.add(other.order);
        self.spread = match (self.spread, other.spread) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (one, other) => one.or(other),
        };
        self.birthplace = self.birthplace.into_iter().chain(other.birthplace).min();
    }
}

impl Transfer {
    /// What tells a route in one context from the same one in another.
    fn route_in_context(&self) -> u64 {
        match self.context {
            Context::NONE => self.route,
            Context { communicator: [first, second], within } => {
                let words = [self.route, first, second, within].map(u64::to_le_bytes);
                xxh3_64(words.as_flattened())
            }
        }
    }

    pub fn add(&mut self, other: &Transfer) {
        (self.time_min_ns, self.time_max_ns) = match (self.asynchronous, other.asynchronous) {
            (_, 0) => (self.time_min_ns, self.time_max_ns),
            (0, _) => (other.time_min_ns, other.time_max_ns),
            _ => (self.time_min_ns.min(other.time_min_ns), self.time_max_ns.max(other.time_max_ns)),
        };
        self.rank = self.rank.min(other.rank);
        self.calls = self.calls.wrapping_add(other.calls);
        self.bytes = self.bytes.wrapping_add(other.bytes);
        self.asynchronous = self.asynchronous.wrapping_add(other.asynchronous);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
    }
}

impl Spread {
    fn and(self, other: Spread) -> Spread {
        Spread {
            ranks: self.ranks + other.ranks,
            time_ns: self.time_ns.saturating_add(other.time_ns),
            least: self.least.least(other.least),
            most: self.most.most(other.most),
        }
    }
}

/// Joins two lists of ascending ranges.
pub fn add_ranges(ranges: &mut Vec<(u32, u32)>, mut more: Vec<(u32, u32)>) {
    if more.first() < ranges.first() {
        std::mem::swap(ranges, &mut more);
    }
    let is_behind = ranges.last().zip(more.first()).is_none_or(|(last, first)| last.1 < first.0);
    let seam = ranges.len().saturating_sub(1);
    ranges.extend(more);
    let from = if is_behind { seam } else { 0 };
    ranges[from..].sort_unstable();
    let mut kept = from;
    for next in from + 1..ranges.len() {
        let (first, last) = ranges[next];
        if first <= ranges[kept].1.saturating_add(1) {
            ranges[kept].1 = ranges[kept].1.max(last);
        } else {
            kept += 1;
            ranges[kept] = (first, last);
        }
    }
    ranges.truncate(kept + 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined() {
        let joined = |one: &[(u32, u32)], other: &[(u32, u32)]| {
            let mut ranges = one.to_vec();
            add_ranges(&mut ranges, other.to_vec());
            ranges
        };
        assert_eq!(joined(&[(0, 3)], &[(4, 7)]), [(0, 7)]);
        assert_eq!(joined(&[(4, 7)], &[(0, 3), (9, 9)]), [(0, 7), (9, 9)]);
        assert_eq!(joined(&[(0, 0), (4, 4)], &[(2, 2), (6, 6)]), [(0, 0), (2, 2), (4, 4), (6, 6)]);
        assert_eq!(joined(&[(0, 0), (2, 2)], &[(2, 2), (3, 5)]), [(0, 0), (2, 5)]);
        assert_eq!(joined(&[], &[(1, 1)]), [(1, 1)]);
        assert_eq!(joined(&[(u32::MAX, u32::MAX)], &[(0, 0)]), [(0, 0), (u32::MAX, u32::MAX)]);
        assert_eq!(joined(&[], &[]), []);
    }
}
