//! In-flight calls: where every rank was that had not finished, in which call, over which communicator, since when.

use std::collections::BTreeMap;
use std::rc::Rc;

use commsee::ranks::Ranks;

use super::catalog::Catalog;
use super::overview::missing;
use super::sites::Spot;
use crate::query::Error;
use crate::query::filter::Filter;
use crate::query::open::Profile;

/// In the order in which groups are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
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

/// Ranks in the same state: in the same call on the same communicator, or in none.
#[derive(Clone, Debug)]
pub struct Group {
    pub state: State,
    pub ranks: Ranks,
    pub threads: u64,
    /// When the first and the last of them got there, after the end of `MPI_Init`.
    pub since_ns: Option<(i64, i64)>,
    /// How long the longest is known to have been there.
    pub for_ns: Option<i64>,
    /// Of a collective call: members of the communicator that were not in it.
    pub absent: Ranks,
    /// The line of the program that made the call.
    pub spot: Option<Rc<Spot>>,
}

/// What is known of a place so far: the rank of every thread there.
#[derive(Default)]
struct Found {
    ranks: Vec<u32>,
    threads: u64,
    since_ns: Option<(i64, i64)>,
    for_ns: Option<i64>,
}

/// The groups that the filter leaves, calls first, the oldest first; nothing where all ranks finished.
pub fn in_flight(profile: &Profile, catalog: &Catalog, filter: &Filter) -> Result<Vec<Group>, Error> {
    let mut places: BTreeMap<(State, Option<Rc<Spot>>), Found> = BTreeMap::new();
    let mut in_calls: BTreeMap<State, Vec<u32>> = BTreeMap::new();
    let sql = "SELECT rank, comm, op, since_ns, for_ns, site FROM standing";
    profile.query::<(), ()>(sql, vec![], |row| {
        let (rank, comm, op): (i64, Option<i64>, Option<i64>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (since_ns, for_ns): (Option<i64>, Option<i64>) = (row.get(3)?, row.get(4)?);
        let place = match (comm, op) {
            (Some(comm), Some(op)) => State::Call { comm, op },
            _ if since_ns.is_none() => State::Unknown,
            _ => State::Program,
        };
        let site: Option<i64> = row.get(5)?;
        if !filter.has_site(site) {
            return Ok(());
        }
        in_calls.entry(place).or_default().extend(u32::try_from(rank));
        let spot = site.and_then(|site| catalog.sites.spot(site)).cloned();
        let found = places.entry((place, spot)).or_default();
        found.add(rank);
        let both = |(first, last): (i64, i64), since: i64| (first.min(since), last.max(since));
        found.since_ns = since_ns.map(|since| both(found.since_ns.unwrap_or((since, since)), since)).or(found.since_ns);
        found.for_ns = found.for_ns.max(for_ns);
        Ok(())
    })?;
    for process in catalog.processes.iter().filter(|process| process.state == "finished") {
        places.entry((State::Finished, None)).or_default().add(process.rank);
    }
    let missing = missing(catalog);
    if places.keys().all(|(place, _)| *place == State::Finished) && missing.is_empty() {
        return Ok(Vec::new());
    }
    // Whoever is in the same call on another line is in it.
    let absent = |place: &State| {
        let ranks: Ranks = in_calls.get(place).into_iter().flatten().copied().collect();
        absent(*place, &ranks, catalog)
    };
    let group = |((place, spot), found): ((State, Option<Rc<Spot>>), Found)| found.group(place, absent(&place), spot);
    let mut groups: Vec<Group> = places.into_iter().map(group).collect();
    let none = Found::default().group(State::Missing, Ranks::default(), None);
    groups.push(Group { threads: missing.count(), ranks: missing, ..none });
    let wanted: Option<Ranks> =
        filter.ranks.as_ref().map(|ranks| ranks.iter().filter_map(|rank| u32::try_from(*rank).ok()).collect());
    groups.retain_mut(|group| is_left(group, filter, wanted.as_ref()));
    groups.sort_by_key(|group| match group.state {
        State::Call { .. } => (None, group.since_ns, group.state, group.spot.clone()),
        place => (Some(place), None, place, None),
    });
    Ok(groups)
}

impl Found {
    fn add(&mut self, rank: i64) {
        self.threads += 1;
        self.ranks.extend(u32::try_from(rank));
    }

    fn group(self, state: State, absent: Ranks, spot: Option<Rc<Spot>>) -> Group {
        let ranks: Ranks = self.ranks.into_iter().collect();
        Group { state, ranks, threads: self.threads, since_ns: self.since_ns, for_ns: self.for_ns, absent, spot }
    }
}

fn is_left(group: &mut Group, filter: &Filter, wanted: Option<&Ranks>) -> bool {
    let is_selected = match group.state {
        State::Call { comm, op } => filter.has_comm(comm) && filter.has_op(op),
        _ => filter.comms.is_none() && filter.ops.is_none() && filter.sites.is_none(),
    };
    if let Some(wanted) = wanted {
        group.ranks = group.ranks.within(wanted);
    }
    is_selected && !group.ranks.is_empty()
}

/// Members of a communicator that are not in the collective call in which others are.
fn absent(state: State, ranks: &Ranks, catalog: &Catalog) -> Ranks {
    let State::Call { comm, op } = state else { return Ranks::default() };
    let is_of_all = catalog.operations.get(&op).is_some_and(|operation| operation.class == "collective");
    let members = catalog.communicators.get(&comm).and_then(|comm| comm.ranks.as_deref()).filter(|_| is_of_all);
    members.map(|members| Ranks::read(members).without(ranks)).unwrap_or_default()
}
