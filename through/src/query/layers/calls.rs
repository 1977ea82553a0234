//! What was called on the communicators of layers, as operations of MPI's communicators are told: by function, message size and rank.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use commsee::ccl::{self, Holds};
use commsee::shard::{Role, Route};

use super::holders::holders;
use crate::query::Error;
use crate::query::catalog::{Catalog, Communicator};
use crate::query::filter::Filter;
use crate::query::open::Profile;
use crate::query::source::ALL_RANKS;
use crate::query::transfers::{Sums, each};

/// Calls of one function on one communicator with messages of one bucket, done in the same way.
#[derive(Clone, Debug)]
pub struct Calls {
    /// The layer's communicator.
    pub comm: i64,
    pub layer: String,
    pub function: String,
    /// How the layer did them, in its own words; empty where it does not tell.
    pub protocol: String,
    pub bucket: i64,
    /// They tell what came, not what went.
    pub arrives: bool,
    /// By the rank that called, or the lowest one of its node, or -1 for all.
    pub ranks: BTreeMap<i64, Sums>,
    pub total: Sums,
    /// Of a collective, how often the communicator performed it; of any other function, the calls of all ranks.
    pub performed: i64,
    /// What the device was busy with them, where that was measured.
    pub device: Option<Sums>,
    pub bandwidth: Option<Bandwidth>,
}

/// Bytes per second, as nccl-tests define them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bandwidth {
    pub algorithm: f64,
    pub bus: f64,
}

/// Whether a layer is a module's, or a part of it such as `nccl-kernel` of `nccl`.
pub fn is_of(module: &str, layer: &str) -> bool {
    layer.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

impl Calls {
    fn of(comm: i64, route: &Route, bucket: i64) -> Calls {
        Calls {
            comm,
            layer: route.layer.clone(),
            function: route.function.clone(),
            protocol: route.protocol.clone(),
            bucket,
            arrives: route.arrives,
            ranks: BTreeMap::new(),
            total: Sums::default(),
            performed: 0,
            device: None,
            bandwidth: None,
        }
    }

    /// Of what so many bytes are: those that were sent, and those that came.
    pub fn sent_and_received(&self, bytes: u64) -> (u64, u64) {
        if self.arrives { (0, bytes) } else { (bytes, 0) }
    }

    /// Ranks that called; nothing where the profile holds sums over all of them.
    pub fn callers(&self) -> Option<usize> {
        (!self.ranks.contains_key(&ALL_RANKS)).then_some(self.ranks.len())
    }

    /// Time inside of calls: of the rank that spent most, and of the one that spent least. Nothing where the layer tells no time.
    pub fn extremes_ns(&self) -> Option<(i64, i64)> {
        let times = || self.ranks.values().map(|sums| sums.time_ns);
        let is_told = self.total.later > 0 && self.callers().is_some();
        is_told.then(|| times().max().zip(times().min())).flatten()
    }

    fn finish(&mut self, comm: &Communicator, held: &HashMap<i64, i64>, are_all_ranks: bool) {
        let function = ccl::find(&self.function);
        self.performed = match function {
            // A process may make the call for several ranks.
            Some(function) if function.is_collective() => {
                let of = |(rank, sums): (&i64, &Sums)| {
                    let ranks = held.get(rank).copied().unwrap_or(1).max(1) as u64;
                    sums.calls.max(0).unsigned_abs().div_ceil(ranks) as i64
                };
                self.ranks.iter().map(of).max().unwrap_or_default()
            }
            _ => self.total.calls,
        };
        self.bandwidth = function.and_then(|function| {
            let ranks = comm.size.filter(|size| *size > 0)? as f64;
            let mean_ns = self.device.as_ref()?.mean_ns().filter(|ns| *ns > 0)? as f64;
            let of_calls = self.total.bytes as f64 / self.total.calls.max(1) as f64;
            let held = match function.holds {
                Holds::Block | Holds::Blocks if function.is_collective() => of_calls * ranks,
                // Others than the root hold nothing: of some ranks nobody knows whether it is among them.
                Holds::BlockOfRoot | Holds::BlocksOfRoot if are_all_ranks => {
                    self.total.bytes as f64 / self.performed.max(1) as f64
                }
                Holds::Own if function.is_point_to_point() => of_calls,
                _ => return None,
            };
            let algorithm = function.measured_bytes(held, ranks) / (mean_ns / 1e9);
            (held > 0.0).then(|| Bandwidth { algorithm, bus: algorithm * function.bus_factor(ranks) })
        });
    }
}

type Key = (i64, String, String, i64, String);

/// All that the filter leaves, by communicator, function, size and protocol. Nothing with phases or times, which layers do not tell.
pub fn calls(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<Vec<Calls>, Error> {
    let module = |comm: i64| catalog.communicators.get(&comm).and_then(|comm| comm.layer.as_deref());
    let modules: BTreeSet<&str> = catalog.communicators.values().filter_map(|comm| comm.layer.as_deref()).collect();
    let is_finer = filter.phases.is_some() || filter.time.is_some();
    if modules.is_empty() || is_finer {
        return Ok(Vec::new());
    }
    let is_meant = |route: &Route| route.role != Role::Wire && modules.iter().any(|module| is_of(module, &route.layer));
    let is_among = |route: i64| filter.routes.as_ref().is_none_or(|routes| routes.contains(&route));
    let routes = catalog.routes.iter().filter(|(number, route)| is_meant(route) && is_among(**number));
    let filter = Filter { routes: Some(routes.map(|(number, _)| *number).collect()), ..filter.clone() };
    let mut found: BTreeMap<Key, Calls> = BTreeMap::new();
    let mut devices: HashMap<Key, Sums> = HashMap::new();
    each(profile, &filter, None, |row| {
        let (Some(comm), Some(route)) = (row.layer_comm, catalog.routes.get(&row.route)) else { return Ok(()) };
        if !module(comm).is_some_and(|module| is_of(module, &route.layer)) {
            return Ok(());
        }
        if route.role == Role::Device {
            let key = (comm, route.function.clone(), String::new(), row.bucket, route.protocol.clone());
            devices.entry(key).or_default().add(&row.sums);
            return Ok(());
        }
        let key = (comm, route.function.clone(), route.layer.clone(), row.bucket, route.protocol.clone());
        let calls = found.entry(key).or_insert_with(|| Calls::of(comm, route, row.bucket));
        calls.ranks.entry(row.rank.rank().unwrap_or(ALL_RANKS)).or_default().add(&row.sums);
        calls.total.add(&row.sums);
        Ok(())
    })?;
    // What a device did may be told without the way that was chosen: then it is known whose that is if there is one way only.
    let mut ways: HashMap<(i64, String, i64), usize> = HashMap::new();
    for calls in found.values() {
        *ways.entry((calls.comm, calls.function.clone(), calls.bucket)).or_default() += 1;
    }
    let mut held: HashMap<i64, HashMap<i64, i64>> = HashMap::new();
    let mut all: Vec<Calls> = found.into_values().collect();
    for calls in &mut all {
        let Some(comm) = catalog.communicators.get(&calls.comm) else { continue };
        let held = held.entry(calls.comm).or_insert_with(|| {
            let mut held = HashMap::new();
            holders(comm, catalog).into_iter().flatten().for_each(|rank| *held.entry(rank).or_default() += 1);
            held
        });
        let key =
            |protocol: &str| (calls.comm, calls.function.clone(), String::new(), calls.bucket, protocol.to_owned());
        let is_only = ways[&(calls.comm, calls.function.clone(), calls.bucket)] == 1;
        let untold = || devices.get(&key("")).filter(|_| is_only);
        calls.device = devices.get(&key(&calls.protocol)).or_else(untold).copied();
        calls.finish(comm, held, filter.ranks.is_none());
    }
    Ok(all)
}

/// The communicator of MPI with the same members, if there is one: the one that it was made from, else the first by name.
pub fn same_ranks<'a>(comm: &Communicator, catalog: &'a Catalog) -> Option<&'a Communicator> {
    let ranks = comm.ranks.as_deref()?;
    let is_same = |other: &&Communicator| {
        other.layer.is_none() && !other.is_special() && other.remote_size == 0 && other.ranks.as_deref() == Some(ranks)
    };
    let is_parent = |other: &Communicator| comm.parent.as_deref() == Some(&other.name);
    let all = catalog.communicators.values().filter(is_same);
    all.min_by(|a, b| (!is_parent(a), a.name_key()).cmp(&(!is_parent(b), b.name_key())))
}
