//! Sends that wait for receivers who are late: a timeline tells who, and without one counters show that sends wait.

use super::timed::{appended, calls};
use crate::advise::finding::{Ceiling, Confidence, Finding, Level};
use crate::advise::gain::Gain;
use crate::advise::run::{Run, filters, on};
use crate::query::Error;
use crate::query::waiting::State;
use crate::text::units;

const CALLS: i64 = 10;
/// The mean over the shortest call of a size.
const RATIO: i64 = 100;
const MEAN_NS: i64 = 1_000_000;
const SENDS: &[&str] = &["MPI_Send", "MPI_Ssend", "MPI_Rsend"];

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    if run.timed.is_none() {
        return waiting(run);
    }
    let late = calls(run, &[State::LateReceiver]);
    Ok(late
        .iter()
        .map(|call| {
            let ranks = call.awaited();
            let named = appended(&ranks);
            Finding { ranks, ..call.finding(run, "late-receiver") }.word("named", named)
        })
        .collect())
}

/// Sends of one size class that take much longer than the shortest of them.
fn waiting(run: &Run) -> Result<Vec<Finding>, Error> {
    let sends = run.ops(SENDS);
    let mut findings = Vec::new();
    for row in run.operations.iter().filter(|row| sends.contains(&row.op) && row.calls >= CALLS) {
        let (mean_ns, shortest_ns) = (row.time_ns / row.calls.max(1), row.time_min_ns.unwrap_or(i64::MAX));
        let Some(size) = run.catalog.buckets.get(&row.bucket) else { continue };
        if mean_ns < MEAN_NS || mean_ns / RATIO < shortest_ns {
            continue;
        }
        let sum_ns = run.sums.get(&(row.comm, row.op)).map_or(row.time_ns, |sum| sum.time_ns).max(1);
        // A receiver without a processor comes late as well.
        let without_ns = run.machine_ns().saturating_mul(row.ranks.max(1).into());
        let beyond_ns = row.time_ns.saturating_sub(row.calls.saturating_mul(shortest_ns));
        let waited_ns = beyond_ns.saturating_sub(without_ns).max(0);
        let condition = format!("{} AND bucket_lo = {}", on(run, row.comm, row.op), size.lo);
        findings.push(
            Finding {
                confidence: Confidence::Bound,
                gain: Gain::spent(run.spent(row.comm, &[row.op].into())?).part(waited_ns as f64 / sum_ns as f64),
                ceiling: Some(Ceiling { level: Level::Info, why: "only a timeline shows why" }),
                command: filters(run, row.comm, row.op),
                ..Finding::new("waiting-sends")
            }
            .on(row.comm, Some(row.op))
            .with(
                "mean seconds of a call",
                row.time_ns as f64 / row.calls.max(1) as f64 / 1e9,
                MEAN_NS.max(RATIO.saturating_mul(shortest_ns)) as f64 / 1e9,
                format!("SELECT sum(time_s) / sum(calls) FROM profile WHERE {condition}"),
            )
            .word("calls", row.calls.to_string())
            .word("size", format!("{} bytes", units::bucket(size.lo, size.hi)))
            .word("each", units::time(mean_ns))
            .word("shortest", units::time(shortest_ns)),
        );
    }
    Ok(findings)
}
