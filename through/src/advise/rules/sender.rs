//! Receives that wait for senders who are late, and ranks of which each waits for the one before it. Only a timeline tells.

use std::collections::{BTreeMap, BTreeSet};

use commsee::ranks::Ranks;

use super::noise;
use crate::advise::finding::{Confidence, Cost, Finding};
use crate::advise::run::{OfRank, Run, filters, on};
use crate::advise::saving::Saving;
use crate::query::Error;
use crate::query::waiting::{State, Timed, Waited};
use crate::text::units;

/// Of the waiting beyond what is for any sender: the senders that make up so much of it are named.
const NAMED: f64 = 0.8;
/// Of all the waiting: senders of less than so much are not those of most of it.
const MOST: f64 = 0.5;
/// Waits from rank to rank. Two happen where one rank is late.
const CHAIN: usize = 3;
/// Each rank of a chain waits longer than the one before it, by so much of what the first one waits.
const GROWTH: f64 = 0.5;

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let mut by_call: BTreeMap<(i64, i64), Vec<&Waited>> = BTreeMap::new();
    for waited in run.timed.iter().flat_map(|timed| &timed.waited) {
        if matches!(waited.state, State::LateSender | State::WrongOrder) {
            by_call.entry((waited.comm, waited.op)).or_default().push(waited);
        }
    }
    by_call.into_iter().map(|((comm, op), waits)| found(run, comm, op, &waits)).collect()
}

fn found(run: &Run, comm: i64, op: i64, waits: &[&Waited]) -> Result<Finding, Error> {
    let waiting_ns: i128 = waits.iter().map(|waited| i128::from(waited.wait_ns)).sum();
    let times = waits.iter().fold(0u64, |sum, waited| sum.saturating_add(waited.times)).max(1);
    let each_ns = (waiting_ns / i128::from(times)) as i64;
    let waiters: BTreeSet<i64> = waits.iter().map(|waited| waited.rank).collect();
    let chain = chain(waits).filter(|chain| ends_in_waiting(run, chain, waits));
    let (topic, ranks) = match &chain {
        Some(chain) => ("serial-chain", named(chain.iter().copied())),
        None => ("late-sender", senders(waits, waiting_ns)),
    };
    let spent = run.of_ranks(comm, &[op].into())?;
    let time_ns = spent.iter().fold(0i64, |sum, rank| sum.saturating_add(rank.time_ns));
    let is_whole = run.timed.as_ref().is_some_and(Timed::is_whole);
    let waited = waited_by(waits);
    // Of the pair that waits most: short waits of others say nothing of it.
    let most = waits.iter().max_by_key(|waited| waited.wait_ns);
    let (most_ns, most_times) = most.map_or((0, 1), |most| (most.wait_ns, most.times.clamp(1, i64::MAX as u64) as i64));
    Ok(Finding {
        ranks,
        confidence: Confidence::Timeline,
        severity_ns: waiting_ns,
        cost: if is_whole { Cost::Exactly } else { Cost::AtLeast },
        saving: Saving::spent(if is_whole { &waited } else { &spent }),
        // What grows from rank to rank is no scheduler's.
        ceiling: if chain.is_some() { None } else { noise::ceiling(run, comm, op, most_times, most_ns / most_times) },
        command: format!("waits {}", filters(run, comm, op)),
        ..Finding::new(topic)
    }
    .on(comm, Some(op))
    .with(
        "time in the calls, seconds of all ranks",
        time_ns as f64 / 1e9,
        0.01 * run.ledger.whole_ns() as f64 / 1e9,
        format!("SELECT sum(time_s) FROM profile WHERE {}", on(run, comm, op)),
    )
    .word("waiting", units::time(waiting_ns.clamp(0, i64::MAX.into()) as i64))
    .word("each", units::time(each_ns))
    .word(
        "waiters",
        match waiters.len() {
            1 => "1 rank waits".to_owned(),
            more => format!("{more} ranks wait"),
        },
    ))
}

fn named(ranks: impl Iterator<Item = i64>) -> Ranks {
    ranks.filter_map(|rank| u32::try_from(rank).ok()).collect()
}

fn waited_by(waits: &[&Waited]) -> Vec<OfRank> {
    let mut by_rank: BTreeMap<i64, i64> = BTreeMap::new();
    for waited in waits {
        let sum = by_rank.entry(waited.rank).or_default();
        *sum = sum.saturating_add(waited.wait_ns);
    }
    by_rank.into_iter().map(|(rank, time_ns)| OfRank { rank, time_ns, ..OfRank::default() }).collect()
}

/// The few ranks that most of the waiting is for; none where it is for many. On a busy machine all wait a little for any sender, which adds up.
fn senders(waits: &[&Waited], waiting_ns: i128) -> Ranks {
    let mut by_sender: BTreeMap<i64, i128> = BTreeMap::new();
    for waited in waits {
        *by_sender.entry(waited.late_rank).or_default() += i128::from(waited.wait_ns);
    }
    let mut senders: Vec<(i64, i128)> = by_sender.into_iter().collect();
    senders.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    let any_ns = if senders.len() > 1 { senders[senders.len() / 2].1 } else { 0 };
    let beyond = |ns: i128| (ns - any_ns).max(0);
    let beyond_ns: i128 = senders.iter().map(|(_, ns)| beyond(*ns)).sum();
    let (mut named_ns, mut of_named_ns) = (0, 0);
    let mut late = Vec::new();
    for (rank, ns) in senders {
        if named_ns as f64 >= NAMED * beyond_ns as f64 {
            break;
        }
        named_ns += beyond(ns);
        of_named_ns += ns;
        late.push(rank);
    }
    if of_named_ns as f64 >= MOST * waiting_ns as f64 { named(late.into_iter()) } else { Ranks::default() }
}

/// Whether the last rank of a chain waits for longer than a scheduler lets it.
fn ends_in_waiting(run: &Run, chain: &[i64], waits: &[&Waited]) -> bool {
    let of_last = || waits.iter().filter(|waited| chain.last() == Some(&waited.rank));
    let wait_ns = of_last().fold(0i64, |sum, waited| sum.saturating_add(waited.wait_ns));
    let times = of_last().fold(0u64, |sum, waited| sum.saturating_add(waited.times)).clamp(1, i64::MAX as u64) as i64;
    let call = of_last().next().map(|waited| (waited.comm, waited.op));
    call.is_some_and(|(comm, op)| noise::ceiling(run, comm, op, times, wait_ns / times).is_none())
}

/// The longest list of ranks of which each waits for the one before it, and longer than it.
fn chain(waits: &[&Waited]) -> Option<Vec<i64>> {
    let mut by_pair: BTreeMap<(i64, i64), i64> = BTreeMap::new();
    for waited in waits {
        let sum = by_pair.entry((waited.rank, waited.late_rank)).or_default();
        *sum = sum.saturating_add(waited.wait_ns);
    }
    // For whom a rank waits longest, and how long.
    let mut before: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for ((rank, late), ns) in by_pair {
        if before.get(&rank).is_none_or(|(_, most)| *most < ns) {
            before.insert(rank, (late, ns));
        }
    }
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
