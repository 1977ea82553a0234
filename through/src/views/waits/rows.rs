//! What the tables of waiting show: sums of what ranks waited, by rank and over ranks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use commsee::ranks::Ranks;

use super::Context;
use crate::query::families::Families;
use crate::query::waiting::{Group, Member, Pattern, Refused, State, Waited};

/// A rank that caused such a part of what another waited is named.
const NAMED: f64 = 0.25;

/// What one rank waited in one operation.
pub struct Wait {
    pub comm: i64,
    pub op: i64,
    pub rank: i64,
    pub bounds: Option<(i64, i64)>,
    pub exact: Option<(State, i64)>,
    pub late: Rc<Ranks>,
}

/// The same over ranks.
pub struct Operation {
    pub comm: i64,
    pub op: i64,
    pub time_ns: Option<i64>,
    pub bounds: Option<(i64, i64)>,
    pub exact: Option<(State, i64)>,
    pub pattern: Option<Pattern>,
    pub late: Ranks,
    /// Who waited most.
    pub victim: Option<i64>,
    pub refused: Option<Refused>,
    /// The timeline tells of the end of the run alone.
    pub is_partial: bool,
    /// In a table, of a family of so many.
    pub title: Option<String>,
}

/// By communicator, operation and rank; of states that only a timeline tells one row each.
pub fn waits(groups: &[Group], pairs: &[Waited], is_partial: bool, has_rank: impl Fn(i64) -> bool) -> Vec<Wait> {
    let mut exact: BTreeMap<(i64, i64, i64), BTreeMap<State, Vec<&Waited>>> = BTreeMap::new();
    for waited in pairs.iter().filter(|waited| has_rank(waited.rank)) {
        let of_rank = exact.entry((waited.comm, waited.op, waited.rank)).or_default();
        of_rank.entry(waited.state).or_default().push(waited);
    }
    let mut waits = Vec::new();
    for group in groups {
        let late: Ranks = group.late_ranks().into_iter().filter_map(|rank| rank.try_into().ok()).collect();
        let late = Rc::new(late);
        for member in group.members.iter().filter(|member| has_rank(member.rank)) {
            let (comm, op, rank) = (group.comm, group.op, member.rank);
            let timed = exact.remove(&(comm, op, rank)).and_then(|states| states.into_iter().next());
            waits.push(Wait {
                comm,
                op,
                rank,
                bounds: Some((member.min_ns, member.max_ns)),
                late: timed
                    .as_ref()
                    .filter(|_| !is_partial)
                    .map_or_else(|| late.clone(), |(_, pairs)| late_of(pairs).into()),
                exact: timed.map(|(state, pairs)| (state, sum(&pairs))),
            });
        }
    }
    for ((comm, op, rank), states) in exact {
        for (state, pairs) in states {
            let (late, exact) = (late_of(&pairs).into(), Some((state, sum(&pairs))));
            waits.push(Wait { comm, op, rank, bounds: None, late, exact });
        }
    }
    waits
}

fn sum(pairs: &[&Waited]) -> i64 {
    pairs.iter().fold(0, |sum, waited| sum.saturating_add(waited.wait_ns))
}

fn late_of(pairs: &[&Waited]) -> Ranks {
    let mut caused: BTreeMap<i64, i64> = BTreeMap::new();
    for waited in pairs {
        let ns = caused.entry(waited.late_rank).or_default();
        *ns = ns.saturating_add(waited.wait_ns);
    }
    let whole = sum(pairs) as f64;
    let named = caused.into_iter().filter(|(_, ns)| *ns as f64 >= NAMED * whole);
    named.filter_map(|(rank, _)| rank.try_into().ok()).collect()
}

/// The heaviest first. Where people read them, families are one line.
pub fn operations(context: &Context, groups: &[Group], pairs: &[Waited], are_folded: bool) -> Vec<Operation> {
    let families = if are_folded { Families::of(&context.catalog) } else { Families::default() };
    let head = |comm: i64| families.find(comm).map_or(comm, |family| family.first());
    let has_rank = |rank: i64| context.filter.has_rank(rank);
    let mut exact: BTreeMap<(i64, i64), BTreeMap<State, Vec<&Waited>>> = BTreeMap::new();
    for waited in pairs.iter().filter(|waited| has_rank(waited.rank)) {
        exact.entry((head(waited.comm), waited.op)).or_default().entry(waited.state).or_default().push(waited);
    }
    let mut alike: BTreeMap<(i64, i64, Option<Refused>), Vec<&Group>> = BTreeMap::new();
    for group in groups {
        alike.entry((head(group.comm), group.op, group.refused)).or_default().push(group);
    }
    let mut operations: Vec<Operation> = Vec::new();
    for ((comm, op, refused), groups) in alike {
        let is_refused = refused.is_some();
        let timed =
            if is_refused { None } else { exact.remove(&(comm, op)).and_then(|states| states.into_iter().next()) };
        let add = |of: fn(&Group) -> i64| groups.iter().fold(0i64, |sum, group| sum.saturating_add(of(group)));
        let (least, most) = (add(Group::min_ns), add(Group::max_ns));
        let members: Vec<&Member> =
            groups.iter().flat_map(|group| &group.members).filter(|member| has_rank(member.rank)).collect();
        if members.is_empty() && !is_refused {
            continue;
        }
        let of_members =
            |of: fn(&Member) -> i64| members.iter().fold(0i64, |sum, member| sum.saturating_add(of(member)));
        // Where it matters: every communicator has somebody who was late by a little.
        let matters = |group: &&&Group| group.max_ns() as f64 >= NAMED / 2.0 * most as f64;
        let late = groups.iter().filter(matters).flat_map(|group| group.late_ranks());
        operations.push(Operation {
            comm,
            op,
            time_ns: Some(if is_refused { add(|group| group.time_ns) } else { of_members(|member| member.time_ns) }),
            bounds: (!is_refused).then(|| (of_members(|member| member.min_ns), of_members(|member| member.max_ns))),
            pattern: Pattern::of(least, most),
            late: late.filter_map(|rank| rank.try_into().ok()).collect(),
            victim: members
                .iter()
                .filter(|member| member.max_ns > 0)
                .max_by_key(|member| (member.max_ns, Reverse(member.rank)))
                .map(|member| member.rank),
            exact: timed.map(|(state, pairs)| (state, sum(&pairs))),
            refused,
            is_partial: false,
            title: (groups.len() > 1).then(|| families.find(comm).map(|family| family.title(groups.len()))).flatten(),
        });
    }
    for ((comm, op), states) in exact {
        for (state, pairs) in states {
            let comms: BTreeSet<i64> = pairs.iter().map(|waited| waited.comm).collect();
            let mut by_rank: BTreeMap<i64, i64> = BTreeMap::new();
            pairs.iter().for_each(|waited| *by_rank.entry(waited.rank).or_default() += waited.wait_ns);
            operations.push(Operation {
                comm,
                op,
                time_ns: None,
                bounds: None,
                pattern: None,
                late: late_of(&pairs),
                victim: by_rank.into_iter().max_by_key(|(rank, ns)| (*ns, Reverse(*rank))).map(|(rank, _)| rank),
                exact: Some((state, sum(&pairs))),
                refused: None,
                is_partial: false,
                title: (comms.len() > 1).then(|| families.find(comm).map(|family| family.title(comms.len()))).flatten(),
            });
        }
    }
    let weight = |operation: &Operation| {
        let (exact, bound) = (operation.exact.map(|(_, ns)| ns), operation.bounds.map(|(_, most)| most));
        exact.into_iter().chain(bound).max().unwrap_or_default()
    };
    operations.sort_by_key(|operation| (Reverse(weight(operation)), operation.comm, operation.op));
    operations
}
