//! A run that left shards.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::life::State;
use crate::profile::name::Origin;
use crate::shard::{self, Header, run_name};

/// The shards that one run left.
pub struct Run {
    /// 32 hexadecimal digits, drawn by the run.
    pub id: String,
    /// What `COMMSEE_LAUNCH` was, or nothing.
    pub launch: String,
    /// A process of it still lives, here or on another host.
    pub alive: bool,
    /// Whether processes of it live that ran on another host cannot be told here.
    pub elsewhere: bool,
    /// Nor whether those do that have numbers of their own: in a container, or on another host of the same name.
    pub unknown: bool,
    /// Hosts of processes that have not ended for certain, and what is known of them.
    pub going: BTreeSet<(State, String)>,
    pub world_size: u32,
    pub shards: Vec<PathBuf>,
    /// Shards in profiles that lack ranks.
    pub parts: Vec<Part>,
    /// What else lies there of it: snapshots, claims, what was in the making.
    pub others: Vec<PathBuf>,
    pub started_unix_ns: u64,
    pub command: String,
    /// Of its lowest rank here, whose shard tells it.
    pub origin: Origin,
}

/// A shard that a profile carries (`parts.rs`).
pub struct Part {
    pub profile: PathBuf,
    pub rank: u32,
    /// Its bytes, or what is wrong with them.
    pub read: Box<dyn Fn() -> Result<Vec<u8>, String>>,
}

impl Run {
    pub(super) fn new(id: [u64; 2], header: &Header) -> Run {
        Run {
            id: run_name(id),
            launch: if header.launch == [0, 0] { String::new() } else { run_name(header.launch) },
            alive: false,
            elsewhere: false,
            unknown: false,
            going: BTreeSet::new(),
            world_size: header.world_size,
            shards: Vec::new(),
            parts: Vec::new(),
            others: Vec::new(),
            started_unix_ns: header.start_realtime_ns,
            command: shard::text(&header.command),
            origin: Origin::of_shard(header),
        }
    }

    /// Whether it goes on.
    pub fn state(&self) -> State {
        match self {
            Run { alive: true, .. } => State::Alive,
            Run { elsewhere: true, .. } => State::Elsewhere,
            Run { unknown: true, .. } => State::Unknown,
            _ => State::Dead,
        }
    }

    /// The hosts on which it goes on, or may go on.
    pub fn hosts(&self) -> Vec<&str> {
        self.going.iter().filter(|(state, _)| *state == self.state()).map(|(_, host)| host.as_str()).collect()
    }

    /// One of its processes is in this state.
    pub(super) fn note(&mut self, state: State) {
        self.alive |= state == State::Alive;
        self.elsewhere |= state == State::Elsewhere;
        self.unknown |= state == State::Unknown;
    }
}
