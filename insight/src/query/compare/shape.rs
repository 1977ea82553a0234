//! What communicators have in common that one program makes on different numbers of ranks: those of one call (`MPI_Comm_split` into rows) are one
//! kind, however many there are.

use std::collections::{BTreeMap, HashMap};

use super::run::{Comm, Run};

/// Communicators of a run that are looked for together in another one.
#[derive(Clone, Debug)]
pub struct Kind {
    /// In the order of their rank 0.
    pub members: Vec<usize>,
    /// The kind of their parent.
    pub parent: Option<usize>,
}

/// Of more siblings it is not asked which of them have members in common.
const MOST_SIBLINGS: usize = 1000;

/// Each communicator a kind of its own.
pub fn single(run: &Run) -> Vec<Kind> {
    let kinds = run.comms.iter().enumerate();
    kinds.map(|(at, comm)| Kind { members: vec![at], parent: comm.parent }).collect()
}

/// Those of one call together. Parents come before their children.
pub fn by_call(run: &Run) -> Vec<Kind> {
    let mut children: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    for (at, comm) in run.comms.iter().enumerate() {
        children.entry(comm.parent).or_default().push(at);
    }
    let mut kinds: Vec<Kind> = Vec::new();
    let roots = children.remove(&None).unwrap_or_default();
    split(run, &roots, None, &mut kinds);
    let mut next = 0;
    while next < kinds.len() {
        let of_kind = kinds[next].members.clone();
        let below: Vec<usize> =
            of_kind.iter().flat_map(|member| children.remove(&Some(*member)).unwrap_or_default()).collect();
        split(run, &below, Some(next), &mut kinds);
        next += 1;
    }
    // In a damaged profile parents go round in a circle.
    let left: Vec<usize> = children.into_values().flatten().collect();
    kinds.extend(left.into_iter().map(|at| Kind { members: vec![at], parent: None }));
    kinds
}

fn split(run: &Run, siblings: &[usize], parent: Option<usize>, kinds: &mut Vec<Kind>) {
    let mut alike: BTreeMap<(&str, Option<&str>), Vec<usize>> = BTreeMap::new();
    for at in siblings {
        let comm = &run.comms[*at];
        alike.entry((&comm.creator, comm.birthplace.as_deref())).or_default().push(*at);
    }
    let mut found: Vec<Vec<usize>> = Vec::new();
    for mut siblings in alike.into_values() {
        siblings.sort_by_key(|at| (run.comms[*at].made, run.comms[*at].root));
        let mut rounds: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (at, round) in siblings.iter().zip(rounds_of(run, &siblings)) {
            rounds.entry(round).or_default().push(*at);
        }
        found.extend(rounds.into_values());
    }
    found.sort_by_key(|members| order(run, members));
    for mut members in found {
        members.sort_by_key(|at| (run.comms[*at].root, run.comms[*at].made));
        kinds.push(Kind { members, parent });
    }
}

/// In the order of making.
pub fn order(run: &Run, members: &[usize]) -> (u64, u64) {
    let made = |at: &usize| (run.comms[*at].made, run.comms[*at].root);
    members.iter().map(made).min().unwrap_or_default()
}

/// Which of the calls made it: communicators of one call have no member in common, so one that shares a member with an earlier one is of a later call.
fn rounds_of(run: &Run, siblings: &[usize]) -> Vec<u64> {
    let comm = |at: usize| -> &Comm { &run.comms[siblings[at]] };
    if siblings.len() > MOST_SIBLINGS || siblings.iter().any(|at| run.comms[*at].ranks.is_none()) {
        return (0..siblings.len()).map(|at| comm(at).made).collect();
    }
    let mut rounds: Vec<u64> = Vec::with_capacity(siblings.len());
    for at in 0..siblings.len() {
        let shares = |before: &usize| match (&comm(at).ranks, &comm(*before).ranks) {
            (Some(own), Some(other)) => !own.within(other).is_empty(),
            _ => true,
        };
        let last = (0..at).filter(shares).map(|before| rounds[before]).max();
        rounds.push(last.map_or(0, |last| last + 1));
    }
    rounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use commsee::ranks::Ranks;

    fn comm(name: &str, parent: Option<usize>, ranks: &str) -> Comm {
        let (root, made) = name[1..].split_once('.').unwrap();
        let ranks = Ranks::read(ranks);
        Comm {
            name: name.to_owned(),
            creator: name[..1].to_owned(),
            size: Some(ranks.count()),
            ranks: Some(ranks),
            parent,
            root: root.parse().unwrap(),
            made: made.parse().unwrap(),
            ..Comm::default()
        }
    }

    fn names(run: &Run) -> Vec<Vec<&str>> {
        let of = |kind: &Kind| kind.members.iter().map(|at| run.comms[*at].name.as_str()).collect();
        by_call(run).iter().map(of).collect()
    }

    #[test]
    fn rows_and_columns_are_two_kinds() {
        let comms = vec![
            comm("W0.0", None, "0-3"),
            comm("s0.1", Some(0), "0,1"),
            comm("s2.1", Some(0), "2,3"),
            comm("s0.2", Some(0), "0,2"),
            comm("s1.2", Some(0), "1,3"),
        ];
        let run = Run { comms, ranks: 4, ..Run::default() };
        assert_eq!(names(&run), [vec!["W0.0"], vec!["s0.1", "s2.1"], vec!["s0.2", "s1.2"]]);
    }

    /// Rank 0 has been in one more: its names count on by one.
    #[test]
    fn processes_with_another_history_are_of_the_same_call() {
        let comms = vec![
            comm("W0.0", None, "0-3"),
            comm("s0.2", Some(0), "0,1"),
            comm("s2.1", Some(0), "2,3"),
            comm("s0.3", Some(0), "0,2"),
            comm("s1.2", Some(0), "1,3"),
            comm("d0.4", Some(1), "0,1"),
            comm("d2.3", Some(2), "2,3"),
        ];
        let run = Run { comms, ranks: 4, ..Run::default() };
        let expected = [vec!["W0.0"], vec!["s0.2", "s2.1"], vec!["s0.3", "s1.2"], vec!["d0.4", "d2.3"]];
        assert_eq!(names(&run), expected);
    }

    #[test]
    fn parents_in_a_circle_are_looked_at_once() {
        let comms = vec![comm("s0.1", Some(1), "0"), comm("s0.2", Some(0), "0")];
        assert_eq!(by_call(&Run { comms, ..Run::default() }).len(), 2);
    }
}
