//! What it costs to begin and to end.

use crate::advise::finding::{Finding, Level};
use crate::advise::run::{Run, filters, on};
use crate::query::Error;
use crate::text::units;

const NS: i64 = 5_000_000_000;
const SHARE: f64 = 0.1;

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for sum in run.sums.values().filter(|sum| run.catalog.is_outside_span(sum.op)) {
        let run_ns = run.ledger.run_time_ns;
        if sum.rank_max_ns < NS || (sum.rank_max_ns as f64) < SHARE * run_ns as f64 {
            continue;
        }
        findings.push(
            Finding {
                floor: Some(Level::Info),
                command: filters(run, sum.comm, sum.op),
                ..Finding::new("startup-cost")
            }
            .on(sum.comm, Some(sum.op))
            .with(
                "seconds of the rank with the most time",
                sum.rank_max_ns as f64 / 1e9,
                NS as f64 / 1e9,
                format!("SELECT max(time_s) FROM profile WHERE {}", on(run, sum.comm, sum.op)),
            )
            .word("time", units::time(sum.rank_max_ns))
            .word("run", units::time(run_ns)),
        );
    }
    Ok(findings)
}
