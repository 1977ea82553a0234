//! How the MPI time in each communicator spreads over its ranks.

use std::collections::HashMap;

use super::catalog::Catalog;
use crate::error::Error;
use crate::filter::Filter;
use crate::open::Profile;

/// MPI time that ranks spent in one communicator.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spread {
    /// How many ranks called anything on it.
    pub ranks: u32,
    pub time_ns: i64,
    pub rank_max_ns: i64,
    pub rank_min_ns: i64,
}

impl Spread {
    /// The mean over the ranks that called.
    pub fn rank_avg_ns(&self) -> i64 {
        self.time_ns / i64::from(self.ranks.max(1))
    }
}

/// By the communicator's number.
pub fn spreads(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<HashMap<i64, Spread>, Error> {
    let (cells, (condition, values)) = (filter.cells(), filter.condition());
    let mpi_time = catalog.mpi_time();
    let sql = format!(
        "SELECT comm, count(*), sum(time_ns), max(time_ns), min(time_ns) FROM (SELECT x.comm AS comm, \
         sum({mpi_time}) AS time_ns FROM {cells} x WHERE {condition} GROUP BY x.comm, x.rank) GROUP BY comm"
    );
    profile.query(&sql, values, |row| {
        let (ranks, time_ns) = (row.get(1)?, row.get(2)?);
        Ok((row.get(0)?, Spread { ranks, time_ns, rank_max_ns: row.get(3)?, rank_min_ns: row.get(4)? }))
    })
}
