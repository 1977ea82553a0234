//! What hook modules count: what layers below MPI did for the calls of the program.

use bytemuck::{Pod, Zeroable};

use super::layout::{Bound, Text, text};

/// The operation of what happened outside of MPI: no call has this number.
pub const NO_OPERATION: u16 = u16::MAX;

/// The counters of one (communicator, operation, bucket, way, peer) in one thread.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Transfer {
    pub key: [u64; 2],
    pub calls: u64,
    pub bytes: u64,
    /// Operations that were not complete when their call returned; the times are theirs.
    pub later: u64,
    /// From the begin to the completion.
    pub ticks: u64,
    pub ticks_min: Bound,
    pub ticks_max: Bound,
}

const _: () = assert!(size_of::<Transfer>() == 56);

impl Transfer {
    /// Way and peer are numbers of this process, 0 where they are not known.
    #[inline(always)]
    pub const fn key(comm: u32, operation: u16, bucket: u8, way: u32, peer: u32) -> [u64; 2] {
        [(comm as u64) << 32 | (operation as u64) << 16 | bucket as u64, (way as u64) << 32 | peer as u64]
    }

    pub fn comm(&self) -> u32 {
        (self.key[0] >> 32) as u32
    }

    pub fn operation(&self) -> u16 {
        (self.key[0] >> 16) as u16
    }

    pub fn bucket(&self) -> u8 {
        self.key[0] as u8
    }

    pub fn way(&self) -> u32 {
        (self.key[1] >> 32) as u32
    }

    pub fn peer(&self) -> u32 {
        self.key[1] as u32
    }
}

/// A process as a layer knows it, or this one itself.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Peer {
    /// No two processes of a job have the same.
    pub identity: u64,
    /// This process's number for it, above 0.
    pub number: u32,
    /// [`OWN`], or [`FOREIGN`].
    pub kind: u32,
}

/// Values of [`Peer::kind`].
pub const FOREIGN: u32 = 0;
pub const OWN: u32 = 1;

/// A bit of [`Text::flags`] of a way: the data came from the peer.
pub const ARRIVES: u32 = 1;

/// How a layer moved data. Names are the layer's own; what it has no name for is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "profile", derive(serde::Serialize, serde::Deserialize))]
pub struct Way {
    pub layer: String,
    pub function: String,
    pub protocol: String,
    pub transport: String,
    pub device: String,
    /// Of the device: `network`, `memory`, `gpu`, `self`.
    pub kind: String,
    /// The layer's own group of processes.
    pub scope: String,
    /// Data that came from the peer, as its receiver saw it.
    pub arrives: bool,
}

impl Way {
    /// All names as one text: each on a line.
    pub fn text(&self) -> String {
        let names =
            [&self.layer, &self.function, &self.protocol, &self.transport, &self.device, &self.kind, &self.scope];
        names.map(|name| name.replace('\n', " ")).join("\n")
    }

    /// `posix/memory`: what it went over, as UCX writes it.
    pub fn path(&self) -> String {
        match (self.transport.as_str(), self.device.as_str()) {
            (transport, "") => transport.to_owned(),
            ("", device) => device.to_owned(),
            (transport, device) => format!("{transport}/{device}"),
        }
    }

    pub fn of(entry: &Text) -> Way {
        let text = text(&entry.text);
        let mut names = text.split('\n').map(str::to_owned);
        let mut next = || names.next().unwrap_or_default();
        Way {
            layer: next(),
            function: next(),
            protocol: next(),
            transport: next(),
            device: next(),
            kind: next(),
            scope: next(),
            arrives: entry.flags & ARRIVES != 0,
        }
    }
}
