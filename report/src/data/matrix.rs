//! Messages between ranks: exact where they are few, else rounded to levels, a byte for each pair of ranks.

use std::collections::BTreeSet;

use insight::query::patterns::{Pattern, patterns};
use insight::views::patterns::described;
use serde_json::{Value, json};
use through_core::query::Error;
use through_core::query::catalog::{Catalog, Detail};
use through_core::query::edges::{Edge, counts, each_edge};
use through_core::query::filter::Filter;
use through_core::query::open::Profile;

use super::lists::Lists;
use crate::pack::{self, Columns, list};

/// Rows (communicator, operation, source, destination) that are told exactly. Of the others the densest communicators are rounded.
const MOST_EDGES: usize = 60_000;
/// Of more edges no patterns are looked for, which takes them all into memory.
const MOST_JUDGED: usize = 4_000_000;
/// Communicators with a pattern, the heaviest first.
const MOST_PATTERNS: usize = 500;
/// Rows and columns of a rounded matrix.
const MOST_SIDE: i64 = 1024;
/// Five bits and four: a dense matrix of a thousand ranks stays below two megabytes.
const BYTES_LEVELS: u8 = 32;
const CALLS_LEVELS: u8 = 16;

/// Nothing: no messages were recorded.
pub fn matrix(
    profile: &Profile,
    catalog: &Catalog,
    lists: &Lists,
    caps: &mut Vec<String>,
) -> Result<Option<Value>, Error> {
    let counts = counts(profile)?;
    if counts.is_empty() {
        return Ok(None);
    }
    let patterns = shapes(profile, catalog, lists, counts.iter().map(|(_, count)| count).sum())?;
    let dense = densest(counts);
    let mut plane = (!dense.is_empty()).then(|| Sums::of(catalog));
    let mut all: Vec<Edge> = Vec::new();
    // Edges come by communicator.
    let mut last = (0, dense.contains(&0));
    each_edge(profile, &Filter::default(), |edge| {
        if last.0 != edge.comm {
            last = (edge.comm, dense.contains(&edge.comm));
        }
        match &mut plane {
            Some(plane) if last.1 => plane.add(&edge),
            _ => all.push(edge),
        }
    })?;
    let plane = plane.map(Sums::rounded);
    all.sort_by_key(|edge| (lists.comm(edge.comm), lists.op(edge.op), edge.src, edge.dst));
    let mut columns = Columns::default();
    columns.add_differences("comm", all.iter().map(|edge| lists.comm(edge.comm) as i64));
    columns.add_differences("op", all.iter().map(|edge| lists.op(edge.op) as i64));
    columns.add_differences("src", all.iter().map(|edge| edge.src));
    columns.add_differences("dst", all.iter().map(|edge| edge.dst));
    columns.add("calls", all.iter().map(|edge| edge.calls));
    columns.add("bytes", all.iter().map(|edge| edge.bytes.min(i64::MAX as u64) as i64));
    let mut matrix = json!({ "edges": columns.finish(), "patterns": list(patterns.into()) });
    if let Some(plane) = plane {
        let comms: Vec<usize> =
            dense.iter().map(|comm| lists.comm(*comm)).collect::<BTreeSet<_>>().into_iter().collect();
        caps.push(format!(
            "Messages on {} are rounded in the matrix, to {BYTES_LEVELS} levels of bytes (within {}) and {CALLS_LEVELS} of \
             calls, over all operations{}: more than {MOST_EDGES} numbers would be in the page. Exact numbers: through traffic --format csv.",
            if comms.len() == 1 { "one communicator".to_owned() } else { format!("{} communicators", comms.len()) },
            plane.bytes.error(),
            if plane.block > 1 { format!(", and added up over blocks of {} ranks", plane.block) } else { String::new() },
        ));
        matrix["dense"] = json!({
            "comms": comms,
            "side": plane.side,
            "block": plane.block,
            "bytes": plane.bytes.json(),
            "calls": plane.calls.json(),
        });
    }
    Ok(Some(matrix))
}

/// As `through traffic --patterns` has them.
fn shapes(profile: &Profile, catalog: &Catalog, lists: &Lists, edges: usize) -> Result<Vec<Value>, Error> {
    if catalog.detail != Detail::Rank || edges > MOST_JUDGED {
        return Ok(Vec::new());
    }
    let shape = |row: &Pattern| {
        // What fits.
        let bytes = row.extra.iter().fold(row.bytes, |bytes, link| bytes.saturating_sub(link.bytes));
        json!({
            "comm": lists.comm(row.comm.id), "pattern": described(row), "bytes": if row.fit.is_some() { bytes } else { row.bytes } as f64, "all": row.bytes as f64,
            "unexpected": if row.fit.is_some() { row.extra.len() } else { 0 }, "missing": row.lacking.len(),
        })
    };
    Ok(patterns(profile, catalog, &Filter::default())?.iter().take(MOST_PATTERNS).map(shape).collect())
}

/// Communicators whose edges leave so few that they are exact: those with most.
fn densest(counts: Vec<(i64, usize)>) -> BTreeSet<i64> {
    let mut counts: Vec<(usize, i64)> = counts.into_iter().map(|(comm, count)| (count, comm)).collect();
    counts.sort_unstable();
    let mut kept = 0usize;
    counts.retain(|(count, _)| {
        kept = kept.saturating_add(*count);
        kept > MOST_EDGES
    });
    counts.into_iter().map(|(_, comm)| comm).collect()
}

struct Plane {
    side: i64,
    block: i64,
    bytes: Levels,
    calls: Levels,
}

/// Calls and bytes between blocks of ranks.
struct Sums {
    ranks: i64,
    side: i64,
    block: i64,
    cells: Vec<(u64, u64)>,
}

impl Sums {
    fn of(catalog: &Catalog) -> Sums {
        let ranks = catalog.processes.last().map_or(0, |process| process.rank).clamp(0, 1 << 31) + 1;
        let block = ranks.div_euclid(MOST_SIDE) + i64::from(ranks % MOST_SIDE > 0);
        let side = (ranks + block - 1) / block;
        Sums { ranks, side, block, cells: vec![(0, 0); (side * side) as usize] }
    }

    fn add(&mut self, edge: &Edge) {
        let is_there = |rank: i64| (0..self.ranks).contains(&rank);
        if is_there(edge.src) && is_there(edge.dst) {
            let (calls, bytes) = &mut self.cells[(edge.src / self.block * self.side + edge.dst / self.block) as usize];
            *calls = calls.saturating_add(edge.calls.max(0) as u64);
            *bytes = bytes.saturating_add(edge.bytes);
        }
    }

    fn rounded(self) -> Plane {
        let bytes = self.cells.iter().map(|(_, bytes)| *bytes);
        let calls = self.cells.iter().map(|(calls, _)| *calls);
        Plane {
            side: self.side,
            block: self.block,
            bytes: Levels::of(BYTES_LEVELS, bytes),
            calls: Levels::of(CALLS_LEVELS, calls),
        }
    }
}

/// Numbers on a logarithmic scale; level 0 is 0.
struct Levels {
    least: u64,
    most: u64,
    levels: u8,
    cells: Vec<u8>,
}

impl Levels {
    fn of(levels: u8, numbers: impl Iterator<Item = u64> + Clone) -> Levels {
        let known = || numbers.clone().filter(|number| *number > 0);
        let (least, most) = (known().min().unwrap_or(1), known().max().unwrap_or(1));
        let range = (most as f64 / least as f64).ln();
        let level = |number: u64| match number {
            0 => 0,
            _ if range <= 0.0 => 1,
            _ => 1 + ((number as f64 / least as f64).ln() / range * f64::from(levels - 1)).round() as u8,
        };
        Levels { least, most, levels, cells: numbers.map(level).collect() }
    }

    /// By how much a number is wrong at most.
    fn error(&self) -> String {
        let step = (self.most as f64 / self.least as f64).powf(0.5 / f64::from(self.levels - 1));
        format!("{:.1} %", (step - 1.0) * 100.0)
    }

    fn json(&self) -> Value {
        json!({ "least": self.least, "most": self.most, "levels": self.levels, "cells": pack::bytes(&self.cells) })
    }
}
