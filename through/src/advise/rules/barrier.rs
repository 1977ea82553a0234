//! Barriers beside collectives that hold the ranks anyway.

use crate::advise::finding::{Cost, Finding, Level};
use crate::advise::run::{Run, filters, on};
use crate::advise::saving::Saving;
use crate::query::Error;
use crate::query::waiting::EXCHANGES;
use crate::text::units;

const CALLS: i64 = 50;

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let (barriers, exchanges) = (run.ops(&["MPI_Barrier"]), run.ops(&EXCHANGES));
    let mut findings = Vec::new();
    for sum in run.sums.values().filter(|sum| barriers.contains(&sum.op) && sum.calls >= CALLS) {
        let members = run.comm(sum.comm).and_then(|comm| comm.ranks.clone());
        let is_beside = |other: &i64| members.is_some() && run.comm(*other).is_some_and(|comm| comm.ranks == members);
        let beside = run.sums.values().filter(|other| exchanges.contains(&other.op) && is_beside(&other.comm));
        let Some(other) = beside.filter(|other| other.calls >= sum.calls).max_by_key(|other| other.calls) else {
            continue;
        };
        let waits = run.waits.iter().flatten().find(|group| (group.comm, group.op) == (sum.comm, sum.op));
        // Who waits in the barrier for a late rank would wait for it in the next call.
        let moved_ns = waits.map_or(0, |group| group.min_ns());
        let spent = run.of_ranks(sum.comm, &barriers)?;
        findings.push(
            Finding {
                severity_ns: i128::from(sum.time_ns.saturating_sub(moved_ns).max(0)),
                floor: Some(Level::Info),
                cost: Cost::UpTo,
                saving: Saving::spent(&spent),
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
