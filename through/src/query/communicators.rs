//! How the MPI time in each communicator spreads over its ranks.

use std::collections::HashMap;

use super::catalog::Catalog;
use super::source::{Relation, Source};
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

/// By the communicator's number; without those of which the profile does not know it.
pub fn spreads(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<HashMap<i64, Spread>, Error> {
    let Relation { sql, values } = Source::new(profile, catalog, filter).spreads()?;
    let sql = format!("SELECT comm, ranks, time_ns, rank_max_ns, rank_min_ns FROM ({sql})");
    profile.query(&sql, values, |row| {
        let (ranks, time_ns) = (row.get(1)?, row.get(2)?);
        Ok((row.get(0)?, Spread { ranks, time_ns, rank_max_ns: row.get(3)?, rank_min_ns: row.get(4)? }))
    })
}
