//! Collectives that could be one.

use crate::advise::finding::Finding;
use crate::advise::gain::Gain;
use crate::advise::run::{Run, filters, on};
use crate::query::Error;
use crate::text::units;

const CALLS: f64 = 200.0;
const SMALL_BYTES: f64 = 1024.0;
const RATIO: f64 = 4.0;
/// Work between two calls: some latencies of a small collective. Who works longer in between has one value at a time.
const BETWEEN_S: f64 = 250e-6;
/// Waiting of so much of the run time is named.
const NAMED: f64 = 0.01;

const OF_SEVERAL: &[&str] = &["MPI_Waitall", "MPI_Waitsome"];

pub fn find(run: &Run) -> Result<Vec<Finding>, Error> {
    let of_several = run.ops(OF_SEVERAL);
    let is_step = |op: i64| of_several.contains(&op) || run.class(op) == "collective";
    let mut steps: Vec<_> = run.sums.values().filter(|sum| is_step(sum.op)).collect();
    steps.sort_by(|a, b| run.calls_of_a_rank(b).total_cmp(&run.calls_of_a_rank(a)));
    let Some(most) = steps.first().filter(|sum| run.class(sum.op) == "collective") else { return Ok(Vec::new()) };
    // A barrier has nothing that could be put together.
    if run.op(most.op) == "MPI_Barrier" {
        return Ok(Vec::new());
    }
    let calls = run.calls_of_a_rank(most);
    let is_alike = |comm: i64| {
        comm == most.comm || run.families.find(most.comm).is_some_and(|family| family.members.contains(&comm))
    };
    let others = steps.iter().filter(|sum| !(sum.op == most.op && is_alike(sum.comm)));
    let others = others.map(|sum| run.calls_of_a_rank(sum)).fold(1.0, f64::max);
    let size = most.bytes_sent.max(most.bytes_recv) as f64 / (calls * f64::from(most.ranks.max(1))).max(1.0);
    let ratio = calls / others;
    let between_s = run.ledger.working_ns as f64 / 1e9 / run.ledger.ranks.max(1) as f64 / calls;
    if calls < CALLS || size > SMALL_BYTES || ratio < RATIO || between_s > BETWEEN_S {
        return Ok(Vec::new());
    }
    let waited = run.waited(most.comm, most.op);
    let waiting_ns: i64 = waited.values().fold(0, |sum, ns| sum.saturating_add(*ns));
    let mut spent = run.spent(most.comm, &[most.op].into())?;
    // What ranks wait for one that is late is no cost of the number of calls.
    for ((.., rank), ns) in &mut spent {
        *ns = ns.saturating_sub(waited.get(rank).copied().unwrap_or_default()).max(0);
    }
    let of_rank = format!(
        "SELECT max(calls) FROM (SELECT sum(calls) AS calls FROM profile WHERE {} GROUP BY rank)",
        on(run, most.comm, most.op)
    );
    Ok(vec![
        Finding {
            gain: Gain::spent(spent),
            command: filters(run, most.comm, most.op),
            ..Finding::new("fragmented-collectives")
        }
        .on(most.comm, Some(most.op))
        .with("calls of a rank", calls, CALLS, of_rank.clone())
        .with(
            "seconds of work between two calls on average",
            between_s,
            BETWEEN_S,
            format!("SELECT avg(wall_s - mpi_s) / ({of_rank}) FROM ranks"),
        )
        .word("calls", format!("{calls:.0}"))
        .word("size", units::bytes(size.round() as u64))
        .word("time", units::time(most.time_ns))
        .word(
            "waiting",
            match run.share_of_ranks(waiting_ns.into()) {
                share if share < NAMED => String::new(),
                _ => format!(" (at least {} of it waiting)", units::time(waiting_ns)),
            },
        )
        .word("ratio", format!("{ratio:.0}")),
    ])
}
