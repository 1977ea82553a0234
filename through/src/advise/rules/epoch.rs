//! Epochs of one-sided access on which a rank is late: fences, and flushes that wait for their target.

use std::collections::BTreeMap;

use super::{late, noise};
use crate::advise::finding::{Ceiling, Confidence, Finding, Level};
use crate::advise::gain::Gain;
use crate::advise::run::{Run, filters, on};
use crate::query::Error;
use crate::query::operations::Operations;
use crate::query::waiting::{Group, Pattern};
use crate::text::units;

/// Of calls that complete accesses: the mean over the shortest one, and at least so long.
const RATIO: i64 = 100;
const MEAN_NS: i64 = 1_000_000;
/// No network takes so long.
const LONG_NS: i64 = 10_000_000;
const CALLS: i64 = 10;
/// Of the accesses: those to one target.
const SHARE: f64 = 0.9;

const TARGETED: &[&str] =
    &["MPI_Win_lock", "MPI_Win_flush", "MPI_Win_flush_all", "MPI_Win_unlock", "MPI_Win_unlock_all"];
const ACCESSES: &[&str] = &[
    "MPI_Put",
    "MPI_Get",
    "MPI_Accumulate",
    "MPI_Get_accumulate",
    "MPI_Fetch_and_op",
    "MPI_Compare_and_swap",
    "MPI_Rput",
    "MPI_Rget",
    "MPI_Raccumulate",
    "MPI_Rget_accumulate",
];

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let fences = run.fences.iter().filter(|group| group.pattern() == Some(Pattern::Same));
    // Counters bound no waiting in other fences, so that `waits` has none of these: the rows of ranks show who spends least.
    let late = |group: &Group| {
        let command = format!("-a {}", filters(run, group.comm, group.op));
        Some(Finding { command, ..late::same(run, group, "late-epoch")? })
    };
    let mut findings: Vec<Finding> = fences.filter_map(late).collect();
    findings.extend(waiting_flushes(run)?);
    Ok(findings)
}

/// Of all calls on a communicator that may wait for a target: the one that takes most stands for them.
fn waiting_flushes(run: &Run) -> Result<Vec<Finding>, Error> {
    let ops = run.ops(TARGETED);
    let shortest_ns = |sum: &Operations| sum.time_min_ns.unwrap_or(i64::MAX);
    let waits = |sum: &&Operations| {
        let mean_ns = sum.time_ns / sum.calls.max(1);
        sum.calls >= CALLS && mean_ns >= MEAN_NS && (mean_ns >= LONG_NS || mean_ns / RATIO >= shortest_ns(sum))
    };
    let mut by_comm: BTreeMap<i64, Vec<&Operations>> = BTreeMap::new();
    for sum in run.sums.values().filter(|sum| ops.contains(&sum.op)).filter(waits) {
        by_comm.entry(sum.comm).or_default().push(sum);
    }
    let mut findings = Vec::new();
    for (comm, sums) in by_comm {
        let Some(most) = sums.iter().max_by_key(|sum| sum.time_ns) else { continue };
        let Some(target) = target(run, comm)? else { continue };
        let mean_ns = most.time_ns / most.calls.max(1);
        let busy = Ceiling { level: Level::Warn, why: "the target may be busy rather than late" };
        findings.push(
            Finding {
                ranks: u32::try_from(target).into_iter().collect(),
                confidence: Confidence::Bound,
                gain: Gain::longest(run.spent(comm, &sums.iter().map(|sum| sum.op).collect())?, [target]),
                ceiling: noise::ceiling(run, comm, most.op, most.calls, mean_ns).or(Some(busy)),
                command: filters(run, comm, most.op),
                ..Finding::new("waiting-flush")
            }
            .on(comm, Some(most.op))
            .with(
                "mean seconds of a call",
                most.time_ns as f64 / most.calls.max(1) as f64 / 1e9,
                MEAN_NS.max(RATIO.saturating_mul(shortest_ns(most)).min(LONG_NS)) as f64 / 1e9,
                format!("SELECT sum(time_s) / sum(calls) FROM profile WHERE {}", on(run, comm, most.op)),
            )
            .word("calls", most.calls.to_string())
            .word("each", units::time(mean_ns))
            .word("shortest", units::time(shortest_ns(most))),
        );
    }
    Ok(findings)
}

/// The rank that nearly all accesses of others are to.
fn target(run: &Run, comm: i64) -> Result<Option<i64>, Error> {
    let ops: Vec<String> = run.ops(ACCESSES).iter().map(i64::to_string).collect();
    let sql = format!("SELECT dst, calls FROM edge WHERE comm = {comm} AND src <> dst AND op IN ({})", ops.join(","));
    let mut calls: BTreeMap<i64, i64> = BTreeMap::new();
    run.profile.query::<(), ()>(&sql, vec![], |row| {
        let sum = calls.entry(row.get(0)?).or_default();
        *sum = sum.saturating_add(row.get(1)?);
        Ok(())
    })?;
    let all = calls.values().fold(0i64, |sum, calls| sum.saturating_add(*calls));
    let most = calls.into_iter().max_by_key(|(_, calls)| *calls);
    Ok(most.filter(|(_, calls)| *calls as f64 >= SHARE * all as f64).map(|(rank, _)| rank))
}
