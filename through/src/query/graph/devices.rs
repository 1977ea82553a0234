//! The devices that data went over: from the process through a network's device on its host and one on the peer's host to
//! the peer; or through the memory, or the GPU, of one host. Copies of GPUs have no process: they go from memory to memory.

use std::collections::{BTreeMap, BTreeSet};

use super::{Graph, Sketch};
use crate::query::Error;
use crate::query::catalog::Catalog;
use crate::query::filter::Filter;
use crate::query::flows::Flow;
use crate::query::hosts::Ends;
use crate::query::layers::known::WIRE;
use crate::query::open::Profile;
use crate::query::routes::Route;
use crate::query::transfers::End;

/// The layer that knows devices: the one whose bytes go over the wire, else all that name any.
pub fn layers_with_devices(catalog: &Catalog) -> Vec<String> {
    let mut layers: Vec<String> = catalog
        .routes
        .values()
        .filter(|route| !route.arrives && !route.device.is_empty())
        .map(|route| route.layer.clone())
        .collect();
    layers.sort();
    layers.dedup();
    match layers.iter().any(|layer| layer == WIRE) || layers.is_empty() {
        true => vec![WIRE.to_owned()],
        false => layers,
    }
}

/// What is written for a peer's device that nothing tells.
const UNKNOWN_DEVICE: &str = "?";

/// Flows in no order. Which devices peers use is told by all that they did, not only by what is drawn.
pub fn devices(flows: &[Flow], catalog: &Catalog, used: &Used, ends: &Ends) -> Graph {
    let mut sketch = Sketch::new(ends);
    let mut wanted: Vec<&Flow> = flows.iter().collect();
    wanted.sort_by_key(|flow| (flow.from, flow.to, flow.route));
    for end in wanted.iter().flat_map(|flow| [flow.from, flow.to]).collect::<BTreeSet<_>>() {
        sketch.process(end);
    }
    for flow in wanted {
        let route = flow.route.and_then(|route| catalog.routes.get(&route)).cloned().unwrap_or_default();
        let mut stations = vec![sketch.process(flow.from)];
        stations.extend(between(flow, &route, used, &mut sketch));
        stations.push(sketch.process(flow.to));
        for hop in stations.windows(2) {
            sketch.edge(hop[0], hop[1], &route.transport, flow);
        }
    }
    sketch.finish()
}

/// The devices on the way.
fn between(flow: &Flow, route: &Route, used: &Used, sketch: &mut Sketch) -> Vec<usize> {
    // Copies go straight from memory to memory.
    if matches!(flow.from, End::Memory(_)) {
        return Vec::new();
    }
    let recorder = flow.recorder();
    let peer = if flow.arrives { flow.from } else { flow.to };
    let host = sketch.host(recorder);
    match route.kind.as_str() {
        "network" => {
            let own = device(sketch, host, "network", &route.device);
            let theirs = match peer {
                End::Rank(_) => {
                    let name = used.device_of(peer, sketch.host(peer), route);
                    vec![device(sketch, sketch.host(peer), "network", &name)]
                }
                End::Memory(_) | End::Unknown | End::Remote => Vec::new(),
            };
            match flow.arrives {
                true => theirs.into_iter().chain([own]).collect(),
                false => [own].into_iter().chain(theirs).collect(),
            }
        }
        "self" => Vec::new(),
        // Transports call it by names of their own, but a host has one memory.
        "memory" => vec![device(sketch, host, "memory", "memory")],
        _ if route.device.is_empty() => Vec::new(),
        kind => vec![device(sketch, host, kind, &route.device)],
    }
}

fn device(sketch: &mut Sketch, host: &str, kind: &str, name: &str) -> usize {
    sketch.node(format!("{kind} {name} of {host}"), kind, host, name)
}

/// Which devices of a network each process, and each host, used with a transport.
pub struct Used<'a> {
    by_rank: BTreeMap<(End, &'a str), BTreeSet<&'a str>>,
    by_host: BTreeMap<(&'a str, &'a str), BTreeSet<&'a str>>,
}

impl<'a> Used<'a> {
    /// By the whole profile.
    pub fn read(profile: &Profile, catalog: &'a Catalog, ends: &'a Ends) -> Result<Used<'a>, Error> {
        let mut used = Used { by_rank: BTreeMap::new(), by_host: BTreeMap::new() };
        let routes =
            catalog.routes.iter().filter(|(_, route)| route.kind == "network").map(|(number, _)| *number).collect();
        let (condition, values) = Filter { routes: Some(routes), ..Filter::default() }.transfer_condition();
        // The table does not lie by ranks: found out here, where SQLite would sort.
        profile.query::<(), ()>(&format!("SELECT x.rank, x.way FROM transfer x WHERE {condition}"), values, |row| {
            let rank = End::of_rank(row.get(0)?);
            if let (Some(_), Some(route)) = (rank.rank(), catalog.routes.get(&row.get(1)?)) {
                used.by_rank.entry((rank, &route.transport)).or_default().insert(&route.device);
                used.by_host.entry((ends.host(rank), &route.transport)).or_default().insert(&route.device);
            }
            Ok(())
        })?;
        Ok(used)
    }

    /// The one device that the peer used itself; else the one of the same name on its host, else the only one there.
    pub fn device_of(&self, peer: End, host: &str, route: &Route) -> String {
        let only = |devices: Option<&BTreeSet<&'a str>>| {
            devices.filter(|devices| devices.len() == 1).and_then(|devices| devices.first().copied())
        };
        let on_host = self.by_host.get(&(host, route.transport.as_str()));
        let same = || on_host.and_then(|devices| devices.get(route.device.as_str()).copied());
        let own = only(self.by_rank.get(&(peer, route.transport.as_str())));
        own.or_else(same).or_else(|| only(on_host)).unwrap_or(UNKNOWN_DEVICE).to_owned()
    }
}
