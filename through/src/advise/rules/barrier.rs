//! Barriers beside collectives that hold the ranks anyway.

use super::EXCHANGES;
use crate::advise::finding::Finding;
use crate::advise::run::{Run, filters, on};
use crate::query::Error;
use crate::query::waiting::Pattern;
use crate::text::units;

const CALLS: i64 = 50;
/// Longer calls are waiting, which a rule of its own tells.
const CALL_NS: i64 = 1_000_000;

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let (barriers, exchanges) = (run.ops(&["MPI_Barrier"]), run.ops(EXCHANGES));
    let mut findings = Vec::new();
    for sum in run.sums.values().filter(|sum| barriers.contains(&sum.op) && sum.calls >= CALLS) {
        let members = run.comm(sum.comm).and_then(|comm| comm.ranks.clone());
        let is_beside = |other: &i64| members.is_some() && run.comm(*other).is_some_and(|comm| comm.ranks == members);
        let beside = run.sums.values().filter(|other| exchanges.contains(&other.op) && is_beside(&other.comm));
        let Some(other) = beside.filter(|other| other.calls >= sum.calls).max_by_key(|other| other.calls) else {
            continue;
        };
        let waits = run.waits.iter().flatten().find(|group| (group.comm, group.op) == (sum.comm, sum.op));
        let is_long = sum.time_ns / i64::from(sum.ranks.max(1)) / sum.calls.max(1) >= CALL_NS;
        if waits.is_some_and(|group| group.pattern() == Some(Pattern::Same)) || is_long {
            continue;
        }
        let spent = run.of_ranks(sum.comm, &barriers)?;
        findings.push(
            Finding {
                severity_ns: sum.time_ns.into(),
                gain_bound_ns: run.gain_ns(&spent),
                command: filters(run, sum.comm, sum.op),
                ..Finding::new("needless-barrier")
            }
            .on(sum.comm, Some(sum.op))
            .with(
                "barriers of a rank",
                sum.calls as f64,
                CALLS as f64,
                format!(
                    "SELECT max(calls) FROM (SELECT sum(calls) AS calls FROM profile WHERE {} GROUP BY rank)",
                    on(run, sum.comm, sum.op)
                ),
            )
            .with(
                "calls of a rank that hold it anyway",
                other.calls as f64,
                sum.calls as f64,
                format!(
                    "SELECT max(calls) FROM (SELECT sum(calls) AS calls FROM profile WHERE {} GROUP BY rank)",
                    on(run, other.comm, other.op)
                ),
            )
            .word("calls", sum.calls.to_string())
            .word("other", format!("{} {} times", run.op(other.op), other.calls))
            .word("time", units::time(sum.time_ns)),
        );
    }
    Ok(findings)
}
