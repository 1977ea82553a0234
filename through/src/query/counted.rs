//! What ranks counted, as short rows: for whoever adds them up in ways of his own.

use std::collections::HashMap;

use super::catalog::{Catalog, size_class, unsigned};
use super::source::{ALL_RANKS, Relation, Source};
use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

/// What cells have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub comm: i64,
    pub op: i64,
    /// Those with the same bounds are one.
    pub bucket: i64,
    pub phase: i64,
}

#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The number of its key.
    pub group: u32,
    /// Nothing: the sum over all ranks.
    pub rank: Option<i64>,
    pub calls: i64,
    pub bytes_sent: u64,
    pub bytes_recv: u64,
    pub time_ns: i64,
}

#[derive(Clone, Debug, Default)]
pub struct Counted {
    pub keys: Vec<Key>,
    pub rows: Vec<Row>,
}

/// Everything, by phase, in no order.
pub fn counted(profile: &Profile, catalog: &Catalog) -> Result<Counted, Error> {
    let is_phased = catalog.phases.len() > 1;
    let phases = is_phased.then(|| catalog.phases.keys().copied().collect());
    let filter = Filter { is_phased, phases, ..Filter::default() };
    let Relation { sql, values } = Source::new(profile, catalog, &filter).rows()?;
    let sql = format!("SELECT comm, op, bucket, phase, rank, calls, bytes_sent, bytes_recv, time_ns FROM ({sql})");
    let mut keys: Vec<Key> = Vec::new();
    let mut numbers: HashMap<Key, u32> = HashMap::new();
    let mut last: Option<(Key, u32)> = None;
    let rows = profile.query(&sql, values, |row| {
        let phase: Option<i64> = row.get(3)?;
        let bucket = size_class(row.get(2)?);
        let key = Key { comm: row.get(0)?, op: row.get(1)?, bucket, phase: phase.unwrap_or(0) };
        let group = match last {
            Some((known, group)) if known == key => group,
            _ => *numbers.entry(key).or_insert_with(|| {
                keys.push(key);
                keys.len() as u32 - 1
            }),
        };
        last = Some((key, group));
        let rank: i64 = row.get(4)?;
        Ok(Row {
            group,
            rank: (rank != ALL_RANKS).then_some(rank),
            calls: row.get(5)?,
            bytes_sent: unsigned(row.get(6)?),
            bytes_recv: unsigned(row.get(7)?),
            time_ns: row.get(8)?,
        })
    })?;
    Ok(Counted { keys, rows })
}
