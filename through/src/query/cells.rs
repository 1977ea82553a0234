//! The cells of a profile, one per (communicator, operation, bucket, rank), as they were counted. Where the filter names
//! phases, one per phase in addition.

use std::collections::HashMap;

use super::catalog::{Catalog, unsigned};
use super::source::{ALL_RANKS, Relation, Source};
use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

/// What cells of different ranks have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub comm: i64,
    pub op: i64,
    pub bucket: i64,
    /// `None`: the phases are added up.
    pub phase: Option<i64>,
}

/// There may be millions: nothing is in it that its group can say.
#[derive(Clone, Debug)]
pub struct Cell {
    group: u32,
    rank: i64,
    pub calls: i64,
    pub failed: i64,
    pub bytes_sent: u64,
    pub bytes_recv: u64,
    pub time_ns: i64,
    /// The shortest call.
    pub time_min_ns: Option<i64>,
    /// The longest call.
    pub time_max_ns: Option<i64>,
}

impl Cell {
    /// The number of its group.
    pub fn group(&self) -> usize {
        self.group as usize
    }

    /// `None` where the profile holds sums over all ranks only.
    pub fn rank(&self) -> Option<i64> {
        (self.rank != ALL_RANKS).then_some(self.rank)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Cells {
    pub groups: Vec<Key>,
    pub rows: Vec<Cell>,
}

impl Cells {
    pub fn group(&self, cell: &Cell) -> Key {
        self.groups[cell.group()]
    }
}

/// The cells that the filter leaves, in no order.
pub fn cells(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<Cells, Error> {
    let Relation { sql, values } = Source::new(profile, catalog, filter).rows()?;
    let sql = format!(
        "SELECT comm, op, bucket, phase, rank, calls, failed, bytes_sent, bytes_recv, time_ns, time_min_ns, time_max_ns \
         FROM ({sql})"
    );
    let mut groups: Vec<Key> = Vec::new();
    let mut numbers: HashMap<Key, u32> = HashMap::new();
    let mut last: Option<(Key, u32)> = None;
    let rows = profile.query(&sql, values, |row| {
        let group = Key { comm: row.get(0)?, op: row.get(1)?, bucket: row.get(2)?, phase: row.get(3)? };
        let number = match last {
            Some((known, number)) if known == group => number,
            _ => *numbers.entry(group).or_insert_with(|| {
                groups.push(group);
                groups.len() as u32 - 1
            }),
        };
        last = Some((group, number));
        Ok(Cell {
            group: number,
            rank: row.get(4)?,
            calls: row.get(5)?,
            failed: row.get(6)?,
            bytes_sent: unsigned(row.get(7)?),
            bytes_recv: unsigned(row.get(8)?),
            time_ns: row.get(9)?,
            time_min_ns: row.get(10)?,
            time_max_ns: row.get(11)?,
        })
    })?;
    Ok(Cells { groups, rows })
}
