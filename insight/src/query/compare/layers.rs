//! What layers below MPI did in the runs of two programs: each protocol and transport side by side, and which took the place of which.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use commsee::shard::Role;
use through_core::query::Error;
use through_core::query::catalog::Catalog;
use through_core::query::filter::Filter;
use through_core::query::open::Profile;
use through_core::query::transfers::{Group, groups};

use super::run::Run;

/// How a layer moved data of one size, over all ranks, in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    pub layer: String,
    pub protocol: String,
    pub transport: String,
    pub role: Role,
    /// Bytes of one operation: more than the first, and at most the second.
    pub bucket: (u64, Option<u64>),
    pub calls: i64,
    pub bytes: u64,
}

/// Without what arrived, which is the other end of what was sent.
pub fn read(profile: &Profile, catalog: &Catalog) -> Result<Vec<Moved>, Error> {
    let moved = |group: Group| {
        let route = catalog.routes.get(&group.route).filter(|route| !route.arrives)?;
        let bucket = catalog.buckets.get(&group.bucket)?;
        Some(Moved {
            layer: route.layer.clone(),
            protocol: route.protocol.clone(),
            transport: route.transport.clone(),
            role: route.role,
            bucket: (bucket.lo, bucket.hi),
            calls: group.sums.calls,
            bytes: group.sums.bytes,
        })
    };
    Ok(groups(profile, &Filter::default())?.into_iter().filter_map(moved).collect())
}

/// A protocol of a layer over a transport: of each side the median of its runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside {
    pub layer: String,
    pub protocol: String,
    pub transport: String,
    pub calls: [i64; 2],
    pub bytes: [u64; 2],
    /// Runs of one side differ.
    pub vary: bool,
}

impl Beside {
    pub fn has_changed(&self) -> bool {
        self.calls[0] != self.calls[1] || self.bytes[0] != self.bytes[1]
    }
}

/// What took the place of what.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    pub layer: String,
    /// Of messages of such sizes most bytes went by these protocols; or nothing: these are the transports that one side has alone.
    pub bucket: Option<(u64, Option<u64>)>,
    pub sides: [String; 2],
}

#[derive(Clone, Debug, Default)]
pub struct Layers {
    /// The largest change of bytes first.
    pub rows: Vec<Beside>,
    pub turns: Vec<Turn>,
    /// The side, of which alone layers were recorded.
    pub only: Option<usize>,
}

impl Layers {
    /// Nothing where a side has none: it may have run without hook modules.
    pub fn of(sides: [&[Run]; 2]) -> Layers {
        let is_there = sides.map(|runs| runs.iter().any(|run| !run.moved.is_empty()));
        match is_there {
            [true, true] => Layers { rows: beside(sides), turns: turns(sides), only: None },
            [false, false] => Layers::default(),
            [is_a, _] => Layers { only: Some(usize::from(!is_a)), ..Layers::default() },
        }
    }
}

fn beside(sides: [&[Run]; 2]) -> Vec<Beside> {
    let of_run = |run: &Run| {
        let mut sums: BTreeMap<(String, String, String), (i64, u64)> = BTreeMap::new();
        for moved in &run.moved {
            let key = (moved.layer.clone(), moved.protocol.clone(), moved.transport.clone());
            add(sums.entry(key).or_default(), moved);
        }
        sums
    };
    let sums = sides.map(|runs| runs.iter().map(of_run).collect::<Vec<_>>());
    let keys: BTreeSet<_> = sums.iter().flatten().flat_map(BTreeMap::keys).collect();
    let row = |key: &(String, String, String)| {
        let of = |side: &Vec<BTreeMap<_, (i64, u64)>>| -> Vec<(i64, u64)> {
            side.iter().map(|sums| sums.get(key).copied().unwrap_or_default()).collect()
        };
        let [a, b] = [of(&sums[0]), of(&sums[1])];
        let (layer, protocol, transport) = key.clone();
        let calls = [&a, &b].map(|side| middle(side.iter().map(|sum| sum.0)));
        let bytes = [&a, &b].map(|side| middle(side.iter().map(|sum| sum.1)));
        let vary = [&a, &b].iter().any(|side| side.iter().any(|sum| *sum != side[0]));
        Beside { layer, protocol, transport, calls, bytes, vary }
    };
    let mut rows: Vec<Beside> = keys.into_iter().map(row).collect();
    let change = |row: &Beside| (row.bytes[0].abs_diff(row.bytes[1]), row.calls[0].abs_diff(row.calls[1]));
    rows.sort_by_key(|row| Reverse(change(row)));
    rows
}

fn add(sum: &mut (i64, u64), moved: &Moved) {
    *sum = (sum.0.saturating_add(moved.calls), sum.1.saturating_add(moved.bytes));
}

/// The middle one; of an even number the lower of two.
fn middle<T: Ord + Copy + Default>(values: impl Iterator<Item = T>) -> T {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

fn turns(sides: [&[Run]; 2]) -> Vec<Turn> {
    let protocols = sides.map(main_protocols);
    let mut turns: Vec<Turn> = Vec::new();
    for ((layer, lo, hi), before) in &protocols[0] {
        let Some(after) = protocols[1].get(&(*layer, *lo, *hi)).filter(|after| *after != before) else { continue };
        let sides = [before.to_string(), after.to_string()];
        match turns.last_mut().filter(|last| last.layer == *layer && last.sides == sides) {
            // Sizes that follow one another are one line.
            Some(Turn { bucket: Some((_, end)), .. }) if *end == Some(*lo) => *end = *hi,
            _ => turns.push(Turn { layer: (*layer).to_owned(), bucket: Some((*lo, *hi)), sides }),
        }
    }
    let transports = sides.map(transports);
    let none = BTreeSet::new();
    for layer in transports.iter().flat_map(BTreeMap::keys).collect::<BTreeSet<_>>() {
        let [a, b] = [0, 1].map(|side| transports[side].get(layer).unwrap_or(&none));
        let sides = [a - b, b - a].map(|names| names.into_iter().collect::<Vec<_>>().join(", "));
        if sides.iter().all(|names| !names.is_empty()) {
            turns.push(Turn { layer: (*layer).to_owned(), bucket: None, sides });
        }
    }
    turns
}

/// A layer, and the sizes of its messages: more than the first, and at most the second.
type Sizes<'a> = (&'a str, u64, Option<u64>);
/// Calls and bytes by protocol.
type Protocols<'a> = BTreeMap<&'a str, (i64, u64)>;

/// By layer of messages and size: how most bytes were sent in all runs of a side; of messages without any, most of these.
fn main_protocols(runs: &[Run]) -> BTreeMap<Sizes<'_>, &str> {
    let mut sums: BTreeMap<Sizes, Protocols> = BTreeMap::new();
    for moved in runs.iter().flat_map(|run| &run.moved).filter(|moved| moved.role == Role::Message) {
        let key = (moved.layer.as_str(), moved.bucket.0, moved.bucket.1);
        add(sums.entry(key).or_default().entry(&moved.protocol).or_default(), moved);
    }
    let mut most = BTreeMap::new();
    for (key, sums) in sums {
        let heaviest = sums.into_iter().max_by_key(|(_, (calls, bytes))| (*bytes, *calls));
        most.extend(heaviest.map(|(name, _)| (key, name)));
    }
    most
}

/// By layer that is no layer of messages: the transports over which it moved anything.
fn transports(runs: &[Run]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let all = runs.iter().flat_map(|run| &run.moved);
    for moved in all.filter(|moved| moved.role != Role::Message && !moved.transport.is_empty() && moved.calls > 0) {
        found.entry(&moved.layer).or_default().insert(&moved.transport);
    }
    found
}
