//! A shard: the file of counters that one process of a job leaves, mapped into its memory while it runs.
//!
//! A [`Header`] of one page, then blocks one behind the other. A block starts with a [`BlockHeader`] and holds entries of
//! one kind: [`Communicator`], [`Cell`], [`Edge`], [`Text`], [`Use`], [`InFlightCall`], [`Peer`], [`Transfer`],
//! [`Context`], [`LayerCommunicator`], [`Event`], [`Module`], [`Place`], [`Site`], [`SiteCell`], [`Completed`],
//! [`File`] or [`FileCell`]. Blocks of what is counted belong to one
//! thread each, so that nobody needs a lock; the same key may therefore stand in several blocks, and readers add up.
//!
//! An *image* is the same bytes with every block cut behind its last used entry: what a process sends to rank 0.

mod bound;
mod code;
mod completed;
mod event;
mod file;
mod files;
mod header;
mod in_flight;
mod layout;
mod name;
mod path;
mod read;
mod site;
mod surroundings;
mod text;
mod transfer;

pub use bound::Bound;
pub use code::{Code, position};
pub use completed::Completed;
pub use event::{CALL, Event, LAYER, RECEIVED, SENT, Sync};
pub use file::{read_file, read_header};
pub use files::{FILE_NAME_BYTES, File, FileCell, MOST_FILES, UNNAMED_FILE};
pub use header::*;
pub use in_flight::{IN_FLIGHT_LEVELS, InFlightCall};
pub use layout::*;
pub use name::{run_in_name, run_name, shard_name, snapshot_name};
pub use path::{kept, without_prefix};
pub use read::{Error, Shard, ThreadState};
pub use site::{Frame, Module, NO_MODULE, NO_TEXT, PASSED_OVER, Place, Site, SiteCell};
pub use surroundings::{FIRST_SETTING, NUMA_NODES, PROCESSORS, Surroundings};
pub use text::{set_text, text, text_bytes};
pub use transfer::{
    ARRIVES, Context, FOREIGN, LayerCommunicator, NO_OPERATION, NO_ROOT, OWN, Peer, ROUTE_BITS, Role, Route, Transfer,
    routed, unrouted,
};
