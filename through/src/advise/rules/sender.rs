//! Receives that wait for senders who are late, and ranks of which each waits for the one before it. Only a timeline tells.

use std::collections::{BTreeMap, BTreeSet};

use super::noise;
use super::timed::{Call, appended, calls, named};
use crate::advise::finding::Finding;
use crate::advise::run::Run;
use crate::query::Error;
use crate::query::waiting::{State, Waited};

/// Waits from rank to rank. Two happen where one rank is late.
const CHAIN: usize = 3;
/// Each rank of a chain waits longer than the one before it, by so much of what the first one waits.
const GROWTH: f64 = 0.5;
/// Each rank of a ring waits for so much of what the one waits that waits longest.
const EVEN: f64 = 0.5;

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let late = calls(run, &[State::LateSender, State::WrongOrder]);
    Ok(late.iter().map(|call| found(run, call)).collect())
}

fn found(run: &Run, call: &Call) -> Finding {
    let before = before(&call.waits);
    let is_long = |ranks: &Vec<i64>| ends_in_waiting(run, ranks, &call.waits);
    let in_line = chain(&before).map(|ranks| ("serial-chain", ranks));
    let in_line = in_line.or_else(|| ring(&before).map(|ranks| ("waiting-ring", ranks)));
    match in_line.filter(|(_, ranks)| is_long(ranks)) {
        // What grows from rank to rank, or goes round, is no scheduler's.
        Some((topic, ranks)) => Finding { ranks: named(ranks.into_iter()), ceiling: None, ..call.finding(run, topic) },
        None => {
            let ranks = call.awaited();
            let named = appended(&ranks);
            Finding { ranks, ..call.finding(run, "late-sender") }.word("named", named)
        }
    }
}

/// Whether the last rank of a chain waits for longer than a scheduler lets it.
fn ends_in_waiting(run: &Run, chain: &[i64], waits: &[&Waited]) -> bool {
    let of_last = || waits.iter().filter(|waited| chain.last() == Some(&waited.rank));
    let wait_ns = of_last().fold(0i64, |sum, waited| sum.saturating_add(waited.wait_ns));
    let times = of_last().fold(0u64, |sum, waited| sum.saturating_add(waited.times)).clamp(1, i64::MAX as u64) as i64;
    let call = of_last().next().map(|waited| (waited.comm, waited.op));
    call.is_some_and(|(comm, op)| noise::ceiling(run, comm, op, times, wait_ns / times).is_none())
}

/// For whom each rank waits longest, and how long.
fn before(waits: &[&Waited]) -> BTreeMap<i64, (i64, i64)> {
    let mut by_pair: BTreeMap<(i64, i64), i64> = BTreeMap::new();
    for waited in waits {
        let sum = by_pair.entry((waited.rank, waited.late_rank)).or_default();
        *sum = sum.saturating_add(waited.wait_ns);
    }
    let mut before: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for ((rank, late), ns) in by_pair {
        if before.get(&rank).is_none_or(|(_, most)| *most < ns) {
            before.insert(rank, (late, ns));
        }
    }
    before
}

/// The longest list of ranks of which each waits for the one before it, and longer than it.
fn chain(before: &BTreeMap<i64, (i64, i64)>) -> Option<Vec<i64>> {
    let grows = |rank: i64, first_ns: i64| {
        let (late, ns) = before[&rank];
        before.get(&late).is_none_or(|(_, less)| (ns - less) as f64 >= GROWTH * first_ns as f64)
    };
    // The first one waits for nobody, or hardly.
    let starts = before.iter().filter(|(_, (late, _))| !before.contains_key(late));
    let mut longest: Vec<i64> = Vec::new();
    for (second, (first, first_ns)) in starts {
        let mut chain = vec![*first, *second];
        while let Some((next, _)) = before
            .iter()
            .find(|(rank, (late, _))| Some(late) == chain.last() && !chain.contains(rank) && grows(**rank, *first_ns))
        {
            chain.push(*next);
        }
        if chain.len() > longest.len() {
            longest = chain;
        }
    }
    (longest.len() > CHAIN).then_some(longest)
}

/// The longest list of ranks of which each waits for the one before it, and the first one for the last.
fn ring(before: &BTreeMap<i64, (i64, i64)>) -> Option<Vec<i64>> {
    let mut longest: Vec<i64> = Vec::new();
    // Each rank waits longest for one: a walk ends at nobody, or comes to a rank that was seen.
    let mut seen: BTreeSet<i64> = BTreeSet::new();
    for first in before.keys() {
        let (mut walk, mut next) = (Vec::new(), Some(*first));
        while let Some(rank) = next.filter(|rank| !seen.contains(rank)) {
            seen.insert(rank);
            walk.push(rank);
            next = before.get(&rank).map(|(late, _)| *late);
        }
        let closed_at = walk.iter().position(|rank| Some(*rank) == next);
        let ring = closed_at.map(|at| walk.split_off(at)).unwrap_or_default();
        let waits = || ring.iter().filter_map(|rank| before.get(rank)).map(|(_, ns)| *ns);
        let is_even = waits().min().unwrap_or(0) as f64 >= EVEN * waits().max().unwrap_or(0) as f64;
        if is_even && ring.len() > longest.len() {
            longest = ring;
        }
    }
    (longest.len() > CHAIN).then_some(longest)
}
