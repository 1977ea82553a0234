//! What was done in each phase.

use std::collections::{BTreeMap, HashMap};

use super::catalog::{Catalog, unsigned};
use super::communicators::Spread;
use crate::error::Error;
use crate::filter::Filter;
use crate::open::Profile;

/// One phase over all communicators.
#[derive(Clone, Debug, Default)]
pub struct Phase {
    pub phase: i64,
    /// A collective operation counts once for its communicator, any other call once per rank.
    pub calls: i64,
    pub failed: i64,
    pub bytes_sent: u64,
    pub bytes_recv: u64,
    /// Of all calls, over all ranks.
    pub time_ns: i64,
    /// How the part of it that is MPI time spreads over the ranks.
    pub spread: Spread,
}

/// The phases in which the filter leaves anything, in the order in which they began.
pub fn phases(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<Vec<Phase>, Error> {
    let spreads = spreads(profile, catalog, filter)?;
    let (source, values) = filter.cells_by_phase();
    let sql = format!(
        "SELECT x.phase, x.op, sum(x.calls), max(x.calls), sum(x.failed), max(x.failed), sum(x.bytes_sent), \
         sum(x.bytes_recv), sum(x.time_ns) FROM ({source}) x GROUP BY x.phase, x.comm, x.op, x.bucket"
    );
    let rows: Vec<Phase> = profile.query(&sql, values, |row| {
        let once = catalog.operations.get(&row.get(1)?).is_some_and(|operation| operation.is_collective());
        let (calls, failed) = if once { (3, 5) } else { (2, 4) };
        Ok(Phase {
            phase: row.get(0)?,
            calls: row.get(calls)?,
            failed: row.get(failed)?,
            bytes_sent: unsigned(row.get(6)?),
            bytes_recv: unsigned(row.get(7)?),
            time_ns: row.get(8)?,
            spread: Spread::default(),
        })
    })?;
    let mut phases: BTreeMap<i64, Phase> = BTreeMap::new();
    for row in rows {
        let spread = spreads.get(&row.phase).copied().unwrap_or_default();
        let sum = phases.entry(row.phase).or_insert(Phase { phase: row.phase, spread, ..Phase::default() });
        sum.calls = sum.calls.saturating_add(row.calls);
        sum.failed = sum.failed.saturating_add(row.failed);
        sum.bytes_sent = sum.bytes_sent.saturating_add(row.bytes_sent);
        sum.bytes_recv = sum.bytes_recv.saturating_add(row.bytes_recv);
        sum.time_ns = sum.time_ns.saturating_add(row.time_ns);
    }
    Ok(phases.into_values().collect())
}

/// By the phase's number.
fn spreads(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<HashMap<i64, Spread>, Error> {
    let (source, values) = filter.cells_by_phase();
    let mpi_time = catalog.mpi_time();
    let sql = format!(
        "SELECT phase, count(*), sum(time_ns), max(time_ns), min(time_ns) FROM (SELECT x.phase AS phase, \
         sum({mpi_time}) AS time_ns FROM ({source}) x GROUP BY x.phase, x.rank) GROUP BY phase"
    );
    profile.query(&sql, values, |row| {
        let (ranks, time_ns) = (row.get(1)?, row.get(2)?);
        Ok((row.get(0)?, Spread { ranks, time_ns, rank_max_ns: row.get(3)?, rank_min_ns: row.get(4)? }))
    })
}
