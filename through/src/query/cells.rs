//! The cells of a profile, one per (communicator, operation, bucket, rank), as they were counted. Where the filter names
//! phases, one per phase in addition.

use std::collections::HashMap;

use commsee::counters::{Calls, position};

use super::catalog::Catalog;
use super::source::{ALL_RANKS, Relation, Source, names};
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
    /// A bit for each counter whose value nobody knows.
    unknown: u32,
    rank: i64,
    pub counters: Calls,
}

const SHORTEST: usize = position(Calls::TABLE, "time_min_ns");
const LONGEST: usize = position(Calls::TABLE, "time_max_ns");
const _: () = assert!(Calls::COUNT <= u32::BITS as usize);

impl Cell {
    /// The number of its group.
    pub fn group(&self) -> usize {
        self.group as usize
    }

    /// `None` where the profile holds sums over all ranks only.
    pub fn rank(&self) -> Option<i64> {
        (self.rank != ALL_RANKS).then_some(self.rank)
    }

    pub fn time_ns(&self) -> i64 {
        self.counters.time_ns as i64
    }

    pub fn shortest_ns(&self) -> Option<i64> {
        (self.unknown & 1 << SHORTEST == 0).then_some(self.counters.time_min_ns as i64)
    }

    pub fn longest_ns(&self) -> Option<i64> {
        (self.unknown & 1 << LONGEST == 0).then_some(self.counters.time_max_ns as i64)
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
    let sql = format!("SELECT comm, op, bucket, phase, rank, {} FROM ({sql})", names());
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
        let (mut values, mut unknown) = ([0; Calls::COUNT], 0);
        for (at, counter) in Calls::TABLE.iter().enumerate() {
            // Sums are never null in a profile that is whole.
            let value: Option<i64> = if counter.is_sum() { Some(row.get(5 + at)?) } else { row.get(5 + at)? };
            values[at] = value.unwrap_or(0) as u64;
            unknown |= u32::from(value.is_none()) << at;
        }
        Ok(Cell { group: number, unknown, rank: row.get(4)?, counters: Calls::of_values(values) })
    })?;
    Ok(Cells { groups, rows })
}
