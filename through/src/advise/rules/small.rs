//! Messages that could be one.

use std::collections::BTreeSet;

use crate::advise::finding::{Finding, Level};
use crate::advise::gain::Gain;
use crate::advise::run::{Run, filters, on};
use crate::query::Error;
use crate::text::units;

/// Periscope's bound of the mean.
const SMALL_BYTES: f64 = 1000.0;
const PER_PAIR: f64 = 100.0;
const PER_STEP: f64 = 4.0;

const SENDS: &[&str] = &[
    "MPI_Send",
    "MPI_Isend",
    "MPI_Ssend",
    "MPI_Rsend",
    "MPI_Bsend",
    "MPI_Issend",
    "MPI_Irsend",
    "MPI_Ibsend",
    "MPI_Start",
    "MPI_Startall",
];
/// Calls that return when a message is there: more time in them is waiting for who sends it, not the cost of many messages.
const RECEIVES: &[&str] = &["MPI_Recv", "MPI_Mrecv", "MPI_Sendrecv", "MPI_Sendrecv_replace", "MPI_Probe", "MPI_Mprobe"];
const COMPLETIONS: &[&str] = &["MPI_Wait", "MPI_Waitany", "MPI_Waitall", "MPI_Waitsome"];
/// Ask whether a message is there.
const PROBES: &[&str] = &["MPI_Iprobe", "MPI_Improbe"];
/// Calls that take longer because there are many messages, but for those above.
const POINT_TO_POINT: &str = "p2p";

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let sends = run.ops(SENDS);
    let asking = &run.ops(RECEIVES) | &run.ops(PROBES);
    let steps = steps(run);
    let sql = "SELECT comm, op, count(*), sum(calls), sum(bytes) FROM edge WHERE src <> dst GROUP BY comm, op";
    let pairs: Vec<(i64, i64, i64, i64, i64)> =
        run.profile.query(sql, vec![], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))?;
    let mut findings = Vec::new();
    for (comm, op, pairs, messages, bytes) in pairs.into_iter().filter(|(_, op, ..)| sends.contains(op)) {
        let (size, per_pair) = (bytes as f64 / messages.max(1) as f64, messages as f64 / pairs.max(1) as f64);
        let per_step = per_pair / steps;
        if size > SMALL_BYTES || per_pair < PER_PAIR || per_step < PER_STEP {
            continue;
        }
        let is_message = |op: &i64| run.class(*op) == POINT_TO_POINT && !asking.contains(op);
        let ops: BTreeSet<i64> = run.catalog.operations.keys().copied().filter(is_message).collect();
        findings.push(
            Finding {
                floor: Some(Level::Info),
                gain: Gain::spent(run.spent(comm, &ops)?),
                command: filters(run, comm, op),
                ..Finding::new("small-messages")
            }
            .on(comm, Some(op))
            .with(
                "bytes of a message on average",
                size,
                SMALL_BYTES,
                format!("SELECT sum(bytes) * 1.0 / sum(calls) FROM matrix WHERE src <> dst AND {}", on(run, comm, op)),
            )
            .with(
                "messages of a pair of ranks",
                per_pair,
                PER_PAIR,
                format!("SELECT sum(calls) * 1.0 / count(*) FROM matrix WHERE src <> dst AND {}", on(run, comm, op)),
            )
            .word("size", units::bytes(size.round() as u64))
            .word("per_pair", format!("{per_pair:.0}"))
            .word("per_step", format!("{per_step:.0}")),
        );
    }
    Ok(findings)
}

/// How often a rank waits at most: between two times its messages may go together.
fn steps(run: &Run) -> f64 {
    let waiting = &run.ops(RECEIVES) | &run.ops(COMPLETIONS);
    let is_step = |op: i64| waiting.contains(&op) || matches!(run.class(op), "collective" | "neighborhood");
    let calls = run.sums.values().filter(|sum| is_step(sum.op)).map(|sum| run.calls_of_a_rank(sum));
    calls.fold(1.0, f64::max)
}
