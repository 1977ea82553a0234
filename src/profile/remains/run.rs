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
    /// Whether it goes on: what is known of the process that is most alive.
    pub state: State,
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
            state: State::Dead,
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

    /// A process of it still lives, here or on another host.
    pub fn is_alive(&self) -> bool {
        self.state == State::Alive
    }

    /// The hosts on which it goes on, or may go on.
    pub fn hosts(&self) -> Vec<&str> {
        self.going.iter().filter(|(state, _)| *state == self.state).map(|(_, host)| host.as_str()).collect()
    }

    /// One of its processes is in this state.
    pub(super) fn note(&mut self, state: State) {
        self.state = self.state.max(state);
    }
}
