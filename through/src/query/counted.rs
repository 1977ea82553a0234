//! What ranks counted, as short rows: for whoever adds them up in ways of his own.

use std::collections::BTreeMap;

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
    pub key: Key,
    /// Nothing: the sum over all ranks.
    pub rank: Option<i64>,
    pub calls: i64,
    pub bytes_sent: u64,
    pub bytes_recv: u64,
    pub time_ns: i64,
}

/// All keys, with the time over all ranks.
pub fn keys(profile: &Profile, catalog: &Catalog) -> Result<BTreeMap<Key, i64>, Error> {
    let Relation { sql, values } = Source::new(profile, catalog, &all(catalog)).groups_by_phase()?;
    let mut keys: BTreeMap<Key, i64> = BTreeMap::new();
    profile.query::<(), ()>(&format!("SELECT comm, op, bucket, phase, time_ns FROM ({sql})"), values, |row| {
        let sum = keys.entry(key([row.get(0)?, row.get(1)?, row.get(2)?], row.get(3)?)).or_default();
        *sum = sum.saturating_add(row.get(4)?);
        Ok(())
    })?;
    Ok(keys)
}

/// Hands over everything, by phase, in no order. There may be millions of rows.
pub fn each(profile: &Profile, catalog: &Catalog, mut take: impl FnMut(&Row)) -> Result<(), Error> {
    let Relation { sql, values } = Source::new(profile, catalog, &all(catalog)).rows()?;
    let sql = format!("SELECT sum, rank, calls, bytes_sent, bytes_recv, time_ns, comm, op, bucket, phase FROM ({sql})");
    // Most rows have the sum, and with it the key, of the row before.
    let mut last: Option<(i64, Key)> = None;
    profile.query::<(), ()>(&sql, values, |row| {
        let sum = row.get(0)?;
        let key = match last {
            Some((known, key)) if known == sum => key,
            _ => key([row.get(6)?, row.get(7)?, row.get(8)?], row.get(9)?),
        };
        last = Some((sum, key));
        let rank: i64 = row.get(1)?;
        take(&Row {
            key,
            rank: (rank != ALL_RANKS).then_some(rank),
            calls: row.get(2)?,
            bytes_sent: unsigned(row.get(3)?),
            bytes_recv: unsigned(row.get(4)?),
            time_ns: row.get(5)?,
        });
        Ok(())
    })
}

fn all(catalog: &Catalog) -> Filter {
    let is_phased = catalog.phases.len() > 1;
    let phases = is_phased.then(|| catalog.phases.keys().copied().collect());
    Filter { is_phased, phases, ..Filter::default() }
}

fn key([comm, op, bucket]: [i64; 3], phase: Option<i64>) -> Key {
    Key { comm, op, bucket: size_class(bucket), phase: phase.unwrap_or(0) }
}
