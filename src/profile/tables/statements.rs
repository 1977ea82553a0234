//! What writes the rows of a profile's tables.

use rusqlite::{CachedStatement, Connection};

use crate::counters::{self, Arguments, Calls, Counter, Messages};
use crate::profile::batch::Batch;
use crate::profile::error::Error;
use crate::profile::schema::{adding, is_in_total, is_rare};

pub struct Statements<'a> {
    pub process: CachedStatement<'a>,
    pub cell: Batch<'a>,
    pub uneven_cell: CachedStatement<'a>,
    pub total: CachedStatement<'a>,
    pub uneven_total: CachedStatement<'a>,
    pub involvement: CachedStatement<'a>,
    pub edge: CachedStatement<'a>,
    pub argument: CachedStatement<'a>,
    pub at_site: CachedStatement<'a>,
    pub completed: CachedStatement<'a>,
}

impl<'a> Statements<'a> {
    pub fn new(db: &'a Connection) -> Result<Statements<'a>, Error> {
        let insert_into = |table: &str, columns: usize| {
            db.prepare_cached(&format!("INSERT INTO {table} VALUES ({})", vec!["?"; columns].join(", ")))
        };
        let columns =
            |is_wanted: fn(&Counter) -> bool| Calls::TABLE.iter().filter(|counter| is_wanted(counter)).count();
        Ok(Statements {
            process: db.prepare_cached("INSERT INTO process VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?,
            cell: Batch::new(db, "cell", "", 1 + columns(|counter| !counter.is_common())),
            uneven_cell: insert_into("uneven_cell", 1 + columns(Counter::is_common))?,
            total: insert_into("total", 11 + columns(is_in_total) + 2 * Calls::EXTREMES)?,
            uneven_total: insert_into("uneven_total", 1 + columns(is_rare) + columns(|counter| counter.has_most) + columns(Counter::is_common))?,
            involvement: db.prepare_cached(
                "INSERT INTO involvement VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET calls = CAST(calls + excluded.calls AS INTEGER)",
            )?,
            // Messages to several ranks of a node are one row where rows stand for nodes.
            edge: db.prepare_cached(&adding("edge", 4, Messages::TABLE))?,
            argument: insert_into("datatype_use", 4 + Arguments::COUNT)?,
            at_site: db.prepare_cached(&adding("call_site", 6, counters::SiteCalls::TABLE))?,
            // Peers on one node are one where rows stand for nodes.
            completed: db.prepare_cached(&adding("completed", 7, counters::Completions::TABLE))?,
        })
    }
}
