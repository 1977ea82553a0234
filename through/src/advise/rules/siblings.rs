//! Communicators on which an operation is slower than it should be: than on those made alike, or on larger ones.
//!
//! Compared is the time of the rank that spends least: what the others spend more, they may have waited.

use std::collections::BTreeMap;

use crate::advise::finding::Finding;
use crate::advise::gain::Gain;
use crate::advise::run::{Run, filters, on};
use crate::query::Error;
use crate::query::operations::Operations;
use crate::query::waiting::EXCHANGES;
use crate::text::units;

const RATIO: f64 = 1.5;
const FAMILY: usize = 3;
const CALLS: i64 = 10;
const NEAR: f64 = 0.01;
/// Of the shortest call, which neither waiting nor noise makes longer.
const SHORTEST: f64 = 1.2;
/// Of the run time of all ranks: less is told of no communicator, since the least time of few ranks is noisy.
const SHARE: f64 = 0.05;

/// Calls of exchanges in which all members took part alike.
fn exchanges(run: &Run) -> Vec<&Operations> {
    let ops = run.ops(&EXCHANGES);
    let is_whole = |sum: &&Operations| run.comm(sum.comm).and_then(|comm| comm.size) == Some(sum.ranks.into());
    run.sums
        .values()
        .filter(|sum| ops.contains(&sum.op) && sum.calls >= CALLS && sum.ranks > 1)
        .filter(is_whole)
        .collect()
}

/// Work of a rank: the least that any spends, over all of its calls.
fn least_ns(run: &Run, sum: &Operations) -> Option<i64> {
    run.group(sum.comm, sum.op)?.members.iter().map(|member| member.time_ns).min()
}

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let sums = exchanges(run);
    let mut findings = odd(run, &sums);
    findings.extend(slower_though_smaller(run, &sums));
    findings.retain(|finding| run.share_of_ranks(finding.gain.sum_ns().into()) >= SHARE);
    Ok(findings)
}

/// With the least time of a member.
type Sibling<'a> = (&'a Operations, i64);

fn odd(run: &Run, sums: &[&Operations]) -> Vec<Finding> {
    let mut families: BTreeMap<(i64, i64, i64, u64), Vec<Sibling>> = BTreeMap::new();
    for sum in sums {
        let Some(family) = run.families.find(sum.comm) else { continue };
        let Some(least_ns) = least_ns(run, sum) else { continue };
        families.entry((family.first(), sum.op, sum.calls, sum.bytes_sent)).or_default().push((sum, least_ns));
    }
    let mut findings = Vec::new();
    for siblings in families.values().filter(|siblings| siblings.len() >= FAMILY) {
        let mut all: Vec<i64> = siblings.iter().map(|(_, ns)| *ns).collect();
        all.sort_unstable();
        for (sum, least_ns) in siblings {
            // Of the others: without its own.
            let (own, others) = (all.partition_point(|ns| ns < least_ns), all.len() - 1);
            let median_ns = all[others / 2 + usize::from(own <= others / 2)];
            let is_slowest = || siblings.iter().all(|(other, _)| other.comm == sum.comm || is_longer(sum, other));
            if (*least_ns as f64) < RATIO * median_ns as f64 || !is_slowest() {
                continue;
            }
            let excess_ns = least_ns.saturating_sub(median_ns);
            findings.push(
                Finding {
                    gain: of_members(run, sum, excess_ns),
                    command: format!(
                        "--family {} --op {} --no-families",
                        run.name(sum.comm),
                        run.op(sum.op).trim_start_matches("MPI_")
                    ),
                    ..Finding::new("odd-sibling")
                }
                .on(sum.comm, Some(sum.op))
                .with(
                    "seconds of the member with the least time",
                    *least_ns as f64 / 1e9,
                    RATIO * median_ns as f64 / 1e9,
                    least_sql(run, sum),
                )
                .word("time", units::time(*least_ns))
                .word("other", units::time(median_ns))
                .word("count", others.to_string()),
            );
        }
    }
    findings
}

/// Whether even the shortest call took longer than the other's.
fn is_longer(sum: &Operations, other: &Operations) -> bool {
    match (sum.time_min_ns, other.time_min_ns) {
        (Some(shortest_ns), Some(other_ns)) => shortest_ns as f64 >= SHORTEST * other_ns as f64,
        _ => true,
    }
}

/// So much for each rank.
fn of_members(run: &Run, sum: &Operations, ns: i64) -> Gain {
    let members = run.group(sum.comm, sum.op).into_iter().flat_map(|group| &group.members);
    Gain::spent(members.map(|member| ((sum.comm, sum.op, member.rank), ns)).collect())
}

fn least_sql(run: &Run, sum: &Operations) -> String {
    format!(
        "SELECT min(t) FROM (SELECT sum(time_s) AS t FROM profile WHERE {} GROUP BY rank)",
        on(run, sum.comm, sum.op)
    )
}

fn slower_though_smaller(run: &Run, sums: &[&Operations]) -> Vec<Finding> {
    // Per operation: communicator, ranks, bytes of a rank in a call, and its time.
    let mut by_op: BTreeMap<i64, Vec<(&Operations, f64, f64)>> = BTreeMap::new();
    for sum in sums {
        let Some(least_ns) = least_ns(run, sum) else { continue };
        let calls = sum.calls as f64;
        let bytes = sum.bytes_sent as f64 / f64::from(sum.ranks) / calls;
        by_op.entry(sum.op).or_default().push((sum, bytes, least_ns as f64 / calls));
    }
    let mut findings = Vec::new();
    for sums in by_op.values() {
        for (sum, bytes, each_ns) in sums {
            let is_slower = |(other, other_bytes, other_ns): &&(&Operations, f64, f64)| {
                other.ranks > sum.ranks
                    && (bytes - other_bytes).abs() <= NEAR * bytes
                    && *each_ns >= RATIO * other_ns
                    && is_longer(sum, other)
            };
            let Some((other, _, other_ns)) = sums.iter().filter(is_slower).min_by(|a, b| a.2.total_cmp(&b.2)) else {
                continue;
            };
            let excess_ns = (each_ns - other_ns) * sum.calls as f64;
            findings.push(
                Finding {
                    gain: of_members(run, sum, excess_ns as i64),
                    command: format!(
                        "-a --op {}",
                        filters(run, sum.comm, sum.op).rsplit(' ').next().unwrap_or_default()
                    ),
                    ..Finding::new("slower-though-smaller")
                }
                .on(sum.comm, Some(sum.op))
                .with(
                    "seconds of the member with the least time",
                    each_ns * sum.calls as f64 / 1e9,
                    RATIO * other_ns * sum.calls as f64 / 1e9,
                    least_sql(run, sum),
                )
                .word("size", units::bytes(*bytes as u64))
                .word("each", units::time(*each_ns as i64))
                .word("other", units::time(*other_ns as i64))
                .word("ranks_of", sum.ranks.to_string())
                .word("larger", other.ranks.to_string()),
            );
        }
    }
    findings
}
