//! What is known of a request.

use std::ffi::c_int;
use std::ptr;

use commsee_runtime::memory::boxed;
use vocabulary::shard::Cell;

use super::persistent::Persistent;
use crate::mpi::abi::Word;
use crate::objects::records::Record;
use crate::objects::shortcuts::{self, Shortcut};
use crate::shard::memory;
use crate::sites;

/// What remains to be done when a request completes. Each a bit, so that a call over several sees at once what it is given.
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
    /// Nothing: a call told that it is complete without completing it, and what it received was counted then.
    Received = 16,
    /// The same of what is no message of one peer: of several, or of a file.
    HasReceived = 32,
}

/// Whether there is one that receives among several kinds.
#[inline(always)]
pub fn receives(kinds: u8) -> bool {
    kinds & !(Kind::Duplicate as u8) != 0
}

impl Kind {
    #[inline(always)]
    pub fn receives(self) -> bool {
        receives(self as u8)
    }

    /// Once what it received is counted. None where there is nothing to be counted.
    pub fn counted(self) -> Option<Kind> {
        match self {
            Kind::Receive => Some(Kind::Received),
            Kind::ReceiveInto | Kind::Read => Some(Kind::HasReceived),
            Kind::Plain | Kind::Duplicate | Kind::Received | Kind::HasReceived => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum State {
    /// There is none.
    Gone,
    /// A persistent request that is not started.
    Inactive,
    Active,
    /// A persistent request that is started.
    Started,
}

#[derive(Clone, Copy)]
pub struct Request {
    pub comm: Record,
    /// Duration of the call that started it.
    pub ticks: u64,
    /// The shortcut of that call. It is not asked before its `cells` are found to be these, since it may be another's by then. Where nothing remains to be done: the counters of that call, or [`shortcuts::unused`] where they
    /// are not known. Where calls are counted by call site: as `site.rs` has it.
    pub shortcut: *const Shortcut,
    /// The key of that call's counters: communicator, operation, phase, and a bucket where the kind has one.
    pub cells: u64,
    /// What few requests have, or null.
    pub extra: *mut Extra,
    pub kind: Kind,
    pub state: State,
    /// The thread that started it, whose the shortcut is.
    pub thread: u16,
    /// The number of a receive on the timeline; of what was read from a file, the file. Of one that leaves nothing to be
    /// done, how many like it follow it in the map.
    pub posted: u32,
}

/// Where the program will find a communicator's handle when its request has completed.
#[derive(Clone, Copy)]
pub enum HandleAddress {
    C(Word),
    Fortran(Word),
}

/// What few requests have. Always behind a pointer.
#[allow(clippy::large_enum_variant)]
pub enum Extra {
    Persistent(Persistent),
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
    /// One that a call of this thread started.
    #[inline(always)]
    pub const fn new(thread: u16, comm: Record, kind: Kind) -> Request {
        Request {
            comm,
            ticks: 0,
            shortcut: shortcuts::unused(),
            cells: 0,
            extra: ptr::null_mut(),
            kind,
            state: State::Active,
            thread,
            posted: 0,
        }
    }

    /// The same with what few requests have. None where there is no memory for it.
    pub fn with(self, extra: Extra) -> Option<Request> {
        let state = if matches!(extra, Extra::Persistent(_)) { State::Inactive } else { State::Active };
        let Some(extra) = boxed(extra) else {
            memory::lose_call();
            return None;
        };
        Some(Request { state, extra: Box::into_raw(extra), ..self })
    }

    #[inline(always)]
    pub fn is_active(&self) -> bool {
        self.state >= State::Active
    }

    #[inline(always)]
    pub fn is_persistent(&self) -> bool {
        matches!(self.state, State::Inactive | State::Started)
    }

    /// The operation that started it.
    pub fn operation(&self) -> u16 {
        Cell::operation_of(self.cells)
    }

    /// Another thread may have it: a shortcut is its thread's own, a site is the process's.
    #[inline(always)]
    pub fn hand_to(&mut self, thread: u16) {
        if self.thread != thread && self.kind != Kind::Plain && !sites::are_counted() {
            self.shortcut = shortcuts::unused();
        }
    }

    /// Whether it leaves nothing to be done, and does not differ from another one that does neither.
    #[inline(always)]
    pub fn is_like(&self, other: &Request) -> bool {
        let keys = |request: &Request| (request.thread, request.comm, request.shortcut);
        self.kind == Kind::Plain
            && other.kind == Kind::Plain
            && keys(self) == keys(other)
            && self.extra.is_null()
            && other.extra.is_null()
    }

    /// What a started persistent request does, and where that is counted.
    ///
    /// # Safety
    /// It is in the map, whose lock is held.
    pub unsafe fn persistent(&mut self) -> Option<&mut Persistent> {
        // SAFETY: so it is not freed.
        match unsafe { self.extra.as_mut() } {
            Some(Extra::Persistent(persistent)) => Some(persistent),
            _ => None,
        }
    }

    /// Starts a persistent one.
    #[inline(always)]
    pub fn restart(&mut self, kind: Kind, thread: u16, posted: u32, cells: u64, ticks: u64, shortcut: *const Shortcut) {
        (self.kind, self.state, self.thread, self.posted) = (kind, State::Started, thread, posted);
        (self.cells, self.ticks, self.shortcut) = (cells, ticks, shortcut);
    }

    /// It is gone: what few have goes with it.
    pub fn take_extra(&mut self) -> Option<Box<Extra>> {
        let extra = std::mem::replace(&mut self.extra, ptr::null_mut());
        // SAFETY: made by `with`, and taken once, since it was the map's, and is gone from there.
        (!extra.is_null()).then(|| unsafe { Box::from_raw(extra) })
    }
}
