//! Barriers beside collectives that hold the ranks anyway.

use crate::advise::finding::{Finding, Level};
use crate::advise::gain::Gain;
use crate::advise::run::{Run, filters, on};
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
        // Who waits in the barrier for a late rank would wait for it in the next call.
        let waited = run.waited(sum.comm, sum.op);
        let mut spent = run.spent(sum.comm, &barriers)?;
        for ((.., rank), ns) in &mut spent {
            *ns = ns.saturating_sub(waited.get(rank).copied().unwrap_or_default()).max(0);
        }
        let waiting_ns: i64 = waited.values().fold(0, |sum, ns| sum.saturating_add(*ns));
        findings.push(
            Finding {
                floor: Some(Level::Info),
                gain: Gain::spent(spent),
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
                "calls of a rank that synchronize anyway",
                other.calls as f64,
                sum.calls as f64,
                format!(
                    "SELECT max(calls) FROM (SELECT sum(calls) AS calls FROM profile WHERE {} GROUP BY rank)",
                    on(run, other.comm, other.op)
                ),
            )
            .word("calls", sum.calls.to_string())
            .word("other", run.op(other.op))
            .word("time", units::time(sum.time_ns))
            .word(
                "waiting",
                if waiting_ns == 0 { String::new() } else { format!(", {} of it waiting", units::time(waiting_ns)) },
            ),
        );
    }
    Ok(findings)
}
