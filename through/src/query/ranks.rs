//! Run time and MPI time of each rank.

use std::collections::HashMap;

use super::catalog::{Catalog, Process};
use crate::error::Error;
use crate::filter::Filter;
use crate::open::Profile;

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
    let (cells, (condition, values)) = (filter.cells(), filter.condition());
    let mpi_time = catalog.mpi_time();
    let sql = format!("SELECT x.rank, sum({mpi_time}) FROM {cells} x WHERE {condition} GROUP BY x.rank");
    let times: HashMap<i64, i64> = profile.query(&sql, values, |row| Ok((row.get(0)?, row.get(1)?)))?;
    let kept = catalog.processes.iter().filter_map(|process| Some(selected(process, *times.get(&process.rank)?)));
    Ok(kept.collect())
}
