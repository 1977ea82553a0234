//! Communicators below those that they were made from. Those that were made alike from one line of the tree are one line.

use std::collections::{BTreeMap, HashSet};

use super::catalog::{Catalog, Communicator};
use super::families::{Alike, alike};

/// One communicator, or several that were made alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub depth: usize,
    /// By their names.
    pub members: Vec<i64>,
    /// The line of their parents.
    pub above: Option<usize>,
}

fn first<'a>(group: &[&'a Communicator]) -> Option<(bool, u64, char, u64, &'a str)> {
    group.iter().map(|comm| comm.name_key()).min()
}

/// Each line before those below it. Families are of communicators that have parents: all others stand alone.
pub fn tree(catalog: &Catalog) -> Vec<Line> {
    let comms = || catalog.communicators.values().filter(|comm| !comm.is_special());
    let names: HashSet<&str> = comms().map(|comm| comm.name.as_str()).collect();
    let parent = |comm: &Communicator| comm.parent.clone().filter(|parent| names.contains(parent.as_str()));
    let mut children: BTreeMap<String, Vec<&Communicator>> = BTreeMap::new();
    let mut tops: Vec<&Communicator> = Vec::new();
    for comm in comms() {
        match parent(comm) {
            Some(parent) => children.entry(parent).or_default().push(comm),
            None => tops.push(comm),
        }
    }
    tops.sort_by(|a, b| a.name_key().cmp(&b.name_key()));
    // In a damaged profile some may be their own ancestors: those come last, on top.
    let mut all: Vec<&Communicator> = comms().collect();
    all.sort_by(|a, b| a.name_key().cmp(&b.name_key()));
    let mut lines: Vec<Line> = Vec::new();
    let mut seen: HashSet<i64> = HashSet::new();
    for top in tops.into_iter().chain(all) {
        // A stack, and not calls: communicators may be made from each other without end.
        let mut open: Vec<(usize, Option<usize>, Vec<&Communicator>)> = vec![(0, None, vec![top])];
        while let Some((depth, above, mut members)) = open.pop() {
            members.retain(|comm| seen.insert(comm.id));
            if members.is_empty() {
                continue;
            }
            members.sort_by(|a, b| a.name_key().cmp(&b.name_key()));
            let mut below: BTreeMap<Alike, Vec<&Communicator>> = BTreeMap::new();
            for child in members.iter().filter_map(|comm| children.get(&comm.name)).flatten() {
                below.entry(alike(child)).or_default().push(child);
            }
            let mut groups: Vec<Vec<&Communicator>> = below.into_values().collect();
            groups.sort_by(|a, b| first(b).cmp(&first(a)));
            let line = lines.len();
            lines.push(Line { depth, above, members: members.iter().map(|comm| comm.id).collect() });
            open.extend(groups.into_iter().map(|group| (depth + 1, Some(line), group)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::sample;

    fn comm(id: i64, name: &str, parent: Option<&str>, size: u64) -> (i64, Communicator) {
        let (name, parent) = (name.to_owned(), parent.map(str::to_owned));
        (id, Communicator { id, name, parent, size: Some(size), ..Communicator::default() })
    }

    #[test]
    fn families_are_lines() {
        let mut catalog = sample::catalog();
        catalog.communicators = [
            comm(2, "W0.0", None, 4),
            comm(3, "s2.1", Some("W0.0"), 2),
            comm(4, "s0.1", Some("W0.0"), 2),
            comm(5, "d0.2", Some("s0.1"), 2),
            comm(6, "d2.2", Some("s2.1"), 2),
            comm(7, "d0.3", Some("W0.0"), 4),
            comm(8, "x0.1", Some("gone"), 4),
            comm(9, "y0.1", Some("y0.2"), 4),
            comm(10, "y0.2", Some("y0.1"), 4),
        ]
        .into();
        let line = |depth, members: &[i64], above| Line { depth, members: members.to_vec(), above };
        let expected = [
            line(0, &[2], None),
            line(1, &[7], Some(0)),
            line(1, &[4, 3], Some(0)),
            line(2, &[5, 6], Some(2)),
            line(0, &[8], None),
            line(0, &[9], None),
            line(1, &[10], Some(5)),
        ];
        assert_eq!(tree(&catalog), expected);
    }
}
