//! Ranks that move more than the others.

use crate::advise::finding::Finding;
use crate::advise::gain::Gain;
use crate::advise::run::{OfRank, Run, filters, on};
use crate::query::Error;
use crate::text::units;

const RATIO: f64 = 2.0;
const CALLS: f64 = 10.0;

type Side = (&'static str, &'static str, fn(&OfRank) -> u64);

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
        // What one sends too much the others receive: the sum of both hides it.
        let sides: [Side; 2] =
            [("send", "bytes_sent", |rank| rank.bytes_sent), ("receive", "bytes_recv", |rank| rank.bytes_recv)];
        let worst = sides.into_iter().filter_map(|side| Some((uneven_by(&ranks, side.2)?, side)));
        let Some(((ratio, most, mean), (does, column, bytes))) = worst.max_by(|(a, _), (b, _)| a.0.total_cmp(&b.0))
        else {
            continue;
        };
        if ratio < RATIO {
            continue;
        }
        let heavy = ranks.iter().filter(|rank| bytes(rank) as f64 >= RATIO * mean);
        findings.push(
            Finding {
                ranks: heavy.filter_map(|rank| u32::try_from(rank.rank).ok()).collect(),
                // With even bytes the longest transfer takes that much less.
                gain: Gain::spent(run.spent(sum.comm, &[sum.op].into())?).part(1.0 - 1.0 / ratio),
                command: format!("-a {}", filters(run, sum.comm, sum.op)),
                ..Finding::new("uneven-bytes")
            }
            .on(sum.comm, Some(sum.op))
            .with(
                "maximum bytes of a rank over the mean",
                ratio,
                RATIO,
                format!(
                    "SELECT max(b) / avg(b) FROM (SELECT sum({column}) AS b FROM profile WHERE {} GROUP BY rank)",
                    on(run, sum.comm, sum.op)
                ),
            )
            .word("does", does)
            .word("ratio", format!("{ratio:.1}"))
            .word("most", units::bytes(most))
            .word("mean", units::bytes(mean as u64)),
        );
    }
    Ok(findings)
}

/// The most over the mean, the most, and the mean.
fn uneven_by(ranks: &[OfRank], bytes: fn(&OfRank) -> u64) -> Option<(f64, u64, f64)> {
    let most = ranks.iter().map(bytes).max().filter(|most| *most > 0)?;
    let mean = ranks.iter().map(|rank| bytes(rank) as f64).sum::<f64>() / ranks.len() as f64;
    Some((most as f64 / mean, most, mean))
}
