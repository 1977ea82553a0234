//! Bounds of waiting from counters alone.
//!
//! All members leave a barrier, and an operation in which each has something of each, when the last one has come, or shortly after. So the rank
//! that came last each time waited for nobody, and what others spent more than it they waited. With M the time of a rank, and one number of
//! calls for all: M − min M ≤ waiting ≤ M − calls · shortest call. If one rank is always late, both bounds are the truth; if it is a new one each time, the upper one is.
//! Nothing of this holds where a root decides, or where ranks make different numbers of calls.

use std::collections::{BTreeMap, BTreeSet};

use super::{all_to_all, named};
use crate::query::Error;
use crate::query::catalog::{Catalog, size_class};
use crate::query::filter::Filter;
use crate::query::open::Profile;
use crate::query::source::{Relation, Source};

/// One operation on one communicator.
#[derive(Clone, Debug)]
pub struct Group {
    pub comm: i64,
    pub op: i64,
    /// Of each member.
    pub calls: i64,
    /// Over all members.
    pub time_ns: i64,
    /// By rank; none where nothing can be said.
    pub members: Vec<Member>,
    pub refused: Option<Refused>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    pub rank: i64,
    pub time_ns: i64,
    /// Waiting, at least and at most.
    pub min_ns: i64,
    pub max_ns: i64,
}

/// Why waiting cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refused {
    /// Ranks made different numbers of calls, or some are not in the profile.
    CallsDiffer,
    /// The members of an intercommunicator wait for the other group only.
    Intercommunicator,
}

/// Who is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Always the same ranks.
    Same,
    /// A new one each time, or all spent the same for another reason.
    Changing,
    Mixed,
}

/// Bounds this close tell that it is the same rank, or that it is not.
const SAME: f64 = 0.5;
const CHANGING: f64 = 0.2;
/// A rank this close to the one that spent least, of the range that ranks spent, is late as well.
const NEAR: f64 = 0.05;

impl Group {
    pub fn min_ns(&self) -> i64 {
        self.members.iter().fold(0, |sum, member| sum.saturating_add(member.min_ns))
    }

    pub fn max_ns(&self) -> i64 {
        self.members.iter().fold(0, |sum, member| sum.saturating_add(member.max_ns))
    }

    pub fn pattern(&self) -> Option<Pattern> {
        Pattern::of(self.min_ns(), self.max_ns())
    }

    /// The ranks that the others waited for, if it was not a new one each time.
    pub fn late_ranks(&self) -> Vec<i64> {
        if !matches!(self.pattern(), Some(Pattern::Same | Pattern::Mixed)) {
            return Vec::new();
        }
        let least = self.members.iter().map(|member| member.min_ns).min().unwrap_or_default();
        let most = self.members.iter().map(|member| member.min_ns).max().unwrap_or_default();
        let limit = least as f64 + NEAR * (most as f64 - least as f64);
        self.members.iter().filter(|member| member.min_ns as f64 <= limit).map(|member| member.rank).collect()
    }
}

impl Pattern {
    /// By how close the bounds are; nothing where nobody waited.
    pub fn of(min_ns: i64, max_ns: i64) -> Option<Pattern> {
        match min_ns as f64 / max_ns as f64 {
            _ if max_ns <= 0 => None,
            share if share >= SAME => Some(Pattern::Same),
            share if share < CHANGING => Some(Pattern::Changing),
            _ => Some(Pattern::Mixed),
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    calls: i64,
    time_ns: i64,
    shortest_ns: i64,
}

impl Cell {
    fn add(&mut self, other: &Cell) {
        self.calls = self.calls.saturating_add(other.calls);
        self.time_ns = self.time_ns.saturating_add(other.time_ns);
        self.shortest_ns = self.shortest_ns.min(other.shortest_ns);
    }
}

/// What each rank did, by rank.
type Cells = Vec<(i64, Cell)>;

/// Of all operations that hold a rank until all have come, and which the filter leaves. What it says of ranks and times is the caller's.
pub fn groups(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<Vec<Group>, Error> {
    groups_of(profile, catalog, filter, all_to_all(catalog).into_keys().collect())
}

/// The same bounds of fences, which hold only where an access needs it: what they say is sure where the late ranks are busy elsewhere.
pub fn fences(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<Vec<Group>, Error> {
    groups_of(profile, catalog, filter, named(catalog, &["MPI_Win_fence"]))
}

fn groups_of(profile: &Profile, catalog: &Catalog, filter: &Filter, ops: BTreeSet<i64>) -> Result<Vec<Group>, Error> {
    let wanted = ops.into_iter().filter(|op| filter.has_op(*op)).collect();
    let filter = Filter { ops: Some(wanted), ranks: None, time: None, ..filter.clone() };
    let source = Source::new(profile, catalog, &filter);
    source.needs_single_ranks_for("waiting")?;
    let Relation { sql, values } = source.rows()?;
    // By communicator and operation, then bucket.
    let mut cells: BTreeMap<(i64, i64), BTreeMap<i64, Cells>> = BTreeMap::new();
    // Those of one sum come one after the other.
    let (mut held, mut last) = (Cells::new(), None);
    let mut put = |key: Option<[i64; 3]>, held: &mut Cells| {
        if let Some([comm, op, bucket]) = key {
            cells.entry((comm, op)).or_default().entry(bucket).or_default().extend_from_slice(held);
            held.clear();
        }
    };
    let sql = format!("SELECT comm, op, bucket, rank, calls, time_ns, time_min_ns FROM ({sql})");
    profile.query::<(), ()>(&sql, values, |row| {
        let key = Some([row.get(0)?, row.get(1)?, row.get(2)?]);
        if key != last {
            put(std::mem::replace(&mut last, key), &mut held);
        }
        let shortest_ns = row.get::<_, Option<i64>>(6)?.unwrap_or(0).max(0);
        held.push((row.get(3)?, Cell { calls: row.get(4)?, time_ns: row.get(5)?, shortest_ns }));
        Ok(())
    })?;
    put(last, &mut held);
    let of_buckets = |(bucket, cells)| (bucket, merged(cells));
    let groups = cells
        .into_iter()
        .filter_map(|((comm, op), buckets)| group(catalog, comm, op, buckets.into_iter().map(of_buckets).collect()));
    Ok(groups.collect())
}

fn group(catalog: &Catalog, comm: i64, op: i64, buckets: BTreeMap<i64, Cells>) -> Option<Group> {
    let communicator = catalog.communicators.get(&comm)?;
    let size = communicator.size.filter(|size| *size > 1)?;
    let over_buckets = merged(buckets.values().flatten().copied().collect());
    let time_ns = over_buckets.iter().fold(0i64, |sum, (_, cell)| sum.saturating_add(cell.time_ns));
    let calls = over_buckets.iter().map(|(_, cell)| cell.calls).max().unwrap_or_default();
    let mut group = Group { comm, op, calls, time_ns, members: Vec::new(), refused: None };
    if communicator.remote_size > 0 {
        return Some(Group { refused: Some(Refused::Intercommunicator), ..group });
    }
    // Where calls of a size are those of the same size on all ranks, each size tells for itself.
    let is_same =
        |cells: &Cells| cells.len() as u64 == size && cells.iter().all(|(_, cell)| cell.calls == cells[0].1.calls);
    // Classes of a rank's own bytes are no sizes that ranks share.
    let are_shared = buckets.keys().all(|bucket| size_class(*bucket) == *bucket);
    if are_shared && buckets.values().all(is_same) {
        group.members = sandwich(buckets.values());
    } else if is_same(&over_buckets) {
        group.members = sandwich([&over_buckets].into_iter());
    } else {
        group.refused = Some(Refused::CallsDiffer);
    }
    Some(group)
}

/// One cell for each rank.
fn merged(mut cells: Cells) -> Cells {
    cells.sort_by_key(|(rank, _)| *rank);
    cells.dedup_by(|(rank, next), (kept, sum)| {
        let is_same = rank == kept;
        if is_same {
            sum.add(next);
        }
        is_same
    });
    cells
}

fn sandwich<'a>(parts: impl Iterator<Item = &'a Cells>) -> Vec<Member> {
    let mut members: BTreeMap<i64, Member> = BTreeMap::new();
    for cells in parts {
        let least_ns = cells.iter().map(|(_, cell)| cell.time_ns).min().unwrap_or_default();
        let shortest_ns = cells.iter().map(|(_, cell)| cell.shortest_ns).min().unwrap_or_default();
        for (rank, cell) in cells {
            let member = members.entry(*rank).or_insert(Member { rank: *rank, time_ns: 0, min_ns: 0, max_ns: 0 });
            let work_ns = cell.calls.saturating_mul(shortest_ns);
            let min_ns = cell.time_ns.saturating_sub(least_ns);
            member.time_ns = member.time_ns.saturating_add(cell.time_ns);
            member.min_ns = member.min_ns.saturating_add(min_ns);
            member.max_ns = member.max_ns.saturating_add(cell.time_ns.saturating_sub(work_ns).max(min_ns));
        }
    }
    members.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls that each take 10 and in which the other ranks wait 90 for the late one.
    fn cells(late: &[i64], ranks: i64) -> Cells {
        let cell = |rank| {
            let waited = late.iter().filter(|late| **late != rank).count() as i64;
            (
                rank,
                Cell {
                    calls: late.len() as i64,
                    time_ns: 10 * late.len() as i64 + 90 * waited,
                    shortest_ns: if waited < late.len() as i64 { 10 } else { 100 },
                },
            )
        };
        (0..ranks).map(cell).collect()
    }

    fn told(late: &[i64]) -> Group {
        let members = sandwich([&cells(late, 4)].into_iter());
        Group { comm: 2, op: 8, calls: 0, time_ns: 0, members, refused: None }
    }

    #[test]
    fn of_one_late_rank_both_bounds_are_the_truth() {
        let group = told(&[2; 10]);
        for member in &group.members {
            let truth = if member.rank == 2 { 0 } else { 900 };
            assert_eq!((member.min_ns, member.max_ns), (truth, truth));
        }
        assert_eq!((group.pattern(), group.late_ranks()), (Some(Pattern::Same), vec![2]));
    }

    #[test]
    fn of_late_ranks_in_turn_the_upper_bound_is_the_truth() {
        let group = told(&[0, 1, 2, 3, 0, 1, 2, 3]);
        assert!(group.members.iter().all(|member| (member.min_ns, member.max_ns) == (0, 540)));
        assert_eq!((group.pattern(), group.late_ranks()), (Some(Pattern::Changing), vec![]));
    }

    #[test]
    fn the_truth_lies_between_the_bounds() {
        let late = [0, 0, 0, 1, 2, 0, 3, 0];
        for member in told(&late).members {
            let truth = 90 * late.iter().filter(|late| **late != member.rank).count() as i64;
            assert!(member.min_ns <= truth && truth <= member.max_ns, "{member:?} {truth}");
        }
    }
}
