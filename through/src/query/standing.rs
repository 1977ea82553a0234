//! Where every rank stood that had not finished: in which call, over which communicator, since when.

use std::collections::{BTreeMap, BTreeSet};

use super::catalog::Catalog;
use crate::error::Error;
use crate::filter::Filter;
use crate::open::Profile;

/// In the order in which groups are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Call {
        comm: i64,
        op: i64,
    },
    /// In no MPI call.
    Program,
    /// Counting was paused: most calls went by unseen.
    Unknown,
    Finished,
    /// No shard of it was found.
    Missing,
}

/// Ranks that stood at the same place.
#[derive(Clone, Debug)]
pub struct Group {
    pub place: Place,
    pub ranks: BTreeSet<u32>,
    pub threads: u32,
    /// When the first and the last of them got there, after the end of `MPI_Init`.
    pub since_ns: Option<(i64, i64)>,
    /// How long the longest is known to have stood there.
    pub for_ns: Option<i64>,
    /// Of a collective call: members of the communicator that were not in it.
    pub absent: BTreeSet<u32>,
}

/// The groups that the filter leaves, calls first, the oldest first; nothing where all ranks finished.
pub fn standings(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<Vec<Group>, Error> {
    if !profile.has_phases() {
        return Ok(Vec::new());
    }
    let mut groups: BTreeMap<Place, Group> = BTreeMap::new();
    let sql = "SELECT rank, comm, op, since_ns, for_ns FROM standing";
    type Row = (i64, Option<i64>, Option<i64>, Option<i64>, Option<i64>);
    let rows: Vec<Row> =
        profile.query(sql, vec![], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))?;
    for (rank, comm, op, since_ns, for_ns) in rows {
        let place = match (comm, op) {
            (Some(comm), Some(op)) => Place::Call { comm, op },
            _ if since_ns.is_none() => Place::Unknown,
            _ => Place::Program,
        };
        let group = add(&mut groups, place, rank);
        let both = |(first, last): (i64, i64), since: i64| (first.min(since), last.max(since));
        group.since_ns = since_ns.map(|since| both(group.since_ns.unwrap_or((since, since)), since)).or(group.since_ns);
        group.for_ns = group.for_ns.max(for_ns);
    }
    for process in catalog.processes.iter().filter(|process| process.state == "finished") {
        add(&mut groups, Place::Finished, process.rank);
    }
    let started: i64 = catalog.meta("ranks").and_then(|ranks| ranks.parse().ok()).unwrap_or(0);
    let known: BTreeSet<i64> = catalog.processes.iter().map(|process| process.rank).collect();
    (0..started).filter(|rank| !known.contains(rank)).for_each(|rank| _ = add(&mut groups, Place::Missing, rank));
    if groups.keys().all(|place| *place == Place::Finished) {
        return Ok(Vec::new());
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.iter_mut().for_each(|group| group.absent = absent(group, catalog));
    groups.retain_mut(|group| is_left(group, filter));
    groups.sort_by_key(|group| match group.place {
        Place::Call { .. } => (None, group.since_ns, group.place),
        place => (Some(place), None, place),
    });
    Ok(groups)
}

fn add(groups: &mut BTreeMap<Place, Group>, place: Place, rank: i64) -> &mut Group {
    let empty =
        || Group { place, ranks: BTreeSet::new(), threads: 0, since_ns: None, for_ns: None, absent: BTreeSet::new() };
    let group = groups.entry(place).or_insert_with(empty);
    group.threads += 1;
    group.ranks.extend(u32::try_from(rank));
    group
}

fn is_left(group: &mut Group, filter: &Filter) -> bool {
    let is_selected = match group.place {
        Place::Call { comm, op } => filter.has_comm(comm) && filter.has_op(op),
        _ => filter.comms.is_none() && filter.ops.is_none(),
    };
    group.ranks.retain(|rank| filter.has_rank(i64::from(*rank)));
    is_selected && !group.ranks.is_empty()
}

fn absent(group: &Group, catalog: &Catalog) -> BTreeSet<u32> {
    let Place::Call { comm, op } = group.place else { return BTreeSet::new() };
    let is_of_all = catalog.operations.get(&op).is_some_and(|operation| operation.class == "collective");
    let members = catalog.communicators.get(&comm).and_then(|comm| comm.ranks.as_deref()).filter(|_| is_of_all);
    members.map(members_of).unwrap_or_default().difference(&group.ranks).copied().collect()
}

/// Reads `0-3,8`. What makes no sense is left out.
fn members_of(text: &str) -> BTreeSet<u32> {
    let range = |word: &str| {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}
