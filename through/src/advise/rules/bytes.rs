//! Ranks that move more than the others.

use crate::advise::finding::Finding;
use crate::advise::run::{Run, filters, on};
use crate::query::Error;
use crate::text::units;

const RATIO: f64 = 2.0;
const CALLS: f64 = 10.0;

const UNEVEN: &[&str] = &[
    "MPI_Alltoallv",
    "MPI_Alltoallw",
    "MPI_Allgatherv",
    "MPI_Neighbor_alltoallv",
    "MPI_Neighbor_alltoallw",
    "MPI_Neighbor_allgatherv",
    "MPI_Ialltoallv",
    "MPI_Iallgatherv",
];

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let uneven = run.ops(UNEVEN);
    let mut findings = Vec::new();
    for sum in run.sums.values().filter(|sum| uneven.contains(&sum.op) && run.calls_of_a_rank(sum) >= CALLS) {
        let ranks = run.of_ranks(sum.comm, &[sum.op].into())?;
        let bytes = |rank: &crate::advise::run::OfRank| rank.bytes_sent.saturating_add(rank.bytes_recv);
        let Some(most) = ranks.iter().map(bytes).max() else { continue };
        let mean = ranks.iter().map(|rank| bytes(rank) as f64).sum::<f64>() / ranks.len() as f64;
        let ratio = most as f64 / mean.max(1.0);
        if ratio < RATIO {
            continue;
        }
        let heavy = ranks.iter().filter(|rank| bytes(rank) as f64 >= RATIO * mean);
        findings.push(
            Finding {
                ranks: heavy.filter_map(|rank| u32::try_from(rank.rank).ok()).collect(),
                // With even bytes the longest transfer takes that much less.
                severity_ns: (sum.time_ns as f64 * (1.0 - 1.0 / ratio)) as i128,
                gain_bound_ns: (run.gain_ns(&ranks) as f64 * (1.0 - 1.0 / ratio)) as i64,
                command: format!("-a {}", filters(run, sum.comm, sum.op)),
                ..Finding::new("uneven-bytes")
            }
            .on(sum.comm, Some(sum.op))
            .with("most bytes of a rank over the mean", ratio, RATIO, format!("SELECT max(b) / avg(b) FROM (SELECT sum(bytes_sent + bytes_recv) AS b FROM profile WHERE {} GROUP BY rank)", on(run, sum.comm, sum.op)))
            .word("ratio", format!("{ratio:.1}"))
            .word("most", units::bytes(most))
            .word("mean", units::bytes(mean as u64)),
        );
    }
    Ok(findings)
}
