//! The items of a stream, in the order of their sections.

mod join;

use serde::{Deserialize, Serialize};

use super::group::{Each, Peak, Sum};
use super::identity::{Identity, NO_COMM};
use super::order::Order;
use crate::counters::{self, Arguments, Messages};
use crate::creators;
use crate::shard::{Header, Route};
pub use join::{SortKey, add_ranges};

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
    Program(OfRanks),
    Completed(Box<Completed>),
    File(Name),
    OpenedFile(OpenedFile),
    FileCalls(Box<FileCalls>),
    Setting(OfRanks),
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
    /// Of its main thread during the run time, where that is known.
    pub scheduled: Option<(u64, u64)>,
    /// As in the header of its shard.
    pub state: u32,
    /// That it may run on, and their NUMA nodes, such as `0-3`; empty where that is not known.
    pub processors: String,
    pub numa_nodes: String,
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
    /// [`Site::hash`] of the program's call, or 0.
    pub site: u64,
    /// The same of where it allocated what was read, and what was written.
    pub objects: [u64; 2],
}

impl Context {
    pub const NONE: Context = Context { communicator: NO_COMM, within: 0, site: 0, objects: [0; 2] };
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// What holds for some ranks, since several programs may be one job (MPMD): the command, or a setting (`NAME=value`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfRanks {
    pub hash: u64,
    pub text: String,
    /// World ranks as ascending ranges, both ends included.
    pub members: Vec<(u32, u32)>,
}

impl Communicator {
    /// Whether it leads to the processes that spawned this world.
    pub fn leads_to_parents(&self) -> bool {
        self.layer.is_none() && char::from(self.letter) == creators::PARENTS
    }
}
