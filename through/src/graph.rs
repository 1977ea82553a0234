//! `through graph [PROFILE]`: who talked to whom, over which devices, as a drawing.

use crate::cli::{Drawing, Graph, GraphFormat, SelectWays};
use crate::error::Error;
use crate::matrix::asked;
use crate::output;
use crate::query::catalog::Catalog;
use crate::query::graph::{devices, processes, users};
use crate::query::hosts::Places;
use crate::query::layers::WIRE;
use crate::query::overview::overview;
use crate::render::graph::{Caption, dot, json};
use crate::render::header::Head;
use crate::show::opened;

/// Whether anything was there to draw.
pub fn graph(graph: &Graph) -> Result<bool, Error> {
    let profile = opened(&graph.input)?;
    let mut ways = SelectWays { layer: graph.ways.layer.clone(), ..SelectWays::default() };
    if graph.of == Drawing::Devices && ways.layer.is_empty() {
        ways.layer = with_devices(&Catalog::read(&profile)?);
    }
    ways.transport.clone_from(&graph.ways.transport);
    ways.device.clone_from(&graph.ways.device);
    ways.protocol.clone_from(&graph.ways.protocol);
    let Some(asked) = asked(profile, &graph.calls, &ways)? else { return Ok(false) };
    let ends = Places::of(&asked.catalog, graph.of == Drawing::Hosts);
    let flows = ends.between(asked.flows()?);
    let mut drawn = match graph.of {
        Drawing::Processes | Drawing::Hosts => processes(&flows, &asked.catalog, &ends),
        Drawing::Devices => devices(&flows, &asked.catalog, &users(&asked.profile, &asked.catalog)?, &ends),
    };
    let is_empty = drawn.edges.is_empty();
    asked.say_what_lacks(is_empty)?;
    drawn.shorten(graph.top);
    if is_empty && graph.format == GraphFormat::Dot {
        return Ok(false);
    }
    let overview = overview(&asked.catalog);
    let head = Head {
        path: &asked.profile.path,
        catalog: &asked.catalog,
        overview: &overview,
        filter: &asked.filter,
        layers: asked.layers.as_ref(),
    };
    let caption = Caption { head: &head, layer: &asked.layer(&ways) };
    output::write(graph.output.as_deref(), |_, out| match graph.format {
        GraphFormat::Dot => dot::dot(&drawn, &caption, out),
        GraphFormat::Json => json(&drawn, &caption, out),
    })?;
    Ok(!is_empty)
}

/// The layer that knows devices: the one whose bytes go over the wire, else all that name any.
fn with_devices(catalog: &Catalog) -> Vec<String> {
    let mut layers: Vec<String> = catalog
        .ways
        .values()
        .filter(|way| !way.arrives && !way.device.is_empty())
        .map(|way| way.layer.clone())
        .collect();
    layers.sort();
    layers.dedup();
    match layers.iter().any(|layer| layer == WIRE) || layers.is_empty() {
        true => vec![WIRE.to_owned()],
        false => layers,
    }
}
