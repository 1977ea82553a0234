//! Run time and MPI time of each rank.

use std::collections::HashMap;

use super::catalog::{Catalog, Process};
use super::source::{Relation, Source};
use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

#[derive(Clone, Debug)]
pub struct Rank {
    pub process: Process,
    /// The part of its MPI time that is in the cells that the filter leaves.
    pub selected_ns: i64,
}

/// The ranks that the filter leaves, ascending.
pub fn ranks(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<Vec<Rank>, Error> {
    let selected = |process: &Process, selected_ns| Rank { process: process.clone(), selected_ns };
    if !filter.selects_cells() {
        let kept = catalog.processes.iter().filter(|process| filter.has_rank(process.rank));
        return Ok(kept.map(|process| selected(process, process.mpi_ns)).collect());
    }
    let Relation { sql, values } = Source::new(profile, catalog, filter).parts()?;
    let sql = format!("SELECT n.rank, {} FROM ({sql}) n", catalog.mpi_time("n.time_ns"));
    // Added up here: cells do not lie by ranks, and SQLite would sort them all.
    let mut times: HashMap<i64, i64> = HashMap::new();
    profile.query::<(), ()>(&sql, values, |row| {
        let (rank, time_ns) = (row.get(0)?, row.get(1)?);
        let sum = times.entry(rank).or_default();
        *sum = sum.saturating_add(time_ns);
        Ok(())
    })?;
    let kept = catalog.processes.iter().filter_map(|process| Some(selected(process, *times.get(&process.rank)?)));
    Ok(kept.collect())
}
