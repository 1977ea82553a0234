//! What completion calls completed, and waited for.

use std::collections::BTreeMap;

use super::catalog::{Catalog, unsigned};
use super::source::Source;
use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

/// The number of an operation that is not known.
pub const UNKNOWN: i64 = commsee::shard::NO_OPERATION as i64;

/// Requests of one operation and size that calls of one operation completed on a communicator, over all ranks.
#[derive(Clone, Debug)]
pub struct Completed {
    pub comm: i64,
    pub op: i64,
    /// The operation of the requests, or [`UNKNOWN`].
    pub started: i64,
    pub bucket: i64,
    pub requests: i64,
    pub bytes: u64,
    /// Of the calls that waited for them.
    pub time_ns: i64,
    /// The rank from which came what calls waited for longest, of those that are known, and that time.
    pub peer: Option<(i64, i64)>,
}

/// Those that calls waited for longest first.
pub fn completed(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<Vec<Completed>, Error> {
    if filter.ranks.is_some() {
        Source::new(profile, catalog, filter).needs_single_ranks()?;
    }
    let (condition, values) = filter.completed_condition();
    let sql = format!(
        "SELECT x.comm, x.op, x.started, x.bucket, x.peer, sum(x.requests), sum(x.bytes), sum(x.time_ns) FROM completed x \
         WHERE {condition} GROUP BY x.comm, x.op, x.started, x.bucket, x.peer"
    );
    let mut rows: BTreeMap<[i64; 4], Completed> = BTreeMap::new();
    profile.query::<(), ()>(&sql, values, |row| {
        let key = [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?];
        let [comm, op, started, bucket] = key;
        let (peer, time_ns): (i64, i64) = (row.get(4)?, row.get(7)?);
        let none = Completed { comm, op, started, bucket, requests: 0, bytes: 0, time_ns: 0, peer: None };
        let sum = rows.entry(key).or_insert(none);
        sum.requests = sum.requests.saturating_add(row.get(5)?);
        sum.bytes = sum.bytes.saturating_add(unsigned(row.get(6)?));
        sum.time_ns = sum.time_ns.saturating_add(time_ns);
        if peer >= 0 && sum.peer.is_none_or(|(_, most_ns)| time_ns > most_ns) {
            sum.peer = Some((peer, time_ns));
        }
        Ok(())
    })?;
    let mut rows: Vec<Completed> = rows.into_values().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.time_ns));
    Ok(rows)
}
