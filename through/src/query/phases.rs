//! What was done in each phase.

use std::collections::{BTreeMap, HashMap};

use super::catalog::{Catalog, unsigned};
use super::communicators::{Spread, spreads_of};
use super::performed::{Classes, is_of_own_bytes};
use super::source::{Relation, Source};
use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

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
    /// The part of it that is MPI time.
    pub mpi_ns: i64,
    /// How that spreads over the ranks, if the profile knows.
    pub spread: Option<Spread>,
}

/// The phases in which the filter leaves anything, in the order in which they began.
pub fn phases(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<Vec<Phase>, Error> {
    let spreads = spreads(profile, catalog, filter)?;
    let Relation { sql, values } = Source::new(profile, catalog, filter).groups_by_phase()?;
    let sql = format!(
        "SELECT phase, op, calls, calls_max, failed, failed_max, bytes_sent, bytes_recv, time_ns, comm, bucket FROM ({sql})"
    );
    let mut classes = Classes::default();
    let rows: Vec<Phase> = profile.query(&sql, values, |row| {
        let op = row.get(1)?;
        let time_ns = row.get(8)?;
        let once = catalog.operations.get(&op).is_some_and(|operation| operation.is_collective());
        let (calls, failed) = if once { (3, 5) } else { (2, 4) };
        let phase = row.get(0)?;
        let is_shared = once && is_of_own_bytes(row.get(10)?);
        if is_shared {
            classes.add((row.get(9)?, op, Some(phase)), row.get(3)?, row.get(2)?);
        }
        Ok(Phase {
            phase,
            calls: if is_shared { 0 } else { row.get(calls)? },
            failed: row.get(failed)?,
            bytes_sent: unsigned(row.get(6)?),
            bytes_recv: unsigned(row.get(7)?),
            time_ns,
            mpi_ns: if catalog.is_outside_span(op) { 0 } else { time_ns },
            spread: None,
        })
    })?;
    let mut phases: BTreeMap<i64, Phase> = BTreeMap::new();
    for row in rows {
        let spread = spreads.get(&row.phase).copied();
        let sum = phases.entry(row.phase).or_insert(Phase { phase: row.phase, spread, ..Phase::default() });
        sum.calls = sum.calls.saturating_add(row.calls);
        sum.failed = sum.failed.saturating_add(row.failed);
        sum.bytes_sent = sum.bytes_sent.saturating_add(row.bytes_sent);
        sum.bytes_recv = sum.bytes_recv.saturating_add(row.bytes_recv);
        sum.time_ns = sum.time_ns.saturating_add(row.time_ns);
        sum.mpi_ns = sum.mpi_ns.saturating_add(row.mpi_ns);
    }
    for ((_, _, phase), calls) in classes.performed(profile, catalog, filter)? {
        let sum = phase.and_then(|phase| phases.get_mut(&phase));
        sum.into_iter().for_each(|sum| sum.calls = sum.calls.saturating_add(calls));
    }
    Ok(phases.into_values().collect())
}

/// By the phase's number.
fn spreads(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<HashMap<i64, Spread>, Error> {
    let source = Source::new(profile, catalog, filter);
    if !source.has_single_ranks() {
        return Ok(HashMap::new());
    }
    spreads_of(profile, catalog, source.parts()?, "n.phase")
}
