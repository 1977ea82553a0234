//! Where a view finds its numbers. A profile holds sums over the ranks beside what each rank counted: what the sums answer is read from
//! them, and only the rest from the cells.

mod columns;
pub mod sited;
mod summed;

use std::collections::BTreeSet;

use rusqlite::types::Value;

pub use self::columns::names;
use super::catalog::{Catalog, Detail};
use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

/// The rank of a row that is the sum over all ranks.
pub const ALL_RANKS: i64 = -1;

/// A query that stands for a table, and the values of its parameters, which are numbered.
pub struct Relation {
    pub sql: String,
    pub values: Vec<Value>,
}

/// One filter over one profile. Of every table that it offers, the filter is applied already.
pub struct Source<'a> {
    profile: &'a Profile,
    catalog: &'a Catalog,
    filter: &'a Filter,
}

impl Source<'_> {
    pub fn new<'a>(profile: &'a Profile, catalog: &'a Catalog, filter: &'a Filter) -> Source<'a> {
        Source { profile, catalog, filter }
    }

    /// `comm`, `op`, `bucket`, `rank`, the counters of the cell, and `phase`: null, since phases are added up.
    fn cells(&self) -> Result<Relation, Error> {
        self.needs_single_ranks()?;
        Ok(self.cells_as_they_are())
    }

    /// The same, phase by phase.
    pub fn parts(&self) -> Result<Relation, Error> {
        self.needs_single_ranks()?;
        Ok(self.parts_as_they_are())
    }

    /// The finest rows that there are: cells of ranks or of nodes, or else sums, with [`ALL_RANKS`] for a rank. Phases are
    /// told apart where the filter names some.
    pub fn rows(&self) -> Result<Relation, Error> {
        if self.filter.ranks.is_some() || self.filter.time.is_some() || self.filter.sites.is_some() {
            self.needs_single_ranks()?;
        }
        if self.filter.sites.is_some() {
            return Ok(sited::cells(self.filter, self.filter.phases.is_some()));
        }
        Ok(match (self.catalog.detail, &self.filter.phases) {
            (Detail::Comm, _) => summed::without_ranks(self.filter),
            (_, Some(_)) => self.parts_as_they_are(),
            (_, None) => self.cells_as_they_are(),
        })
    }

    /// One row per `comm`, `op` and `bucket`: `ranks` that called, the counters that are sums, with the most of one rank where a
    /// profile tells it (`calls_max`), `rank_max_ns` and `rank_min_ns` of the ranks that spent most and least, and, where they are
    /// asked for, the extremes of single calls.
    pub fn groups(&self, with_single_calls: bool) -> Result<Relation, Error> {
        if self.filter.sites.is_none() {
            match summed::groups(self.filter) {
                Some(sums) if self.filter.time.is_none() => return Ok(sums),
                Some(_) => {
                    self.needs_single_ranks()?;
                    return Ok(summed::groups_in_time(self.filter));
                }
                None => {}
            }
        }
        let key = if self.filter.sites.is_none() && summed::is_whole(self.filter) { SUM } else { GROUP };
        Ok(added_up(self.cells()?, GROUP, key, with_single_calls))
    }

    /// The same, one row per `phase` too.
    pub fn groups_by_phase(&self) -> Result<Relation, Error> {
        let by_rank = self.filter.ranks.is_some() || self.filter.time.is_some();
        if !by_rank && self.filter.sites.is_none() {
            return Ok(summed::groups_by_phase(self.filter));
        }
        let group = format!("{GROUP}, n.phase");
        Ok(added_up(self.parts()?, &group, &group, false))
    }

    /// How the MPI time in each communicator spreads over its ranks, if there are sums that tell: `comm`, `ranks`, `time_ns`,
    /// `rank_max_ns` and `rank_min_ns`. What a profile without single ranks does not know is left out.
    pub fn spreads(&self) -> Option<Relation> {
        let filter = self.filter;
        let selects = filter.ops.is_some() || filter.buckets.is_some() || filter.phases.is_some();
        let by_rank = filter.ranks.is_some() || filter.time.is_some();
        match !by_rank && filter.sites.is_none() {
            true if !selects => Some(summed::spreads()),
            true if !self.has_single_ranks() => {
                Some(summed::spreads_of_single_groups(filter, |time| self.catalog.mpi_time(time)))
            }
            _ => None,
        }
    }

    /// Whether the numbers of single ranks are there.
    pub fn has_single_ranks(&self) -> bool {
        self.catalog.detail == Detail::Rank
    }

    /// Refuses what sums cannot tell.
    pub fn needs_single_ranks(&self) -> Result<(), Error> {
        let asked = match self.filter {
            Filter { ranks: Some(_), .. } => "--rank or --host",
            Filter { time: Some(_), .. } => "--time",
            Filter { sites: Some(_), .. } => "--site",
            Filter { phases: Some(phases), .. } if phases.len() > 1 => "adding up several phases",
            _ => "-e with filters",
        };
        self.needs_single_ranks_for(asked)
    }

    /// The same, by what needs them.
    pub fn needs_single_ranks_for(&self, asked: &'static str) -> Result<(), Error> {
        match self.catalog.detail {
            Detail::Rank => Ok(()),
            detail => Err(Error::Coarse { path: self.profile.path.clone(), detail, asked }),
        }
    }

    fn cells_as_they_are(&self) -> Relation {
        if self.filter.sites.is_some() {
            return sited::cells(self.filter, false);
        }
        summed::cells(self.filter)
    }

    fn parts_as_they_are(&self) -> Relation {
        if self.filter.sites.is_some() {
            return sited::cells(self.filter, true);
        }
        summed::parts(self.filter)
    }
}

/// What cells of one group have in common.
const GROUP: &str = "n.comm, n.op, n.bucket";
/// The same by one number, where a group is one row of sums: cells come in its order, and need not be sorted.
const SUM: &str = "n.sum";

/// The columns of `group` and sums over the cells that agree in `key`.
fn added_up(Relation { sql, values }: Relation, group: &str, key: &str, with_single_calls: bool) -> Relation {
    let sums = columns::added_up(with_single_calls);
    Relation { sql: format!("SELECT {group}, {sums} FROM ({sql}) n GROUP BY {key}"), values }
}

/// The values of parameters. Each has its number, so that conditions may be put together in any order.
#[derive(Default)]
struct Parameters(Vec<Value>);

impl Parameters {
    fn bind(&mut self, value: impl Into<Value>) -> String {
        self.0.push(value.into());
        format!("?{}", self.0.len())
    }

    /// That a column is among numbers. A list is one parameter, because SQLite limits how many there may be.
    fn among(&mut self, column: &str, numbers: &Option<BTreeSet<i64>>) -> String {
        let Some(numbers) = numbers else { return String::new() };
        let words: Vec<String> = numbers.iter().map(i64::to_string).collect();
        let list = self.bind(format!("[{}]", words.join(",")));
        format!(" AND {column} IN (SELECT value FROM json_each({list}))")
    }
}
