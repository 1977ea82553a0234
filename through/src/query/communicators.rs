//! How the MPI time in each communicator spreads over its ranks.

use std::collections::HashMap;

use super::catalog::Catalog;
use super::source::{Relation, Source};
use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

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

/// By the communicator's number; without those of which the profile does not know it.
pub fn spreads(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<HashMap<i64, Spread>, Error> {
    let source = Source::new(profile, catalog, filter);
    let Some(Relation { sql, values }) = source.spreads() else {
        return spreads_of(profile, catalog, source.parts()?, "n.comm");
    };
    let sql = format!("SELECT comm, ranks, time_ns, rank_max_ns, rank_min_ns FROM ({sql})");
    profile.query(&sql, values, |row| {
        let (ranks, time_ns) = (row.get(1)?, row.get(2)?);
        Ok((row.get(0)?, Spread { ranks, time_ns, rank_max_ns: row.get(3)?, rank_min_ns: row.get(4)? }))
    })
}

/// How the MPI time in cells, which the query tells as `n`, spreads over the ranks for each value of a column.
pub fn spreads_of(
    profile: &Profile,
    catalog: &Catalog,
    Relation { sql, values }: Relation,
    column: &str,
) -> Result<HashMap<i64, Spread>, Error> {
    let sql = format!("SELECT {column}, n.rank, {} FROM ({sql}) n", catalog.mpi_time("n.time_ns"));
    // Added up here: cells do not lie by ranks, and SQLite would sort them all.
    let mut times: HashMap<(i64, i64), i64> = HashMap::new();
    profile.query::<(), ()>(&sql, values, |row| {
        let (value, rank, time_ns) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let sum = times.entry((value, rank)).or_default();
        *sum = sum.saturating_add(time_ns);
        Ok(())
    })?;
    let mut spreads: HashMap<i64, Spread> = HashMap::new();
    for ((value, _), time_ns) in times {
        let none = Spread { rank_max_ns: i64::MIN, rank_min_ns: i64::MAX, ..Spread::default() };
        let spread = spreads.entry(value).or_insert(none);
        spread.ranks += 1;
        spread.time_ns = spread.time_ns.saturating_add(time_ns);
        spread.rank_max_ns = spread.rank_max_ns.max(time_ns);
        spread.rank_min_ns = spread.rank_min_ns.min(time_ns);
    }
    Ok(spreads)
}
