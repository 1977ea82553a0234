//! The base of all numbers that filters change: what ranks counted by communicator, operation, message size and phase.

use std::collections::HashMap;

use serde_json::{Value, json};
use through_core::query::catalog::{Catalog, Detail};
use through_core::query::counted::Counted;
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

/// By kind, and rank or the first of a block of ranks.
type Place = (usize, i64);

/// Nothing where nothing was called.
pub fn cells(counted: &Counted, catalog: &Catalog, lists: &Lists, caps: &mut Vec<String>) -> Option<Value> {
    let mut kinds: Vec<[usize; 4]> = Vec::new();
    let mut numbers: HashMap<[usize; 4], usize> = HashMap::new();
    let of_key: Vec<usize> = counted
        .keys
        .iter()
        .map(|key| {
            let kind = [lists.comm(key.comm), lists.op(key.op), lists.bucket(key.bucket), lists.phase(key.phase)];
            *numbers.entry(kind).or_insert_with(|| {
                kinds.push(kind);
                kinds.len() - 1
            })
        })
        .collect();
    let mut sums: Vec<(Place, Sum)> = counted
        .rows
        .iter()
        .map(|row| {
            let sum =
                Sum { calls: row.calls, bytes_sent: row.bytes_sent, bytes_recv: row.bytes_recv, time_ns: row.time_ns };
            ((of_key[row.group as usize], row.rank.unwrap_or(-1)), sum)
        })
        .collect();
    merge(&mut sums);
    let mut block = 1i64;
    let most_rank = catalog.processes.last().map_or(0, |process| process.rank).clamp(0, 1 << 31);
    while sums.len() > MOST_CELLS && block <= most_rank {
        block *= 2;
        // Of ranks that stand for all there is nothing to add up.
        for ((_, rank), _) in sums.iter_mut().filter(|((_, rank), _)| *rank >= 0) {
            *rank -= *rank % block;
        }
        merge(&mut sums);
    }
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
    (!sums.is_empty()).then(|| json!({ "detail": detail, "block": block, "kinds": kinds, "cells": columns.finish() }))
}

/// One row for each place, in their order.
fn merge(sums: &mut Vec<(Place, Sum)>) {
    sums.sort_by_key(|(place, _)| *place);
    sums.dedup_by(|(place, next), (kept, sum)| {
        let is_same = place == kept;
        if is_same {
            sum.calls = sum.calls.saturating_add(next.calls);
            sum.bytes_sent = sum.bytes_sent.saturating_add(next.bytes_sent);
            sum.bytes_recv = sum.bytes_recv.saturating_add(next.bytes_recv);
            sum.time_ns = sum.time_ns.saturating_add(next.time_ns);
        }
        is_same
    });
}

/// `12000 of 50000 events`, for what a page leaves out.
pub fn part_of(shown: usize, all: usize, what: &str) -> String {
    format!("{shown} of {}", units::count(all as u64, what))
}
