//! What is known of a request.

use std::ffi::c_int;

use vocabulary::shard::Cell;

use crate::mpi::abi::Word;
use crate::objects::records::Record;
use crate::objects::requests::persistent::Persistent;
use crate::objects::shortcuts::{self, Shortcut};

/// No index.
pub const NOWHERE: u32 = u32::MAX;

/// What remains to be done when a request completes.
/// Each a bit, so that a call over several sees at once what it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Nothing: all was counted when it started.
    Plain = 0,
    /// Count the receive in the bucket of the message that arrived.
    Receive = 1,
    /// Add the bytes that arrived to the call's own bucket, which stands in [`Request::cells`].
    ReceiveInto = 2,
    /// The same for what was read from a file.
    Read = 4,
    /// Enter the communicator that is now ready.
    Duplicate = 8,
}

/// Whether there is one that receives among several kinds.
#[inline(always)]
pub fn receives(kinds: u8) -> bool {
    kinds & (Kind::Receive as u8 | Kind::ReceiveInto as u8 | Kind::Read as u8) != 0
}

impl Kind {
    #[inline(always)]
    pub fn receives(self) -> bool {
        receives(self as u8)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// The handle had a request, and may get one again.
    Idle,
    /// A persistent request that is not started.
    Inactive,
    Active,
    /// Active, and a call has told that it is complete without completing it: what it received is counted.
    Revealed,
    /// Active, and none of those that take more than a comparison to complete: no other request has its handle, and it has nothing that
    /// few have.
    Sole,
    /// The same of a persistent one.
    Started,
}

impl State {
    #[inline(always)]
    pub fn is_active(self) -> bool {
        self as u8 >= State::Active as u8
    }

    /// Whether its completion changes nothing but its state.
    #[inline(always)]
    pub fn is_sole(self) -> bool {
        self as u8 >= State::Sole as u8
    }

    /// That behind the completion of such a one.
    #[inline(always)]
    pub fn completed(self) -> State {
        if self == State::Started { State::Inactive } else { State::Idle }
    }
}

#[derive(Clone, Copy)]
pub struct Request {
    pub comm: Record,
    /// Duration of the call that started it.
    pub ticks: u64,
    /// The shortcut of that call. It is not asked before its `cells` are found to be these, since it may be another's by then; that of a
    /// persistent request is nobody else's. Where nothing remains to be done: the counters of that call, or [`shortcuts::unused`] where they
    /// are not known. Where calls are counted by call site: as `site.rs` has it.
    pub shortcut: *const Shortcut,
    /// The key of that call's counters: communicator, operation, phase, and a bucket where the kind has one.
    pub cells: u64,
    pub kind: Kind,
    pub state: State,
    /// The number of a receive on the timeline; of what was read from a file, the file; with a shortcut, its site.
    pub posted: u32,
    /// Index of what few requests have, or `NOWHERE`.
    pub extra: u32,
}

/// Where the program will find a communicator's handle when its request has completed.
#[derive(Clone, Copy)]
pub enum HandleAddress {
    C(Word),
    Fortran(Word),
}

/// What a completed request leaves to be done.
#[derive(Clone, Copy)]
pub struct Completed {
    pub comm: Record,
    pub ticks: u64,
    pub shortcut: *const Shortcut,
    pub cells: u64,
    pub kind: Kind,
    /// Of one that was [`State::Revealed`].
    pub is_counted: bool,
    pub posted: u32,
    /// For `Kind::Duplicate`: where the program wants the handle, and the record that waits for it.
    pub duplicate: (HandleAddress, Record),
}

/// What few requests have.
pub enum Extra {
    Persistent(Box<Persistent>),
    /// Where the program wants the handle, and the record that waits for it.
    Duplicate {
        place: HandleAddress,
        record: Record,
    },
}

/// What is known of each partition of a partitioned request.
#[derive(Clone, Copy)]
pub struct Partition {
    pub comm: Record,
    pub bytes: u64,
    /// Rank in the communicator and world rank of the receiver, if there is one.
    pub destination: Option<(c_int, u32)>,
}

impl Request {
    pub const fn new(comm: Record, kind: Kind) -> Request {
        Request {
            comm,
            ticks: 0,
            shortcut: shortcuts::unused(),
            cells: 0,
            kind,
            state: State::Active,
            posted: 0,
            extra: NOWHERE,
        }
    }

    /// One that a call started whose counters have this key.
    pub const fn started(comm: Record, kind: Kind, cells: u64, ticks: u64) -> Request {
        Request { ticks, cells, ..Request::new(comm, kind) }
    }
}

impl Completed {
    /// The operation that started it.
    pub fn operation(&self) -> u16 {
        Cell::operation_of(self.cells)
    }
}
