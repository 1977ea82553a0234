//! Between whom layers below MPI moved data, by route: what matrices and graphs of layers are drawn from.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use through_core::query::Error;
use through_core::query::catalog::Catalog;
use through_core::query::copies::{self, Memory};
use through_core::query::filter::Filter;
use through_core::query::flows::each;
use through_core::query::graph::{Used, layers_with_devices};
use through_core::query::hosts::Ends;
use through_core::query::layers::ways::How;
use through_core::query::open::Profile;
use through_core::query::transfers::{End, REMOTE};
use through_core::views::left_out;

use super::cells::part_of;
use super::layers::places;
use super::lists::{Lists, text};
use crate::pack::Columns;

/// Pairs of ranks by route, communicator and operation.
const MOST_ROWS: usize = 60_000;

/// Route, source and destination; communicator and operation; and how it is known.
type Key = (i64, i64, i64, usize, usize, How);

/// What is at the ends of routes beside ranks: the devices by which networks reach the other end, and memories.
pub struct AtEnds<'a> {
    used: Used<'a>,
    catalog: &'a Catalog,
    ends: &'a Ends,
    names: Vec<String>,
    memories: Vec<Memory>,
}

impl<'a> AtEnds<'a> {
    /// `ends` are of memories.
    pub fn read(profile: &Profile, catalog: &'a Catalog, ends: &'a Ends) -> Result<AtEnds<'a>, Error> {
        let used = Used::read(profile, catalog, ends)?;
        Ok(AtEnds { used, catalog, ends, names: Vec::new(), memories: Vec::new() })
    }

    /// The places of the memories that a route is between; -1: it is between ranks.
    pub fn memories_of(&mut self, route: i64, src: i64, dst: i64) -> [i64; 2] {
        let known = self.catalog.routes.get(&route);
        let found = known.and_then(|route| self.ends.memories_of(route, End::of_rank(src), End::of_rank(dst)));
        found.map_or([-1; 2], |ends| {
            ends.map(|memory| {
                let place = self.memories.iter().position(|known| *known == memory);
                place.unwrap_or_else(|| {
                    self.memories.push(memory);
                    self.memories.len() - 1
                }) as i64
            })
        })
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

    /// Of each memory its host and the GPU, by which places refer to them.
    pub fn memories(&self) -> Vec<[Option<String>; 2]> {
        let words = |memory: &Memory| [Some(text(&memory.host)), memory.gpu.as_deref().map(text)];
        self.memories.iter().map(words).collect()
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
    let left = each(profile, catalog, &Filter::default(), true, |sent| {
        if catalog.routes.get(&sent.route).is_none_or(|route| route.arrives) {
            return;
        }
        let key = (sent.route, number(sent.from), number(sent.to), lists.comm(sent.comm), lists.op(sent.op), sent.how);
        add(&mut sums, key, (sent.calls, sent.bytes));
    })?;
    let of_calls = sums.len() <= MOST_ROWS;
    if !of_calls {
        let by_call = std::mem::take(&mut sums);
        by_call
            .into_iter()
            .for_each(|((route, src, dst, _, _, how), sum)| add(&mut sums, (route, src, dst, 0, 0, how), sum));
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
    let ends = Ends::of_memories(profile, catalog)?;
    let mut at_ends = AtEnds::read(profile, catalog, &ends)?;
    let places = places(catalog);
    let mut columns = Columns::default();
    columns.add_differences("route", rows.iter().map(|((route, ..), _)| places[route] as i64));
    columns.add_differences("src", rows.iter().map(|((_, src, ..), _)| *src));
    columns.add_differences("dst", rows.iter().map(|((_, _, dst, ..), _)| *dst));
    columns.add_differences("far", rows.iter().map(|((route, _, dst, ..), _)| at_ends.place(*route, *dst)));
    let memories: Vec<[i64; 2]> =
        rows.iter().map(|((route, src, dst, ..), _)| at_ends.memories_of(*route, *src, *dst)).collect();
    columns.add_differences("from_memory", memories.iter().map(|[from, _]| *from));
    columns.add_differences("to_memory", memories.iter().map(|[_, to]| *to));
    columns.add_differences("comm", rows.iter().map(|((_, _, _, comm, ..), _)| *comm as i64));
    columns.add_differences("op", rows.iter().map(|((.., op, _), _)| *op as i64));
    columns.add_differences("modelled", rows.iter().map(|((.., how), _)| i64::from(*how == How::Modelled)));
    columns.add("calls", rows.iter().map(|(_, (calls, _))| *calls));
    columns.add("bytes", rows.iter().map(|(_, (_, bytes))| (*bytes).min(i64::MAX as u64) as i64));
    Ok((!rows.is_empty()).then(|| {
        let device_layers: Vec<String> = layers_with_devices(catalog).iter().map(|layer| text(layer)).collect();
        let is_between = |key: &Key| catalog.routes.get(&key.0).is_some_and(|route| copies::ends(route).is_none());
        let between_ranks = rows.iter().any(|(key, _)| is_between(key));
        json!({ "of_calls": of_calls, "between_ranks": between_ranks, "memories": at_ends.memories(), "far": at_ends.names(), "device_layers": device_layers, "left": left_out(&left), "pairs": columns.finish() })
    }))
}

fn add(sums: &mut BTreeMap<Key, (i64, u64)>, key: Key, (calls, bytes): (i64, u64)) {
    let sum = sums.entry(key).or_default();
    *sum = (sum.0.saturating_add(calls), sum.1.saturating_add(bytes));
}
