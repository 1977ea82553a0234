//! Several runs side by side: what is the same communicator in all of them has one number.

use std::collections::{BTreeMap, HashMap};

use super::matching::{How, kinds, matches};
use super::run::{Comm, Run};
use super::shape::Kind;

/// One communicator of all runs, or all of one call where the runs have different numbers of ranks.
#[derive(Clone, Debug)]
pub struct Unit {
    /// By run: the communicators that it is there.
    pub members: Vec<Vec<usize>>,
    /// The least sure of the matches that it comes from; nothing: it is in the first run of its side alone.
    pub how: Option<How>,
}

#[derive(Clone, Debug)]
pub struct Aligned {
    pub units: Vec<Unit>,
    /// Whether all communicators of one call are one unit.
    pub is_by_call: bool,
}

impl Aligned {
    /// All are compared with the first run; what that one lacks with the run at `other`, the first one of the other side.
    pub fn of(runs: &[&Run], other: usize) -> Aligned {
        let is_by_call = runs.iter().any(|run| run.ranks != runs[0].ranks);
        let kinds: Vec<Vec<Kind>> = runs.iter().map(|run| kinds(run, is_by_call)).collect();
        let mut units: Vec<Unit> = Vec::new();
        let mut of_kind: Vec<HashMap<usize, usize>> = vec![HashMap::new(); runs.len()];
        let none = || vec![Vec::new(); runs.len()];
        for reference in [0, other] {
            let Some(run) = runs.get(reference) else { continue };
            for (at, kind) in kinds[reference].iter().enumerate() {
                of_kind[reference].entry(at).or_insert_with(|| {
                    let mut members = none();
                    members[reference].clone_from(&kind.members);
                    units.push(Unit { members, how: None });
                    units.len() - 1
                });
            }
            for number in (0..runs.len()).filter(|number| *number != reference) {
                for (ours, theirs, how) in matches((run, &kinds[reference]), (runs[number], &kinds[number])).pairs {
                    let unit = of_kind[reference][&ours];
                    if units[unit].members[number].is_empty() && !of_kind[number].contains_key(&theirs) {
                        units[unit].members[number] = kinds[number][theirs].members.clone();
                        units[unit].how = units[unit].how.max(Some(how));
                        of_kind[number].insert(theirs, unit);
                    }
                }
            }
        }
        // What neither of them has.
        let mut left: BTreeMap<String, usize> = BTreeMap::new();
        for number in 0..runs.len() {
            for (_, kind) in kinds[number].iter().enumerate().filter(|(at, _)| !of_kind[number].contains_key(at)) {
                let name =
                    kind.members.first().map(|first| runs[number].comms[*first].name.clone()).unwrap_or_default();
                let unit = *left.entry(name).or_insert_with(|| {
                    units.push(Unit { members: none(), how: None });
                    units.len() - 1
                });
                units[unit].members[number].extend(&kind.members);
            }
        }
        Aligned { units, is_by_call }
    }

    /// The unit of each communicator of a run.
    pub fn of_comms(&self, run: usize) -> HashMap<usize, usize> {
        let units = self.units.iter().enumerate();
        units.flat_map(|(unit, of)| of.members[run].iter().map(move |comm| (*comm, unit))).collect()
    }

    /// The first communicator that it is in a run.
    pub fn first<'a>(&self, unit: usize, number: usize, run: &'a Run) -> Option<&'a Comm> {
        run.comms.get(*self.units[unit].members[number].first()?)
    }
}
