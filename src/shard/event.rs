//! The timeline: what happened when, in the order in which each thread wrote it down.

use bytemuck::{Pod, Zeroable};

/// One event. Which of the fields mean what depends on the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Event {
    pub begin_ticks: u64,
    /// Of a message: [`Event::message`].
    pub end_ticks: u64,
    pub bytes: u64,
    /// The begin of the MPI call of this process that it belongs to; 0 is none.
    pub cause_ticks: u64,
    pub comm: u32,
    pub operation: u16,
    /// [`CALL`], [`LAYER`], [`SENT`] or [`RECEIVED`].
    pub kind: u8,
    pub reserved: u8,
    /// Of a layer's operation, as [`super::routed`]. Of a collective call its number among those on its communicator, from 1.
    pub route: u32,
    /// Of a layer's operation: the peer's number. Of a message that was sent: the world rank it went to. Of a call: [`Event::site`].
    pub peer: u32,
}

const _: () = assert!(size_of::<Event>() == 48);

/// An MPI call.
pub const CALL: u8 = 0;
/// What a layer below MPI did.
pub const LAYER: u8 = 1;
/// A message that a call sent. Begins with the call.
pub const SENT: u8 = 2;
/// A message that arrived with the call that completed its receive. Instead of a begin it has the number of the receive among those that
/// the process posted.
pub const RECEIVED: u8 = 3;

impl Event {
    /// The rank of a message's sender in the communicator, and the tag.
    pub const fn message(source: u32, tag: i32) -> u64 {
        (source as u64) << 32 | tag as u32 as u64
    }

    pub fn source(&self) -> u32 {
        (self.end_ticks >> 32) as u32
    }

    pub fn tag(&self) -> i32 {
        self.end_ticks as i32
    }

    /// The number of a collective call among those on its communicator: the same on all ranks, since all make them in one order
    /// (MPI-4.1, 6.1).
    pub fn sequence(&self) -> Option<u32> {
        (self.kind == CALL && self.route > 0).then_some(self.route)
    }

    /// The number of the site that called, where it is known.
    pub fn site(&self) -> Option<u32> {
        (self.kind == CALL && self.peer > 0).then_some(self.peer)
    }

    pub fn is_message(&self) -> bool {
        matches!(self.kind, SENT | RECEIVED)
    }
}

/// The clock of a process against that of rank 0, at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Sync {
    /// `CLOCK_MONOTONIC` of this process; 0 is no comparison.
    pub monotonic_ns: u64,
    /// What must be added to it.
    pub offset_ns: i64,
    /// By how much it may be wrong.
    pub error_ns: u64,
}
