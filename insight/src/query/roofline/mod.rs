//! What calls took, against what was measured as possible on the machine: each communicator, operation and message size, and what the gap costs.

mod bound;
mod missing;
mod placed;
mod possible;

use std::collections::{BTreeMap, BTreeSet};

pub use self::bound::Basis;
pub use self::missing::{Missing, What};
pub use self::possible::Reach;

use self::bound::Bound;
use self::placed::Placed;
use self::possible::Possible;
use super::bench::Measurements;
use through_core::query::Error;
use through_core::query::catalog::{Catalog, Detail};
use through_core::query::completed::completed;
use through_core::query::filter::Filter;
use through_core::query::open::Profile;
use through_core::query::operations::{Operations, operations};
use through_core::query::performed::is_of_own_bytes;
use through_core::query::waiting::{groups, timed};

/// One operation on one communicator with messages of one size.
#[derive(Clone, Debug)]
pub struct Entry {
    pub comm: i64,
    pub op: i64,
    /// Nothing where ranks have sizes of their own: all sizes are one then.
    pub bucket: Option<i64>,
    /// Over all ranks.
    pub calls: i64,
    /// In the calls, and in calls that completed what they started, over all ranks.
    pub time_ns: i64,
    /// The shortest call on any rank, where it is known and ends with the message.
    pub shortest_ns: Option<i64>,
    pub waiting: Waiting,
    /// Of a message, or of what the busiest rank has to move in a collective: a mean.
    pub bytes: f64,
    pub verdict: Verdict,
}

/// Time that ranks waited for others, over all ranks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waiting {
    pub min_ns: i64,
    /// Nothing where nothing bounds it, as in calls that complete several messages.
    pub max_ns: Option<i64>,
}

#[derive(Clone, Debug)]
pub enum Verdict {
    /// What the machine can do, over all ranks.
    Compared {
        floor_ns: i64,
        basis: Basis,
        reach: Reach,
        crossing: f64,
    },
    /// The time is that of calls that completed the messages on the other side.
    CompletedElsewhere,
    NotMeasured(Missing),
    /// The machine needs no time that is known: the latency of a small nonblocking message overlaps, and a single rank has nobody to wait for.
    NoBound,
}

impl Entry {
    pub fn floor_ns(&self) -> Option<i64> {
        match self.verdict {
            Verdict::Compared { floor_ns, .. } => Some(floor_ns),
            _ => None,
        }
    }

    /// Without what ranks certainly waited for others.
    pub fn busy_ns(&self) -> i64 {
        self.time_ns.saturating_sub(self.waiting.min_ns).max(0)
    }

    /// What the gap costs at most: certain waiting is taken off.
    pub fn gap_ns(&self) -> Option<i64> {
        Some(self.busy_ns().saturating_sub(self.floor_ns()?).max(0))
    }

    /// And at least: all that may be waiting is taken off.
    pub fn gap_min_ns(&self) -> Option<i64> {
        let left_ns = self.time_ns.saturating_sub(self.waiting.max_ns?);
        Some(left_ns.saturating_sub(self.floor_ns()?).max(0))
    }

    /// Whether calls took less than was measured.
    pub fn is_faster(&self) -> bool {
        self.floor_ns().is_some_and(|floor_ns| self.busy_ns() < floor_ns)
    }

    /// The same on another communicator, or of another size.
    pub fn add(&mut self, other: &Entry) {
        let weight = |entry: &Entry| entry.calls.max(1) as f64;
        let bytes = self.bytes * weight(self) + other.bytes * weight(other);
        self.bytes = bytes / (weight(self) + weight(other));
        self.calls = self.calls.saturating_add(other.calls);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.shortest_ns = self.shortest_ns.zip(other.shortest_ns).map(|(a, b)| a.min(b));
        self.waiting.min_ns = self.waiting.min_ns.saturating_add(other.waiting.min_ns);
        self.waiting.max_ns = self.waiting.max_ns.zip(other.waiting.max_ns).map(|(a, b)| a.saturating_add(b));
        if let (Verdict::Compared { floor_ns, reach, .. }, Verdict::Compared { floor_ns: more_ns, reach: other, .. }) =
            (&mut self.verdict, &other.verdict)
        {
            *floor_ns = floor_ns.saturating_add(*more_ns);
            *reach = (*reach).max(*other);
        }
    }
}

/// By what its gap costs, the heaviest first; then what could not be compared, by its time.
pub fn roofline(
    profile: &Profile,
    catalog: &Catalog,
    filter: &Filter,
    measurements: &Measurements,
) -> Result<Vec<Entry>, Error> {
    let possible = Possible::of(measurements);
    let placed = Placed::read(profile, catalog)?;
    let waits = waits(profile, catalog, filter)?;
    let exact = exact(profile, catalog, filter)?;
    let mut later: BTreeMap<(i64, i64, i64), i64> = BTreeMap::new();
    for row in completed(profile, catalog, filter)? {
        let time_ns = later.entry((row.comm, row.started, row.bucket)).or_default();
        *time_ns = time_ns.saturating_add(row.time_ns);
    }
    let rows = with_own_sizes_together(operations(profile, catalog, filter, true)?);
    let mut of_op: BTreeMap<(i64, i64), i64> = BTreeMap::new();
    for (row, _) in &rows {
        *of_op.entry((row.comm, row.op)).or_default() += row.time_ns.max(0);
    }
    let mut entries = Vec::new();
    for (row, buckets) in rows {
        let name = catalog.operations.get(&row.op).map(|op| op.name.as_str()).unwrap_or_default();
        let Some(at) = placed.of(row.comm) else { continue };
        let Some(bound) = Bound::of(name, &row, at.ranks) else { continue };
        let later_ns = buckets.iter().filter_map(|bucket| later.get(&(row.comm, row.op, *bucket)));
        let later_ns = later_ns.fold(0i64, |sum, time_ns| sum.saturating_add(*time_ns));
        let time_ns = row.time_ns.saturating_add(later_ns);
        let shortest_ns = row.time_min_ns.filter(|_| !bound.is_started_only);
        let waiting = match exact.get(&(row.comm, row.op)) {
            Some(waited_ns) => {
                let part = row.time_ns as f64 / of_op.get(&(row.comm, row.op)).copied().unwrap_or(0).max(1) as f64;
                let ns = ((*waited_ns as f64 * part) as i64).min(time_ns);
                Waiting { min_ns: ns, max_ns: Some(ns) }
            }
            None => {
                let class = if is_of_own_bytes(buckets[0]) { OWN_SIZES } else { buckets[0] };
                let bounds = waits.get(&(row.comm, row.op, class));
                // In none of the others ranks waited longer than all that is beyond the shortest call.
                let beyond_ns =
                    |shortest_ns: i64| time_ns.saturating_sub(row.rank_calls.saturating_mul(shortest_ns)).max(0);
                Waiting {
                    min_ns: bounds.map_or(0, |bounds| bounds.0),
                    max_ns: bounds.map(|bounds| bounds.1).or(shortest_ns.map(beyond_ns)),
                }
            }
        };
        let verdict = match bound.time_s(&possible, at) {
            _ if bound.is_started_only && later_ns == 0 => Verdict::CompletedElsewhere,
            Ok((call_s, basis, reach)) => match (call_s * 1e9 * row.rank_calls.max(0) as f64).round() as i64 {
                ..=0 => Verdict::NoBound,
                floor_ns => Verdict::Compared { floor_ns, basis, reach, crossing: at.crossing },
            },
            Err(missing) => Verdict::NotMeasured(missing),
        };
        let bucket = (buckets.len() == 1).then(|| buckets[0]).filter(|bucket| !is_of_own_bytes(*bucket));
        let (comm, op, calls, bytes) = (row.comm, row.op, row.rank_calls, bound.bytes);
        entries.push(Entry { comm, op, bucket, calls, time_ns, shortest_ns, waiting, bytes, verdict });
    }
    entries.sort_by(|a, b| {
        weight(b).cmp(&weight(a)).then_with(|| (a.comm, a.op, a.bucket).cmp(&(b.comm, b.op, b.bucket)))
    });
    Ok(entries)
}

/// By what entries are ordered: what the gap costs, and what could not be compared behind it.
pub fn weight(entry: &Entry) -> (i64, i64) {
    (entry.gap_ns().unwrap_or(-1), entry.time_ns)
}

/// A row, and the size classes that it is of.
type Classed = (Operations, Vec<i64>);

/// Classes of a rank's own bytes are parts of the same calls: they become one row.
fn with_own_sizes_together(rows: Vec<Operations>) -> Vec<Classed> {
    let mut together: BTreeMap<(i64, i64, Option<i64>), Classed> = BTreeMap::new();
    for row in rows {
        let bucket = (!is_of_own_bytes(row.bucket)).then_some(row.bucket);
        match together.get_mut(&(row.comm, row.op, bucket)) {
            // The same ranks call.
            Some((sum, buckets)) => {
                buckets.push(row.bucket);
                let ranks = sum.ranks.max(row.ranks);
                sum.add(&row);
                sum.ranks = ranks;
            }
            None => _ = together.insert((row.comm, row.op, bucket), (row.clone(), vec![row.bucket])),
        }
    }
    together.into_values().collect()
}

/// All classes of ranks' own bytes.
const OWN_SIZES: i64 = -1;

/// Bounds of waiting by communicator, operation and size class.
type Bounds = BTreeMap<(i64, i64, i64), (i64, i64)>;

fn waits(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<Bounds, Error> {
    let mut bounds = Bounds::new();
    if catalog.detail != Detail::Rank {
        return Ok(bounds);
    }
    let there: BTreeSet<i64> = catalog.buckets.keys().copied().filter(|bucket| filter.has_bucket(*bucket)).collect();
    let (own, shared): (BTreeSet<i64>, BTreeSet<i64>) = there.into_iter().partition(|bucket| is_of_own_bytes(*bucket));
    let single = shared.into_iter().map(|bucket| (bucket, BTreeSet::from([bucket])));
    for (class, buckets) in single.chain([(OWN_SIZES, own)]) {
        let of_size = Filter { buckets: Some(buckets), ..filter.clone() };
        for group in groups(profile, catalog, &of_size)? {
            if group.refused.is_none() && filter.ranks.is_none() && filter.time.is_none() {
                bounds.insert((group.comm, group.op, class), (group.min_ns(), group.max_ns()));
            }
        }
    }
    Ok(bounds)
}

/// What a whole timeline tells, by communicator and operation. It knows no sizes and no phases.
fn exact(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<BTreeMap<(i64, i64), i64>, Error> {
    let is_whole =
        filter.buckets.is_none() && filter.phases.is_none() && filter.time.is_none() && filter.sites.is_none();
    let timed = if is_whole { timed(profile, catalog)? } else { None };
    let mut exact: BTreeMap<(i64, i64), i64> = BTreeMap::new();
    for timed in timed.iter().filter(|timed| timed.is_whole()) {
        for waited in timed.waited.iter().filter(|waited| filter.has_rank(waited.rank)) {
            let ns = exact.entry((waited.comm, waited.op)).or_default();
            *ns = ns.saturating_add(waited.wait_ns);
        }
    }
    Ok(exact)
}
