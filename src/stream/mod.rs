//! What processes counted, as streams of items in one order that all of them know without asking each other. So the streams of any
//! number of processes become one by merging: up a tree of processes in `MPI_Finalize`, where nobody holds more than a chunk of each
//! child; in memory over the files of shards, in `through recover`.

mod code;
mod detail;
mod facts;
mod group;
mod item;
mod layers;
mod leaf;
mod merge;
mod pile;
mod timeline;

pub use code::{Decoder, Encoder};
pub use detail::{AUTO_ROWS, Detail, Extent, OTHER_EDGES};
pub use group::{BLOCK_RANKS, Each, Key, NO_RANK, Peak, Row, Sum, Totals};
pub use item::add_ranges;
pub use item::{
    Clock, Communicator, Context, Edge, Endpoint, Event, Identity, Item, KnownRoute, Name, Note, Process, Program, Run,
    Stand, Transfer, Use,
};
pub use leaf::{ALL_PHASES, Leaf};
pub use merge::{Merge, Source};
pub use pile::Pile;
