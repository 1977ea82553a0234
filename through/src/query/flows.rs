//! How much went from whom to whom: messages as MPI counts them, or what a layer below it did.

use std::collections::{BTreeMap, HashMap};

use commsee::ccl::{self, Way};
use commsee::shard::{Role, Route};

use super::catalog::{Catalog, unsigned};
use super::layers::ways::{Done, How, Known, Left};
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
    pub how: How,
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
    Layers {
        /// With what formulas say of collectives whose way is not known.
        is_modelled: bool,
    },
}

/// Whether MPI's own messages are in the profile: collective calls and one-sided ones without a known target have none.
pub fn has_messages(profile: &Profile) -> Result<bool, Error> {
    Ok(!profile.query::<i64, Vec<_>>("SELECT 1 FROM edge LIMIT 1", vec![], |row| row.get(0))?.is_empty())
}

/// A route, its ends, and how that is known.
type Between = (Option<i64>, End, End, How);

/// All that the filter leaves, in no order, and what is in none of it because nobody knows whom it went to. Added up here: rows do not lie
/// by ranks, and SQLite would sort them all.
pub fn flows(
    profile: &Profile,
    catalog: &Catalog,
    filter: &Filter,
    traffic: Traffic,
) -> Result<(Vec<Flow>, Left), Error> {
    let mut sums: HashMap<Between, (i64, u64)> = HashMap::new();
    let mut add = |key, calls: i64, bytes: u64| {
        let sum = sums.entry(key).or_default();
        *sum = (sum.0.saturating_add(calls), sum.1.saturating_add(bytes));
    };
    let left = match traffic {
        Traffic::Layers { is_modelled } => {
            let take = |sent: Sent| add((Some(sent.route), sent.from, sent.to, sent.how), sent.calls, sent.bytes);
            each(profile, catalog, filter, is_modelled, take)?
        }
        Traffic::Mpi => {
            let (condition, values) = filter.edge_condition();
            // Whoever is no rank is one of another world.
            let dst = format!("iif(x.dst < 0, {REMOTE}, x.dst)");
            let sql = format!("SELECT x.src, {dst}, x.calls, x.bytes FROM edge x WHERE {condition}");
            profile.query::<(), ()>(&sql, values, |row| {
                let (rank, peer) = (End::of_rank(row.get(0)?), End::of_peer(row.get(1)?));
                add((None, rank, peer, How::Exact), row.get(2)?, unsigned(row.get(3)?));
                Ok(())
            })?;
            Left::default()
        }
    };
    let flow = |((route, from, to, how), (calls, bytes)): (Between, (i64, u64))| {
        let arrives = route.and_then(|route| catalog.routes.get(&route)).is_some_and(|route| route.arrives);
        Flow { from, to, route, arrives, how, calls, bytes }
    };
    Ok((sums.into_iter().map(flow).collect(), left))
}

/// What a layer sent, by the communicator and the operation that caused it.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub comm: i64,
    pub op: i64,
    pub route: i64,
    pub from: End,
    pub to: End,
    pub how: How,
    pub calls: i64,
    pub bytes: u64,
}

/// Row by row what the filter leaves; then what collectives come to, added up by process. The peer of a collective is its root, who need not
/// get anything.
pub fn each(
    profile: &Profile,
    catalog: &Catalog,
    filter: &Filter,
    is_modelled: bool,
    mut take: impl FnMut(Sent),
) -> Result<Left, Error> {
    // What a rank sends by a collective may be told by another one.
    let of_all = match filter.has_layer_comms {
        true => Filter { ranks: None, ..filter.clone() },
        false => filter.clone(),
    };
    let (condition, values) = of_all.transfer_condition();
    let columns = "x.comm, x.op, x.way, x.rank, x.peer, x.calls, x.bytes, nullif(x.layer_comm, 0)";
    let mut collectives: BTreeMap<Collective, (i64, u64)> = BTreeMap::new();
    let is_meant = |end: End| filter.ranks.is_none() || end.rank().is_some_and(|rank| filter.has_rank(rank));
    profile.query::<(), ()>(&format!("SELECT {columns} FROM transfer x WHERE {condition}"), values, |row| {
        let (comm, op, route): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (rank, peer) = (End::of_rank(row.get(3)?), End::of_peer(row.get(4)?));
        let (calls, bytes): (i64, u64) = (row.get(5)?, unsigned(row.get(6)?));
        let layer_comm: Option<i64> = row.get(7)?;
        let known = catalog.routes.get(&route);
        match known.map_or(Kind::Direct, |known| kind(known, layer_comm.is_some())) {
            Kind::Nothing => {}
            Kind::Collective => {
                let (rank, root) = (rank.rank(), peer.rank());
                let key = Collective { comm, op, route, layer_comm, rank, root };
                let sum = collectives.entry(key).or_default();
                *sum = (sum.0.saturating_add(calls), sum.1.saturating_add(bytes));
            }
            Kind::Direct if !is_meant(rank) => {}
            Kind::Direct => {
                let arrives = known.is_some_and(|known| known.arrives);
                let (from, to) = if arrives { (peer, rank) } else { (rank, peer) };
                // Beside a call that says what was sent somebody tells what was moved for it.
                let is_moved = layer_comm.is_some() && known.is_some_and(|known| known.role == Role::Wire);
                let how = if is_moved { How::Measured } else { How::Exact };
                take(Sent { comm, op, route, from, to, how, calls, bytes });
            }
        }
        Ok(())
    })?;
    let (mut known, mut left) = (Known::of(catalog), Left::default());
    for (of, (calls, bytes)) in collectives {
        let (Some(layer_comm), Some(rank)) = (of.layer_comm, of.rank) else { continue };
        let Some(route) = catalog.routes.get(&of.route) else { continue };
        let (Some(function), Some(members)) = (ccl::find(&route.function), known.members(layer_comm)) else { continue };
        let done = Done { rank, root: of.root, calls, bytes };
        match members.moved(function, &route.protocol, done, is_modelled) {
            Ok((how, moved)) => {
                for moved in moved {
                    let (from, to) = (End::Rank(moved.from), End::Rank(moved.to));
                    let Collective { comm, op, route, .. } = of;
                    if is_meant(from) {
                        take(Sent { comm, op, route, from, to, how, calls: moved.calls, bytes: moved.bytes });
                    }
                }
            }
            Err(why) if is_meant(End::Rank(rank)) => left.add(why, &route.function, done),
            Err(_) => {}
        }
    }
    Ok(left)
}

/// Calls of one process that have no receiver of their own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Collective {
    comm: i64,
    op: i64,
    route: i64,
    layer_comm: Option<i64>,
    rank: Option<i64>,
    root: Option<i64>,
}

/// Whether the peer of what a route did is its other end: of collectives it is the root, and some calls move nothing.
pub fn has_peer(route: &Route) -> bool {
    matches!(kind(route, true), Kind::Direct)
}

/// What the peer of a row means.
enum Kind {
    /// It is the other end.
    Direct,
    /// It is the root, if there is one.
    Collective,
    /// No data went anywhere.
    Nothing,
}

fn kind(route: &Route, is_on_communicator: bool) -> Kind {
    match (ccl::find(&route.function).filter(|_| is_on_communicator), route.role) {
        (None, _) | (Some(_), Role::Wire) => Kind::Direct,
        (Some(function), Role::Device) if function.is_collective() => Kind::Nothing,
        (Some(function), _) => match function.way {
            Way::None => Kind::Nothing,
            Way::Peer => Kind::Direct,
            _ => Kind::Collective,
        },
    }
}

/// Between two ends, in whatever way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    pub from: End,
    pub to: End,
    pub how: How,
    pub calls: i64,
    pub bytes: u64,
}

/// In the order of the ends: ranks ascending, then who is not known, then other worlds. What is known in different ways is not added up.
pub fn pairs(flows: &[Flow]) -> Vec<Pair> {
    let mut sums: BTreeMap<(End, End, How), (i64, u64)> = BTreeMap::new();
    for flow in flows {
        let sum = sums.entry((flow.from, flow.to, flow.how)).or_default();
        *sum = (sum.0.saturating_add(flow.calls), sum.1.saturating_add(flow.bytes));
    }
    sums.into_iter().map(|((from, to, how), (calls, bytes))| Pair { from, to, how, calls, bytes }).collect()
}
