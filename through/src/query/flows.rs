//! How much went from whom to whom: messages as MPI counts them, or what a layer below it did.

use std::collections::HashMap;

use super::catalog::unsigned;
use super::transfers::{End, REMOTE};
use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

/// What one process sent to, or got from, another one over one route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    pub from: End,
    pub to: End,
    /// Of a layer below MPI.
    pub route: Option<i64>,
    /// It is the receiver who recorded it.
    pub arrives: bool,
    pub calls: i64,
    pub bytes: u64,
}

impl Flow {
    pub fn recorder(&self) -> End {
        if self.arrives { self.to } else { self.from }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Point-to-point messages, and those of neighbourhood collectives.
    Mpi,
    Layers,
}

/// Whether MPI's own messages are in the profile: collective calls and one-sided ones without a known target have none.
pub fn has_messages(profile: &Profile) -> Result<bool, Error> {
    Ok(!profile.query::<i64, Vec<_>>("SELECT 1 FROM edge LIMIT 1", vec![], |row| row.get(0))?.is_empty())
}

/// All that the filter leaves, in no order. Added up here: rows do not lie by ranks, and SQLite would sort them all.
pub fn flows(
    profile: &Profile,
    filter: &Filter,
    arrives: impl Fn(i64) -> bool,
    traffic: Traffic,
) -> Result<Vec<Flow>, Error> {
    let mut sums: HashMap<(Option<i64>, End, End), (i64, u64)> = HashMap::new();
    let (sql, values) = match traffic {
        Traffic::Layers => {
            let (condition, values) = filter.transfer_condition();
            let columns = "x.way, x.rank, x.peer, x.calls, x.bytes";
            (format!("SELECT {columns} FROM transfer x WHERE {condition}"), values)
        }
        Traffic::Mpi => {
            let (condition, values) = filter.edge_condition();
            // Whoever is no rank is one of another world.
            let dst = format!("iif(x.dst < 0, {REMOTE}, x.dst)");
            (format!("SELECT NULL, x.src, {dst}, x.calls, x.bytes FROM edge x WHERE {condition}"), values)
        }
    };
    profile.query::<(), ()>(&sql, values, |row| {
        let (rank, peer) = (End::of_rank(row.get(1)?), End::of_peer(row.get(2)?));
        let sum = sums.entry((row.get(0)?, rank, peer)).or_default();
        let (calls, bytes): (i64, i64) = (row.get(3)?, row.get(4)?);
        *sum = (sum.0.saturating_add(calls), sum.1.saturating_add(unsigned(bytes)));
        Ok(())
    })?;
    let flow = |((route, rank, peer), (calls, bytes)): ((Option<i64>, End, End), (i64, u64))| {
        let arrives = route.is_some_and(&arrives);
        let (from, to) = if arrives { (peer, rank) } else { (rank, peer) };
        Flow { from, to, route, arrives, calls, bytes }
    };
    Ok(sums.into_iter().map(flow).collect())
}

/// What a layer sent, by the communicator and the operation that caused it.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub comm: i64,
    pub op: i64,
    pub route: i64,
    pub from: End,
    pub to: End,
    pub calls: i64,
    pub bytes: u64,
}

/// All of it, row by row: what arrived is the other end of what was sent, and left out.
pub fn sent(profile: &Profile, is_sent: impl Fn(i64) -> bool, mut take: impl FnMut(Sent)) -> Result<(), Error> {
    let sql = "SELECT comm, op, way, rank, peer, calls, bytes FROM transfer";
    profile.query(sql, vec![], |row| {
        let route = row.get(2)?;
        if is_sent(route) {
            let (from, to) = (End::of_rank(row.get(3)?), End::of_peer(row.get(4)?));
            let (calls, bytes) = (row.get(5)?, unsigned(row.get(6)?));
            take(Sent { comm: row.get(0)?, op: row.get(1)?, route, from, to, calls, bytes });
        }
        Ok(())
    })
}

/// Between two ends, in whatever way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    pub from: End,
    pub to: End,
    pub calls: i64,
    pub bytes: u64,
}

/// In the order of the ends: ranks ascending, then who is not known, then other worlds.
pub fn pairs(flows: &[Flow]) -> Vec<Pair> {
    let mut sums: std::collections::BTreeMap<(End, End), (i64, u64)> = std::collections::BTreeMap::new();
    for flow in flows {
        let sum = sums.entry((flow.from, flow.to)).or_default();
        *sum = (sum.0.saturating_add(flow.calls), sum.1.saturating_add(flow.bytes));
    }
    sums.into_iter().map(|((from, to), (calls, bytes))| Pair { from, to, calls, bytes }).collect()
}
