//! A root that collects from all what it then sends to all.

use std::collections::BTreeSet;

use crate::advise::finding::{Finding, Level};
use crate::advise::gain::Gain;
use crate::advise::run::{OfRank, Run, on};
use crate::query::Error;
use crate::text::units;

const CALLS: i64 = 10;
/// Bytes differ by less where they are the same data.
const NEAR: f64 = 0.01;

/// What collects, and what does both.
const PAIRS: &[(&str, &str)] =
    &[("MPI_Gather", "MPI_Allgather"), ("MPI_Gatherv", "MPI_Allgatherv"), ("MPI_Reduce", "MPI_Allreduce")];

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let broadcasts = run.ops(&["MPI_Bcast"]);
    let Some(broadcast) = broadcasts.first().copied() else { return Ok(Vec::new()) };
    let mut findings = Vec::new();
    for (name, better) in PAIRS {
        for op in run.ops(&[name]) {
            for collect in run.sums.values().filter(|sum| sum.op == op && sum.calls >= CALLS) {
                let Some(spread) = run.sums.get(&(collect.comm, broadcast)) else { continue };
                let (collected, sent) = (collect.bytes_recv as f64, spread.bytes_sent as f64);
                if collect.calls != spread.calls || collected <= 0.0 || (collected - sent).abs() > NEAR * collected {
                    continue;
                }
                let root = |op: i64, bytes: fn(&OfRank) -> u64| -> Result<Option<i64>, Error> {
                    let ranks = run.of_ranks(collect.comm, &[op].into())?;
                    let mut roots = ranks.iter().filter(|rank| bytes(rank) > 0).map(|rank| rank.rank);
                    Ok(roots.next().filter(|_| roots.next().is_none()))
                };
                let (from, to) = (root(op, |rank| rank.bytes_recv)?, root(broadcast, |rank| rank.bytes_sent)?);
                if from.is_none() || from != to {
                    continue;
                }
                let ops: BTreeSet<i64> = [op, broadcast].into();
                let calls = |op| {
                    format!(
                        "SELECT max(calls) FROM (SELECT sum(calls) AS calls FROM profile WHERE {} GROUP BY rank)",
                        on(run, collect.comm, op)
                    )
                };
                findings.push(
                    Finding {
                        ranks: from.and_then(|rank| u32::try_from(rank).ok()).into_iter().collect(),
                        gain: Gain::spent(run.spent(collect.comm, &ops)?),
                        // It is so, whatever it costs here.
                        floor: Some(Level::Info),
                        command: format!("--comm {} -c", run.name(collect.comm)),
                        ..Finding::new("gather-bcast")
                    }
                    .on(collect.comm, Some(op))
                    .with("calls that collect", collect.calls as f64, CALLS as f64, calls(op))
                    .with("calls that spread", spread.calls as f64, collect.calls as f64, calls(broadcast))
                    .with(
                        "bytes that were collected",
                        collected,
                        sent,
                        format!("SELECT sum(bytes_recv) FROM profile WHERE {}", on(run, collect.comm, op)),
                    )
                    .word("better", *better)
                    .word("calls", collect.calls.to_string())
                    .word("size", format!("{} a call", units::bytes((collected / collect.calls.max(1) as f64) as u64))),
                );
            }
        }
    }
    Ok(findings)
}
