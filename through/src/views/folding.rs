//! Families of communicators as one line each.

use std::collections::BTreeMap;

use commsee::ranks::Ranks;

use super::communicator::{Folded, OnCommunicator};
use crate::query::catalog::Communicator;
use crate::query::communicators::Spread;
use crate::query::families::{Families, Family};
use crate::query::operations::Operations;

/// When communicators that were made alike are one line of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Folding {
    /// Where they are more than a reader compares one by one.
    #[default]
    Usual,
    Never,
}

/// So many stay apart.
const APART: usize = 3;
/// Names that are told of a family.
const NAMED: usize = 4;

/// Rows of communicators, each with the others of its family that agree in the key, if they are enough to be one line of a table. Rows keep their
/// order in a line; lines have none.
pub fn alike<R, K: Ord>(
    rows: impl IntoIterator<Item = R>,
    families: &Families,
    key: impl Fn(&R) -> (i64, K),
) -> Vec<(R, Vec<R>)> {
    let mut groups: BTreeMap<(i64, K), Vec<R>> = BTreeMap::new();
    for row in rows {
        let (comm, key) = key(&row);
        groups.entry((families.find(comm).map_or(comm, Family::first), key)).or_default().push(row);
    }
    let mut found = Vec::new();
    for rows in groups.into_values() {
        let is_one = rows.len() > APART;
        let mut rows = rows.into_iter();
        match rows.next() {
            Some(first) if is_one => found.push((first, rows.collect())),
            first => found.extend(first.into_iter().chain(rows).map(|row| (row, Vec::new()))),
        }
    }
    found
}

/// The list with families in place of their members, if there are enough of them. The order is lost.
pub fn folded(list: Vec<OnCommunicator>, families: &Families) -> Vec<OnCommunicator> {
    let mut alike: BTreeMap<i64, Vec<OnCommunicator>> = BTreeMap::new();
    let mut kept = Vec::new();
    for part in list {
        match families.find(part.comm.id) {
            Some(family) => alike.entry(family.first()).or_default().push(part),
            None => kept.push(part),
        }
    }
    for members in alike.into_values() {
        match families.find(members[0].comm.id) {
            Some(family) if members.len() > APART => kept.push(one(members, family)),
            _ => kept.extend(members),
        }
    }
    kept
}

fn one(mut members: Vec<OnCommunicator>, family: &Family) -> OnCommunicator {
    members.sort_by(|a, b| a.comm.name_key().cmp(&b.comm.name_key()));
    let mut names: Vec<&str> = members.iter().take(NAMED).map(|part| part.comm.name.as_str()).collect();
    let rest = format!("and {} more", members.len().saturating_sub(NAMED));
    names.extend((members.len() > NAMED).then_some(rest.as_str()));
    let folded = Folded { title: family.title(members.len()), names: names.join(", "), members: members.len() };
    let mut ranks = Ranks::default();
    for list in members.iter().filter_map(|part| part.comm.ranks.as_deref()) {
        ranks = ranks.with(&Ranks::read(list));
    }
    let first = &members[0].comm;
    let comm = Communicator {
        name: format!("{} and {} more", first.name, members.len() - 1),
        label: family.label.clone(),
        freed: members.iter().all(|part| part.comm.freed),
        ranks: (!ranks.is_empty()).then(|| ranks.to_string().into()),
        ..first.clone()
    };
    let (mut total, mut involved_calls) = (Default::default(), 0i64);
    let mut spread: Option<Spread> = None;
    let mut rows: BTreeMap<(i64, i64), Operations> = BTreeMap::new();
    for part in members {
        let sum: &mut super::communicator::Total = &mut total;
        sum.add(&part.total);
        involved_calls = involved_calls.saturating_add(part.involved_calls);
        spread = both(spread, part.spread);
        for row in part.rows {
            match rows.get_mut(&(row.op, row.bucket)) {
                Some(sum) => sum.add(&row),
                None => _ = rows.insert((row.op, row.bucket), row),
            }
        }
    }
    let rows = rows.into_values().collect();
    OnCommunicator { comm, total, spread, rows, involved_calls, family: Some(folded) }
}

/// Over the ranks of both communicators, each of which may be in both.
fn both(one: Option<Spread>, other: Option<Spread>) -> Option<Spread> {
    let (Some(one), Some(other)) = (one, other) else { return one.or(other) };
    Some(Spread {
        ranks: one.ranks.saturating_add(other.ranks),
        time_ns: one.time_ns.saturating_add(other.time_ns),
        rank_max_ns: one.rank_max_ns.max(other.rank_max_ns),
        rank_min_ns: one.rank_min_ns.min(other.rank_min_ns),
    })
}
