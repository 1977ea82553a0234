//! The cells of each communicator, operation and bucket, ranks taken together.

use super::catalog::{Catalog, unsigned};
use super::performed::{Classes, is_of_own_bytes};
use super::source::{Relation, Source};
use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

/// One operation on one communicator with messages of one bucket.
#[derive(Clone, Debug)]
pub struct Operations {
    pub comm: i64,
    pub op: i64,
    pub bucket: i64,
    /// How many ranks called it.
    pub ranks: u32,
    /// Of a collective operation, how often the communicator performed it: the most calls that a rank made. Of any
    /// other, the calls of all ranks.
    pub calls: i64,
    /// Of these, calls that another size class of the operation counts too, with other ranks: sums leave them out.
    pub again: i64,
    /// Of all ranks together, and of the one that made most.
    pub rank_calls: i64,
    pub rank_calls_max: i64,
    pub failed: i64,
    /// Over all ranks.
    pub bytes_sent: u64,
    pub bytes_recv: u64,
    /// Over all ranks.
    pub time_ns: i64,
    /// Of the rank that spent most, and of the one that spent least.
    pub rank_max_ns: i64,
    pub rank_min_ns: i64,
    /// The shortest and the longest call on any rank, where they were asked for.
    pub time_min_ns: Option<i64>,
    pub time_max_ns: Option<i64>,
}

impl Operations {
    /// The same operation on another communicator, of which any rank counts again.
    pub fn add(&mut self, other: &Operations) {
        let extreme = |one: Option<i64>, other: Option<i64>, of: fn(i64, i64) -> i64| match (one, other) {
            (Some(one), Some(other)) => Some(of(one, other)),
            (one, other) => one.or(other),
        };
        self.ranks = self.ranks.saturating_add(other.ranks);
        self.calls = self.calls.saturating_add(other.calls);
        self.again = self.again.saturating_add(other.again);
        self.rank_calls = self.rank_calls.saturating_add(other.rank_calls);
        self.rank_calls_max = self.rank_calls_max.max(other.rank_calls_max);
        self.failed = self.failed.saturating_add(other.failed);
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
        self.bytes_recv = self.bytes_recv.saturating_add(other.bytes_recv);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.rank_max_ns = self.rank_max_ns.max(other.rank_max_ns);
        self.rank_min_ns = self.rank_min_ns.min(other.rank_min_ns);
        self.time_min_ns = extreme(self.time_min_ns, other.time_min_ns, i64::min);
        self.time_max_ns = extreme(self.time_max_ns, other.time_max_ns, i64::max);
    }

    /// Its part of the calls of all size classes.
    pub fn performed(&self) -> i64 {
        self.calls.saturating_sub(self.again)
    }

    /// The mean over the ranks that called.
    pub fn rank_avg_ns(&self) -> i64 {
        self.time_ns / i64::from(self.ranks.max(1))
    }
}

/// By communicator, operation and bucket. Single calls may be left out where nobody shows them.
pub fn operations(
    profile: &Profile,
    catalog: &Catalog,
    filter: &Filter,
    with_single_calls: bool,
) -> Result<Vec<Operations>, Error> {
    let Relation { sql, values } = Source::new(profile, catalog, filter).groups(with_single_calls)?;
    let sql = format!(
        "SELECT comm, op, bucket, ranks, calls, calls_max, failed, failed_max, bytes_sent, bytes_recv, time_ns, \
         rank_max_ns, rank_min_ns, time_min_ns, time_max_ns FROM ({sql})"
    );
    let mut rows: Vec<Operations> = profile.query(&sql, values, |row| {
        let op = row.get(1)?;
        let (rank_calls, rank_calls_max) = (row.get(4)?, row.get(5)?);
        let (calls, failed) = if is_performed(catalog, op) { (rank_calls_max, 7) } else { (rank_calls, 6) };
        Ok(Operations {
            comm: row.get(0)?,
            op,
            bucket: row.get(2)?,
            ranks: row.get(3)?,
            calls,
            again: 0,
            rank_calls,
            rank_calls_max,
            failed: row.get(failed)?,
            bytes_sent: unsigned(row.get(8)?),
            bytes_recv: unsigned(row.get(9)?),
            time_ns: row.get(10)?,
            rank_max_ns: row.get(11)?,
            rank_min_ns: row.get(12)?,
            time_min_ns: row.get(13)?,
            time_max_ns: row.get(14)?,
        })
    })?;
    let mut classes = Classes::default();
    let is_shared = |row: &Operations| is_of_own_bytes(row.bucket) && is_performed(catalog, row.op);
    for row in rows.iter().filter(|row| is_shared(row)) {
        classes.add((row.comm, row.op, None), row.rank_calls_max, row.rank_calls);
    }
    let mut performed = classes.performed(profile, catalog, filter)?;
    for row in rows.iter_mut().filter(|row| is_shared(row)) {
        let left = performed.entry((row.comm, row.op, None)).or_default();
        row.again = row.calls.saturating_sub(*left).max(0);
        *left -= row.performed();
    }
    Ok(rows)
}

/// Whether a communicator makes such a call, and not each of its ranks.
fn is_performed(catalog: &Catalog, op: i64) -> bool {
    catalog.operations.get(&op).is_some_and(|operation| operation.is_collective())
}
