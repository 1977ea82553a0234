//! What hook modules count: what layers below MPI did for the calls of the program.

use bytemuck::{Pod, Zeroable};

use super::bound::Bound;
use super::layout::Text;
use super::text::text;

/// The operation of what happened outside of MPI: no call has this number.
pub const NO_OPERATION: u16 = u16::MAX;

/// The counters of one (communicator, operation, bucket, route, peer, context) in one thread.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Transfer {
    pub key: [u64; 2],
    pub calls: u64,
    pub bytes: u64,
    /// Operations that were not complete when their call returned; the times are theirs.
    pub asynchronous: u64,
    /// From the begin to the completion.
    pub time_ns: u64,
    pub time_min_ns: Bound,
    pub time_max_ns: Bound,
}

const _: () = assert!(size_of::<Transfer>() == 56);

/// A number of a route fits into so many bits; above it stands that of a context.
pub const ROUTE_BITS: u32 = 13;

/// A route in a context, as keys and events have it.
#[inline(always)]
pub const fn routed(route: u32, context: u32) -> u32 {
    context << ROUTE_BITS | route
}

/// Route and context.
pub const fn unrouted(routed: u32) -> (u32, u32) {
    (routed & ((1 << ROUTE_BITS) - 1), routed >> ROUTE_BITS)
}

impl Transfer {
    /// Route, in a context ([`routed`]), and peer are numbers of this process, 0 where they are not known.
    #[inline(always)]
    pub const fn key(comm: u32, operation: u16, bucket: u8, routed: u32, peer: u32) -> [u64; 2] {
        [(comm as u64) << 32 | (operation as u64) << 16 | bucket as u64, (routed as u64) << 32 | peer as u64]
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

    /// Route and context.
    pub fn routed(&self) -> u32 {
        (self.key[1] >> 32) as u32
    }

    pub fn peer(&self) -> u32 {
        self.key[1] as u32
    }
}

/// What a layer's operation belongs to beside an MPI call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C)]
pub struct Context {
    /// This process's number for it, above 0.
    pub number: u32,
    /// The layer's communicator, or 0.
    pub communicator: u32,
    /// The layer's call that it happened in, by a route that has its function; or 0.
    pub within: u32,
    /// Where the program made the call that it happened in, or 0.
    pub site: u32,
    /// Where it allocated what was read, and what was written; each may be 0.
    pub objects: [u32; 2],
}

/// A communicator of a layer as one of its processes told it.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct LayerCommunicator {
    /// The same in all its processes, and no MPI communicator's.
    pub identity: [u64; 2],
    /// This process's number for it, above 0.
    pub number: u32,
    pub size: u32,
    /// This process's rank in it.
    pub rank: u32,
    /// World rank of its rank 0, or [`NO_ROOT`].
    pub root: u32,
    /// How many communicators of the layer this process had been given when it was made.
    pub counter: u32,
    /// The layer's communicator that it was made from, or 0.
    pub parent: u32,
    /// The MPI communicator that it was made from, or 0.
    pub parent_comm: u32,
    pub letter: u8,
    /// As those of [`super::Communicator`].
    pub flags: u8,
    pub reserved: [u8; 2],
    pub layer: [u8; 32],
    pub label: [u8; 172],
    /// The site where it was made, or 0.
    pub site: u32,
}

const _: () = assert!(size_of::<LayerCommunicator>() == 256);

pub const NO_ROOT: u32 = u32::MAX;

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

/// A bit of [`Text::flags`] of a route: the data came from the peer.
pub const ARRIVES: u32 = 1;

/// Where the [`Role`] of a route stands in [`Text::flags`].
pub const ROLE_SHIFT: u32 = 8;

/// What moves along a route.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "profile", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum Role {
    #[default]
    None = 0,
    /// What the layer was asked to move.
    Message = 1,
    /// What it moved for that.
    Wire = 2,
    /// What a device did by itself.
    Device = 3,
}

impl Role {
    /// All that there are, by number.
    pub const ALL: [Role; 4] = [Role::None, Role::Message, Role::Wire, Role::Device];

    /// A number that nobody knows is no role.
    pub fn of(number: u32) -> Role {
        Role::ALL.get(number as usize).copied().unwrap_or_default()
    }

    pub fn named(name: &str) -> Role {
        Role::ALL.into_iter().find(|role| role.name() == name).unwrap_or_default()
    }

    pub fn name(self) -> &'static str {
        ["", "message", "wire", "device"][self as usize]
    }
}

/// How a layer moved data. Names are the layer's own; what it has no name for is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "profile", derive(serde::Serialize, serde::Deserialize))]
pub struct Route {
    pub layer: String,
    pub function: String,
    pub protocol: String,
    pub transport: String,
    pub device: String,
    /// Of the device: `network`, `memory`, `gpu`, `self`.
    pub kind: String,
    /// The layer's own group of processes.
    pub scope: String,
    /// Where the data lie in this process: `host`, `cuda0`. Empty where the layer does not tell.
    pub memory: String,
    /// Data that came from the peer, as its receiver saw it.
    pub arrives: bool,
    pub role: Role,
}

impl Route {
    /// As the flags of its text.
    pub fn flags(&self) -> u32 {
        (if self.arrives { ARRIVES } else { 0 }) | (self.role as u32) << ROLE_SHIFT
    }

    /// All names as one text: each on a line.
    pub fn text(&self) -> String {
        let [layer, function, protocol] = [&self.layer, &self.function, &self.protocol];
        let names = [layer, function, protocol, &self.transport, &self.device, &self.kind, &self.scope, &self.memory];
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

    pub fn of(entry: &Text) -> Route {
        let text = text(&entry.text);
        let mut names = text.split('\n').map(str::to_owned);
        let mut next = || names.next().unwrap_or_default();
        Route {
            layer: next(),
            function: next(),
            protocol: next(),
            transport: next(),
            device: next(),
            kind: next(),
            scope: next(),
            memory: next(),
            arrives: entry.flags & ARRIVES != 0,
            role: Role::of(entry.flags >> ROLE_SHIFT),
        }
    }
}
