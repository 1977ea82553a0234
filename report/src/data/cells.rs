//! The base of all numbers that filters change: what ranks counted by communicator, operation, message size and phase.

use std::collections::HashMap;

use serde_json::{Value, json};
use through_core::query::Error;
use through_core::query::catalog::{Catalog, Detail};
use through_core::query::counted::{Key, each};
use through_core::query::open::Profile;
use through_core::text::units;

use super::lists::Lists;
use crate::pack::{Columns, list};

/// Finer ones are added up over neighbouring ranks.
const MOST_CELLS: usize = 40_000;

#[derive(Clone, Copy, Default)]
struct Sum {
    calls: i64,
    bytes_sent: u64,
    bytes_recv: u64,
    time_ns: i64,
}

impl Sum {
    fn add(&mut self, other: &Sum) {
        self.calls = self.calls.saturating_add(other.calls);
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
        self.bytes_recv = self.bytes_recv.saturating_add(other.bytes_recv);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
    }
}

/// By kind, and rank or the first of a block of ranks.
type Place = (usize, i64);

/// Sums of more and more rows: of so many ranks together that there are never more than some.
struct Sums {
    sums: HashMap<Place, Sum>,
    block: i64,
    most_rank: i64,
}

impl Sums {
    /// Of ranks that stand for all there is nothing to add up.
    fn first(&self, rank: i64) -> i64 {
        if rank < 0 { rank } else { rank - rank % self.block }
    }

    fn add(&mut self, (kind, rank): Place, sum: &Sum) {
        self.sums.entry((kind, self.first(rank))).or_default().add(sum);
        while self.sums.len() > MOST_CELLS && self.block <= self.most_rank {
            self.block *= 2;
            for ((kind, rank), sum) in std::mem::take(&mut self.sums) {
                self.sums.entry((kind, self.first(rank))).or_default().add(&sum);
            }
        }
    }
}

/// Nothing where nothing was called.
pub fn cells(
    profile: &Profile,
    catalog: &Catalog,
    lists: &Lists,
    caps: &mut Vec<String>,
) -> Result<Option<Value>, Error> {
    let mut kinds: Vec<[usize; 4]> = Vec::new();
    let mut numbers: HashMap<[usize; 4], usize> = HashMap::new();
    let most_rank = catalog.processes.last().map_or(0, |process| process.rank).clamp(0, 1 << 31);
    let mut all = Sums { sums: HashMap::new(), block: 1, most_rank };
    // Ranks come one after the other, and are added up here as long as they have one place.
    let mut last: Option<(Key, Place, Sum)> = None;
    each(profile, catalog, |row| {
        let sum =
            Sum { calls: row.calls, bytes_sent: row.bytes_sent, bytes_recv: row.bytes_recv, time_ns: row.time_ns };
        let rank = row.rank.unwrap_or(-1);
        let kind = match &mut last {
            Some((key, (kind, first), held)) if *key == row.key => {
                if *first == all.first(rank) {
                    return held.add(&sum);
                }
                *kind
            }
            _ => {
                let key = row.key;
                let kind = [lists.comm(key.comm), lists.op(key.op), lists.bucket(key.bucket), lists.phase(key.phase)];
                *numbers.entry(kind).or_insert_with(|| {
                    kinds.push(kind);
                    kinds.len() - 1
                })
            }
        };
        if let Some((_, place, held)) = last.take() {
            all.add(place, &held);
        }
        last = Some((row.key, (kind, all.first(rank)), sum));
    })?;
    if let Some((_, place, held)) = last {
        all.add(place, &held);
    }
    let Sums { sums, block, .. } = all;
    let mut sums: Vec<(Place, Sum)> = sums.into_iter().collect();
    sums.sort_unstable_by_key(|(place, _)| *place);
    if block > 1 {
        caps.push(format!(
            "Numbers are added up over blocks of {block} ranks, to keep the page below {} numbers. \
             Sums over all ranks are exact; a filter by ranks takes whole blocks. The profile has each rank: through -a --rank.",
            MOST_CELLS
        ));
    }
    let mut columns = Columns::default();
    columns.add_differences("kind", sums.iter().map(|((kind, _), _)| *kind as i64));
    columns.add_differences("rank", sums.iter().map(|((_, rank), _)| *rank));
    columns.add("calls", sums.iter().map(|(_, sum)| sum.calls));
    columns.add("bytes_sent", sums.iter().map(|(_, sum)| sum.bytes_sent.min(i64::MAX as u64) as i64));
    columns.add("bytes_recv", sums.iter().map(|(_, sum)| sum.bytes_recv.min(i64::MAX as u64) as i64));
    columns.add("time_ns", sums.iter().map(|(_, sum)| sum.time_ns));
    let detail = match catalog.detail {
        Detail::Rank => "rank",
        Detail::Node => "node",
        Detail::Comm => "comm",
    };
    let flat: Vec<usize> = kinds.into_iter().flatten().collect();
    // Four numbers for each: communicator, operation, bucket, phase.
    let kinds = list(json!(flat));
    let is_any = !sums.is_empty();
    Ok(is_any.then(|| json!({ "detail": detail, "block": block, "kinds": kinds, "cells": columns.finish() })))
}

/// `12000 of 50000 events`, for what a page leaves out.
pub fn part_of(shown: usize, all: usize, what: &str) -> String {
    format!("{shown} of {}", units::count(all as u64, what))
}
