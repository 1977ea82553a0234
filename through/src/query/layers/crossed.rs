//! Functions of layers against the transports that they moved data over.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::query::catalog::Catalog;
use crate::query::filter::Filter;
use crate::query::transfers::{Group, Sums};

/// What one function moved over one transport.
#[derive(Clone, Debug)]
pub struct Crossing {
    pub layer: String,
    pub function: String,
    pub transport: String,
    pub sums: Sums,
    /// Of the layer, which shares are shares of.
    pub total: Sums,
}

/// Layer by layer; functions and transports with most bytes first, or with most calls; and how many functions `top` of each layer left
/// out. Of the filter, ranks were regarded before.
pub fn crossed(
    groups: &[Group],
    catalog: &Catalog,
    filter: &Filter,
    counts: bool,
    top: Option<usize>,
) -> (Vec<Crossing>, usize) {
    let mut totals: BTreeMap<&str, Sums> = BTreeMap::new();
    let mut functions: BTreeMap<(&str, &str), Sums> = BTreeMap::new();
    let mut cells: BTreeMap<[&str; 3], Sums> = BTreeMap::new();
    for group in groups {
        let Some(route) = catalog.routes.get(&group.route) else { continue };
        totals.entry(&route.layer).or_default().add(&group.sums);
        if filter.has_group(group) {
            functions.entry((&route.layer, &route.function)).or_default().add(&group.sums);
            cells.entry([&route.layer, &route.function, &route.transport]).or_default().add(&group.sums);
        }
    }
    let weight = |sums: &Sums| if counts { sums.calls.max(0) as u64 } else { sums.bytes };
    let mut cells: Vec<([&str; 3], Sums)> = cells.into_iter().collect();
    cells.sort_by_key(|([layer, function, transport], sums)| {
        (*layer, Reverse(weight(&functions[&(*layer, *function)])), *function, Reverse(weight(sums)), *transport)
    });
    let crossing = |([layer, function, transport], sums): ([&str; 3], Sums)| Crossing {
        layer: layer.to_owned(),
        function: function.to_owned(),
        transport: transport.to_owned(),
        sums,
        total: totals[layer],
    };
    let all: Vec<Crossing> = cells.into_iter().map(crossing).collect();
    let (mut kept, mut hidden) = (Vec::new(), 0);
    for layer in all.chunk_by(|a, b| a.layer == b.layer) {
        let functions: Vec<&[Crossing]> = layer.chunk_by(|a, b| a.function == b.function).collect();
        let shown = top.filter(|top| *top > 0).unwrap_or(usize::MAX).min(functions.len());
        hidden += functions.len() - shown;
        kept.extend(functions[..shown].concat());
    }
    (kept, hidden)
}
