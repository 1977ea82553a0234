//! Between whom layers below MPI moved data, by route: what matrices and graphs of layers are drawn from.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use through_core::query::Error;
use through_core::query::catalog::Catalog;
use through_core::query::copies;
use through_core::query::filter::Filter;
use through_core::query::flows::each;
use through_core::query::graph::{Used, layers_with_devices};
use through_core::query::hosts::Ends;
use through_core::query::open::Profile;
use through_core::query::transfers::{End, REMOTE};

use super::cells::part_of;
use super::layers::places;
use super::lists::{Lists, text};
use crate::pack::Columns;

/// Pairs of ranks by route, communicator and operation.
const MOST_ROWS: usize = 60_000;

/// Route, source and destination; and communicator and operation.
type Key = (i64, i64, i64, usize, usize);

/// Devices by which networks reach the other end, by name.
pub struct Far<'a> {
    used: Used<'a>,
    catalog: &'a Catalog,
    ends: &'a Ends,
    names: Vec<String>,
}

impl<'a> Far<'a> {
    pub fn read(profile: &Profile, catalog: &'a Catalog, ends: &'a Ends) -> Result<Far<'a>, Error> {
        Ok(Far { used: Used::read(profile, catalog, ends)?, catalog, ends, names: Vec::new() })
    }

    /// The place of its name; -1: the route has no other device there.
    pub fn place(&mut self, route: i64, peer: i64) -> i64 {
        let known = self.catalog.routes.get(&route).filter(|route| route.kind == "network" && peer >= 0);
        known.map_or(-1, |route| {
            let peer = End::Rank(peer);
            let name = text(&self.used.device_of(peer, self.ends.host(peer), route));
            let place = self.names.iter().position(|known| *known == name);
            place.unwrap_or_else(|| {
                self.names.push(name);
                self.names.len() - 1
            }) as i64
        })
    }

    pub fn names(self) -> Vec<String> {
        self.names
    }
}

/// A rank, or -1: not known, or -2: of another world.
pub fn number(end: End) -> i64 {
    match end {
        End::Rank(rank) => rank,
        End::Memory(_) | End::Unknown => -1,
        End::Remote => REMOTE,
    }
}

/// Whether ranks moved anything to ranks: copies of GPUs are none.
pub fn are_between_ranks(flows: Option<&Value>) -> bool {
    flows.is_some_and(|flows| flows["between_ranks"] == true)
}

/// What went from rank to rank. Copies of GPUs are from a rank to itself. What arrived is the other end of what was sent.
pub fn flows(
    profile: &Profile,
    catalog: &Catalog,
    lists: &Lists,
    caps: &mut Vec<String>,
) -> Result<Option<Value>, Error> {
    let mut sums: BTreeMap<Key, (i64, u64)> = BTreeMap::new();
    each(profile, catalog, &Filter::default(), false, |sent| {
        if catalog.routes.get(&sent.route).is_none_or(|route| route.arrives) {
            return;
        }
        let key = (sent.route, number(sent.from), number(sent.to), lists.comm(sent.comm), lists.op(sent.op));
        add(&mut sums, key, (sent.calls, sent.bytes));
    })?;
    let of_calls = sums.len() <= MOST_ROWS;
    if !of_calls {
        let by_call = std::mem::take(&mut sums);
        by_call.into_iter().for_each(|((route, src, dst, ..), sum)| add(&mut sums, (route, src, dst, 0, 0), sum));
    }
    let mut rows: Vec<(Key, (i64, u64))> = sums.into_iter().collect();
    if rows.len() > MOST_ROWS {
        rows.sort_by_key(|(_, (_, bytes))| std::cmp::Reverse(*bytes));
        caps.push(format!(
            "The page has only the heaviest pairs of the matrices of layers: {}.",
            part_of(MOST_ROWS, rows.len(), "pair")
        ));
        rows.truncate(MOST_ROWS);
        rows.sort_by_key(|(key, _)| *key);
    }
    let ends = Ends::of(catalog, false);
    let mut far = Far::read(profile, catalog, &ends)?;
    let places = places(catalog);
    let mut columns = Columns::default();
    columns.add_differences("route", rows.iter().map(|((route, ..), _)| places[route] as i64));
    columns.add_differences("src", rows.iter().map(|((_, src, ..), _)| *src));
    columns.add_differences("dst", rows.iter().map(|((_, _, dst, ..), _)| *dst));
    columns.add_differences("far", rows.iter().map(|((route, _, dst, ..), _)| far.place(*route, *dst)));
    columns.add_differences("comm", rows.iter().map(|((.., comm, _), _)| *comm as i64));
    columns.add_differences("op", rows.iter().map(|((.., op), _)| *op as i64));
    columns.add("calls", rows.iter().map(|(_, (calls, _))| *calls));
    columns.add("bytes", rows.iter().map(|(_, (_, bytes))| (*bytes).min(i64::MAX as u64) as i64));
    Ok((!rows.is_empty()).then(|| {
        let device_layers: Vec<String> = layers_with_devices(catalog).iter().map(|layer| text(layer)).collect();
        let is_between = |key: &Key| catalog.routes.get(&key.0).is_some_and(|route| copies::ends(route).is_none());
        let between_ranks = rows.iter().any(|(key, _)| is_between(key));
        json!({ "of_calls": of_calls, "between_ranks": between_ranks, "far": far.names(), "device_layers": device_layers, "pairs": columns.finish() })
    }))
}

fn add(sums: &mut BTreeMap<Key, (i64, u64)>, key: Key, (calls, bytes): (i64, u64)) {
    let sum = sums.entry(key).or_default();
    *sum = (sum.0.saturating_add(calls), sum.1.saturating_add(bytes));
}
