//! Calls that ask again and again whether something has come.

use crate::advise::finding::Finding;
use crate::advise::gain::Gain;
use crate::advise::run::{Run, filters, on};
use crate::query::Error;
use crate::text::units;

const POLLS: &[&str] = &["MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Iprobe", "MPI_Improbe"];
const RATIO: f64 = 20.0;
const CALLS: i64 = 10_000;

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let polls = run.ops(POLLS);
    // What polls wait for: requests of any kind, and messages that are received after a probe.
    let is_awaited = |op: i64| {
        let name = run.op(op);
        let is_request = name.starts_with("MPI_I")
            && !polls.contains(&op)
            && matches!(run.class(op), "p2p" | "collective" | "neighborhood" | "io" | "comm");
        is_request
            || matches!(
                name,
                "MPI_Start" | "MPI_Startall" | "MPI_Recv" | "MPI_Mrecv" | "MPI_Rput" | "MPI_Rget" | "MPI_Raccumulate"
            )
    };
    let awaited =
        run.operations.iter().filter(|row| is_awaited(row.op)).map(|row| per_all_ranks(run, row)).sum::<f64>();
    // Without a processor a poll takes as long as others keep it.
    let scheduled = 1.0 - run.share(run.ready_ns()).clamp(0.0, 1.0);
    let mut findings = Vec::new();
    for sum in run.sums.values().filter(|sum| polls.contains(&sum.op) && sum.calls >= CALLS) {
        let ratio = sum.calls as f64 / awaited.max(1.0);
        if ratio < RATIO {
            continue;
        }
        findings.push(
            Finding {
                gain: Gain::spent(run.spent(sum.comm, &[sum.op].into())?).part(scheduled),
                command: filters(run, sum.comm, sum.op),
                ..Finding::new("polling")
            }
            .on(sum.comm, Some(sum.op))
            .with(
                "polls",
                sum.calls as f64,
                (RATIO * awaited).max(CALLS as f64),
                format!("SELECT sum(calls) FROM profile WHERE {}", on(run, sum.comm, sum.op)),
            )
            .word("calls", sum.calls.to_string())
            .word("time", units::time(sum.time_ns))
            .word("ratio", format!("{ratio:.0}")),
        );
    }
    Ok(findings)
}

/// Collectives are counted once for all ranks: each has a request of its own.
fn per_all_ranks(run: &Run, row: &crate::query::operations::Operations) -> f64 {
    run.calls_of_a_rank(row) * f64::from(row.ranks.max(1))
}
