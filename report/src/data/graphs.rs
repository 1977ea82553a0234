//! The devices that data went over.

use serde_json::{Value, json};
use through_core::query::Error;
use through_core::query::catalog::{Catalog, Detail};
use through_core::query::filter::Filter;
use through_core::query::flows::{Traffic, flows};
use through_core::query::graph;
use through_core::query::hosts::Ends;
use through_core::query::layers::known::WIRE;
use through_core::query::open::Profile;

use super::cells::part_of;
use super::lists::text;
use crate::pack::list;

/// More ranks are drawn as their hosts.
const MOST_RANKS: usize = 32;
const MOST_EDGES: usize = 300;

pub fn devices(profile: &Profile, catalog: &Catalog, caps: &mut Vec<String>) -> Result<Option<Value>, Error> {
    let named = || catalog.routes.iter().filter(|(_, route)| !route.arrives && !route.device.is_empty());
    if named().next().is_none() || catalog.detail == Detail::Comm {
        return Ok(None);
    }
    let has_wire = named().any(|(_, route)| route.layer == WIRE);
    let is_meant = |layer: &str| !has_wire || layer == WIRE;
    let routes = catalog.routes.iter().filter(|(_, route)| !route.arrives && is_meant(&route.layer));
    let filter = Filter { routes: Some(routes.map(|(number, _)| *number).collect()), ..Filter::default() };
    let mut ends = Ends::of(catalog, catalog.processes.len() > MOST_RANKS);
    let (flows, _) = flows(profile, catalog, &filter, Traffic::Layers { is_modelled: false })?;
    let flows = ends.between(flows, catalog);
    let mut graph = graph::devices(&flows, catalog, &graph::users(profile, catalog)?, &ends);
    let all = graph.edges.len();
    graph.shorten(Some(MOST_EDGES));
    if graph.hidden > 0 {
        caps.push(format!("The graph of devices has only the heaviest edges: {}.", part_of(MOST_EDGES, all, "edge")));
    }
    let mut is_used = vec![false; graph.nodes.len()];
    graph.edges.iter().for_each(|edge| (is_used[edge.from], is_used[edge.to]) = (true, true));
    let mut places = vec![0; graph.nodes.len()];
    let mut nodes = Vec::new();
    for (at, node) in graph.nodes.iter().enumerate().filter(|(at, _)| is_used[*at]) {
        places[at] = nodes.len();
        nodes.push(json!({ "kind": text(&node.kind), "host": text(&node.host), "label": text(&node.label) }));
    }
    let edges = graph
        .edges
        .iter()
        .map(|edge| json!([places[edge.from], places[edge.to], text(&edge.transport), edge.calls, edge.bytes as f64]));
    let edges: Value = edges.collect();
    Ok((!graph.edges.is_empty()).then(|| json!({ "nodes": list(Value::Array(nodes)), "edges": list(edges) })))
}
