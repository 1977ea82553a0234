//! How often a communicator made a collective call in which ranks have sizes of their own. One call is counted in several size classes then, and the most
//! calls of a rank in each class do not add up to it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::catalog::{Catalog, size_class};
use super::source::{Relation, Source};
use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

/// A communicator and an operation, in a phase where phases are told apart.
pub type Key = (i64, i64, Option<i64>);

/// Size classes of ranks' own bytes, by the calls that they belong to.
#[derive(Debug, Default)]
pub struct Classes(BTreeMap<Key, Calls>);

#[derive(Clone, Copy, Debug, Default)]
struct Calls {
    classes: u32,
    /// The most that one rank made in one class, and what all ranks made in all.
    most: i64,
    sum: i64,
}

impl Classes {
    /// `most`: of one rank.
    pub fn add(&mut self, key: Key, most: i64, sum: i64) {
        let calls = self.0.entry(key).or_default();
        calls.classes += 1;
        calls.most = calls.most.max(most);
        calls.sum = calls.sum.saturating_add(sum);
    }

    /// How often the communicator made the calls: the most that one rank made over the classes. Without single ranks, the mean over the members,
    /// who all make them.
    pub fn performed(self, profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<HashMap<Key, i64>, Error> {
        let (single, several): (Vec<_>, Vec<_>) = self.0.into_iter().partition(|(_, calls)| calls.classes == 1);
        let mut performed: HashMap<Key, i64> = single.into_iter().map(|(key, calls)| (key, calls.most)).collect();
        if several.is_empty() {
            return Ok(performed);
        }
        if Source::new(profile, catalog, filter).has_single_ranks() {
            let keys = several.iter().map(|(key, _)| *key).collect();
            performed.extend(of_ranks(profile, catalog, filter, keys)?);
            return Ok(performed);
        }
        performed.extend(several.into_iter().map(|(key, calls)| {
            let size = catalog.communicators.get(&key.0).and_then(|comm| i64::try_from(comm.size?).ok());
            let mean =
                size.filter(|size| *size > 0).map_or(0, |size| calls.sum.max(0).unsigned_abs().div_ceil(size as u64));
            (key, calls.most.max(mean as i64))
        }));
        Ok(performed)
    }
}

/// Whether a class is one of the bytes that each rank has of its own.
pub fn is_of_own_bytes(bucket: i64) -> bool {
    size_class(bucket) != bucket
}

fn of_ranks(
    profile: &Profile,
    catalog: &Catalog,
    filter: &Filter,
    keys: BTreeSet<Key>,
) -> Result<HashMap<Key, i64>, Error> {
    let of_own_bytes = catalog.buckets.keys().copied().filter(|bucket| is_of_own_bytes(*bucket));
    let filter = Filter {
        comms: Some(keys.iter().map(|key| key.0).collect()),
        ops: Some(keys.iter().map(|key| key.1).collect()),
        buckets: Some(of_own_bytes.filter(|bucket| filter.has_bucket(*bucket)).collect()),
        ..filter.clone()
    };
    let source = Source::new(profile, catalog, &filter);
    let is_by_phase = keys.iter().any(|key| key.2.is_some());
    let Relation { sql, values } = if is_by_phase { source.parts()? } else { source.rows()? };
    let phase = if is_by_phase { "phase" } else { "NULL" };
    let sql = format!(
        "SELECT comm, op, part, max(calls) FROM (SELECT comm, op, {phase} AS part, sum(calls) AS calls FROM ({sql}) \
         GROUP BY comm, op, part, rank) GROUP BY comm, op, part"
    );
    let mut most = HashMap::new();
    profile.query::<(), ()>(&sql, values, |row| {
        most.insert((row.get(0)?, row.get(1)?, row.get(2)?), row.get(3)?);
        Ok(())
    })?;
    most.retain(|key, _| keys.contains(key));
    Ok(most)
}
