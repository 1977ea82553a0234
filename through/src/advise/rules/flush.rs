//! Small one-sided accesses that are completed one by one.

use crate::advise::finding::{Finding, Level};
use crate::advise::gain::Gain;
use crate::advise::run::{Run, filters, on};
use crate::query::Error;
use crate::query::operations::Operations;
use crate::text::units;

use super::tiny::{ONE_SIDED, ONE_SIDED_BYTES};

const CALLS: i64 = 1000;
/// Accesses for each call that completes them.
const PER_FLUSH: i64 = 2;
const FLUSHES: &[&str] = &[
    "MPI_Win_flush",
    "MPI_Win_flush_all",
    "MPI_Win_flush_local",
    "MPI_Win_flush_local_all",
    "MPI_Win_unlock",
    "MPI_Win_unlock_all",
];

/// Calls that complete the accesses on a communicator, if these are small and there is one for nearly each.
pub fn flushes<'a>(run: &'a Run, sum: &Operations) -> Option<Vec<&'a Operations>> {
    let ops = run.ops(FLUSHES);
    let flushes: Vec<_> = run.sums.values().filter(|one| one.comm == sum.comm && ops.contains(&one.op)).collect();
    let calls = flushes.iter().fold(0i64, |calls, one| calls.saturating_add(one.calls));
    let bytes = sum.bytes_sent.saturating_add(sum.bytes_recv);
    let is_small = bytes <= ONE_SIDED_BYTES.saturating_mul(sum.calls.max(0) as u64);
    (sum.calls > CALLS && is_small && calls.saturating_mul(PER_FLUSH) >= sum.calls).then_some(flushes)
}

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let accesses = run.ops(ONE_SIDED);
    let mut findings = Vec::new();
    for sum in run.sums.values().filter(|sum| accesses.contains(&sum.op)) {
        let Some(flushes) = flushes(run, sum) else { continue };
        let calls = flushes.iter().fold(0i64, |calls, one| calls.saturating_add(one.calls));
        let time_ns = flushes.iter().fold(0i64, |time_ns, one| time_ns.saturating_add(one.time_ns));
        let Some(most) = flushes.iter().max_by_key(|one| one.time_ns) else { continue };
        findings.push(
            Finding {
                gain: Gain::spent(run.spent(sum.comm, &flushes.iter().map(|one| one.op).collect())?),
                floor: Some(Level::Info),
                command: filters(run, sum.comm, most.op),
                ..Finding::new("flush-per-access")
            }
            .on(sum.comm, Some(sum.op))
            .with(
                "small accesses",
                sum.calls as f64,
                CALLS as f64,
                format!("SELECT sum(calls) FROM profile WHERE {}", on(run, sum.comm, sum.op)),
            )
            .word("calls", sum.calls.to_string())
            .word("size", units::bytes(sum.bytes_sent.saturating_add(sum.bytes_recv) / sum.calls.max(1) as u64))
            .word("flushes", calls.to_string())
            .word("time", units::time(time_ns)),
        );
    }
    Ok(findings)
}
