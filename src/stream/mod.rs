//! What processes counted, as streams of items in one order that all of them know without asking each other. So the streams of any
//! number of processes become one by merging: up a tree of processes in `MPI_Finalize`, where nobody holds more than a chunk of each
//! child; in memory over the files of shards, in `through recover`.

mod code;
mod completed;
mod detail;
mod files;
mod group;
mod hash;
mod identity;
mod item;
mod layers;
mod merge;
mod merged;
mod order;
mod process;
mod resolved;
mod sites;
mod timeline;

pub use code::{Decoder, Encoder};
pub use detail::{AUTO_ROWS, Detail, Extent, OTHER_EDGES};
pub use group::{ALL_PHASES, BLOCK_RANKS, Each, Key, NO_RANK, Peak, Row, Sum, Totals};
pub use identity::Identity;
pub use item::add_ranges;
pub use item::{
    Birthplace, Clock, Communicator, Completed, Context, Edge, Endpoint, Event, FileCalls, Frame, InFlight, Item,
    KnownRoute, Module, Name, Note, OfRanks, OpenedFile, Peer, Process, Run, Scripted, Site, SiteCalls, Transfer, Use,
};
pub use merge::{Merge, Source};
pub use merged::MergedShards;
pub use order::Order;
pub use process::ProcessStream;
