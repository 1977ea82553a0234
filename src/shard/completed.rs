//! What calls that complete requests have completed, and what they waited for.

use bytemuck::{Pod, Zeroable};

use super::layout::Cell;
use super::transfer::NO_OPERATION;

/// The requests that were started alike and that calls of one (communicator, operation, phase) completed in one thread.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Completed {
    /// The key of the calls that completed them, made by [`Cell::key`] with the phase's bits, and [`Completed::started`].
    pub key: [u64; 2],
    pub requests: u64,
    /// What arrived by them.
    pub bytes: u64,
    /// Time of the calls that waited for these, as far as it is known what a call waited for.
    pub ticks: u64,
    /// World rank of the one that all of them came from, or [`super::REMOTE_RANK`], where [`Completed::has_peer`].
    pub world_rank: u32,
    pub reserved: u32,
}

const _: () = assert!(size_of::<Completed>() == 48);

impl Completed {
    /// `peer`: 0, or one more than a rank of the communicator.
    pub const fn started(operation: u16, bucket: u8, peer: u32) -> u64 {
        (operation as u64) << 40 | (bucket as u64) << 32 | peer as u64
    }

    pub const fn new(calls: u64, started: u64, world_rank: u32) -> Completed {
        Completed { key: [calls, started], requests: 0, bytes: 0, ticks: 0, world_rank, reserved: 0 }
    }

    /// The counters of the calls, as far as their key tells.
    pub fn calls(&self) -> Cell {
        Cell { key: self.key[0], ..Cell::zeroed() }
    }

    /// The operation that started them; [`NO_OPERATION`] is not known.
    pub const fn operation(&self) -> u16 {
        (self.key[1] >> 40) as u16
    }

    pub const fn bucket(&self) -> u8 {
        (self.key[1] >> 32) as u8
    }

    pub const fn has_peer(&self) -> bool {
        self.key[1] as u32 > 0
    }

    pub const fn is_known(&self) -> bool {
        self.operation() != NO_OPERATION
    }
}
