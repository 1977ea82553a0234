//! Which GPU is a rank's: processes number GPUs by themselves, and calls of NCCL name none.

use std::collections::{BTreeMap, BTreeSet};

use commsee::ccl;
use commsee::shard::{Role, Route};

use super::catalog::Catalog;
use super::copies;
use super::filter::Filter;
use super::open::Profile;
use super::transfers::End;
use crate::query::Error;

/// A layer's call that moves data between GPUs.
pub fn is_call(route: &Route) -> bool {
    let moves = ccl::find(&route.function).is_some_and(|function| function.kind != ccl::Kind::Control);
    moves && route.role == Role::Message && !route.arrives
}

/// Layers that move data between memories of hosts and GPUs.
pub fn layers(catalog: &Catalog) -> Vec<String> {
    let is_meant = |route: &&Route| is_call(route) || copies::ends(route).is_some();
    let layers: BTreeSet<&str> = catalog.routes.values().filter(is_meant).map(|route| route.layer.as_str()).collect();
    layers.into_iter().map(str::to_owned).collect()
}

/// What GPUs are called.
#[derive(Clone, Debug, Default)]
pub struct Gpus {
    /// Of ranks that copied to and from one GPU alone, as they number it.
    own: BTreeMap<i64, String>,
    /// Ranks of one host number different GPUs alike.
    are_of_ranks: bool,
}

impl Gpus {
    pub fn read(profile: &Profile, catalog: &Catalog) -> Result<Gpus, Error> {
        let routes = |is_meant: fn(&Route) -> bool| {
            let routes = catalog.routes.iter().filter(|(_, route)| is_meant(route));
            Filter { routes: Some(routes.map(|(number, _)| *number).collect()), ..Filter::default() }
        };
        let mut copied: BTreeMap<i64, BTreeSet<&str>> = BTreeMap::new();
        each(profile, &routes(|route| copies::ends(route).is_some()), |rank, route| {
            let ends = catalog.routes.get(&route).and_then(copies::ends).into_iter().flatten().flatten();
            copied.entry(rank).or_default().extend(ends);
        })?;
        let mut calling: BTreeSet<i64> = BTreeSet::new();
        each(profile, &routes(is_call), |rank, _| _ = calling.insert(rank))?;
        let only = |(rank, gpus): (i64, BTreeSet<&str>)| match gpus.first() {
            Some(gpu) if gpus.len() == 1 => Some((rank, (*gpu).to_owned())),
            _ => None,
        };
        let own: BTreeMap<i64, String> = copied.into_iter().filter_map(only).collect();
        // Ranks that call a library have GPUs of their own.
        let mut known: BTreeSet<(&str, &str)> = BTreeSet::new();
        let processes = catalog.processes.iter().filter(|process| calling.contains(&process.rank));
        let mut named = processes.filter_map(|process| Some((process.host.as_str(), own.get(&process.rank)?.as_str())));
        let are_of_ranks = named.any(|gpu| !known.insert(gpu));
        Ok(Gpus { own, are_of_ranks })
    }

    /// The GPU that a rank calls so.
    pub fn name(&self, rank: i64, gpu: &str) -> String {
        if self.are_of_ranks { format!("{gpu} of rank {rank}") } else { gpu.to_owned() }
    }

    /// The GPU of a rank.
    pub fn of_rank(&self, rank: i64) -> String {
        self.own.get(&rank).map_or_else(|| format!("gpu of rank {rank}"), |gpu| self.name(rank, gpu))
    }
}

/// Ranks and the routes that they used; the table does not lie by ranks.
fn each(profile: &Profile, filter: &Filter, mut take: impl FnMut(i64, i64)) -> Result<(), Error> {
    let (condition, values) = filter.transfer_condition();
    profile.query::<(), ()>(&format!("SELECT x.rank, x.way FROM transfer x WHERE {condition}"), values, |row| {
        let route = row.get(1)?;
        End::of_rank(row.get(0)?).rank().into_iter().for_each(|rank| take(rank, route));
        Ok(())
    })
}
