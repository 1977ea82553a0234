//! Gives communicators their printed names, and everything that is named its number in the profile: the same ones, in whatever order
//! processes were merged.

use std::collections::{HashMap, HashSet};

use crate::creators;
use crate::shard::{FIRST_COMM, NO_COMM, SEVERAL_COMMS};
use crate::stream::{Communicator, NO_RANK, Name};

/// A communicator of the profile, or one of the rows `-` and `*`.
pub struct Named {
    pub number: u32,
    pub name: String,
    pub communicator: Communicator,
    pub is_special: bool,
}

/// The rows `-` and `*`, then the world, then by the rank and counter of the name; those of layers behind MPI's.
pub fn number_communicators(mut communicators: Vec<Communicator>) -> Vec<Named> {
    let is_special = |communicator: &Communicator| communicator.identity[0] == 0 && communicator.identity[1] < 2;
    communicators.sort_by_cached_key(|communicator| {
        let world = char::from(communicator.letter) != creators::WORLD;
        let counter = communicator.counter.unwrap_or(u32::MAX);
        let layer = communicator.layer.clone();
        (
            !is_special(communicator),
            layer,
            world,
            communicator.root,
            counter,
            communicator.letter,
            communicator.identity,
        )
    });
    let mut names = Names::default();
    let mut next = FIRST_COMM;
    let mut named = |communicator: Communicator| {
        if is_special(&communicator) {
            let is_none = communicator.identity[1] == 0;
            let (number, name) = if is_none { (NO_COMM, "-") } else { (SEVERAL_COMMS, "*") };
            return Named { number, name: name.to_owned(), communicator, is_special: true };
        }
        let name = names.free(&communicator);
        next += 1;
        Named { number: next - 1, name, communicator, is_special: false }
    };
    communicators.into_iter().map(&mut named).collect()
}

/// Printed names, all different.
#[derive(Default)]
struct Names {
    taken: HashSet<String>,
    /// How often a name was wanted already.
    wanted: HashMap<String, u32>,
}

impl Names {
    /// Where the process that is rank 0 left no record its counter is not known: the name ends with `.?` and a number.
    fn free(&mut self, communicator: &Communicator) -> String {
        let letter = char::from(communicator.letter);
        let layer = communicator.layer.as_ref().map_or(String::new(), |layer| format!("{layer}:"));
        let root = if communicator.root == NO_RANK { "?".to_owned() } else { communicator.root.to_string() };
        let (stem, separator) = match communicator.counter {
            Some(counter) => (format!("{layer}{letter}{root}.{counter}"), "~"),
            None => (format!("{layer}{letter}{root}."), "?"),
        };
        let times = self.wanted.entry(format!("{stem}{separator}")).or_default();
        loop {
            *times += 1;
            let name = match communicator.counter {
                Some(_) if *times == 1 => stem.clone(),
                // Of known counters only a program that breaks MPI's order of collective calls gets here.
                _ => format!("{stem}{separator}{times}"),
            };
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// In the order in which the lowest rank that has them met them.
pub fn number_names(mut names: Vec<Name>, first: u32) -> Vec<(u32, Name)> {
    names.sort_by(|a, b| (a.first, &a.text).cmp(&(b.first, &b.text)));
    (first..).zip(names).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn communicator(identity: u64, letter: char, root: u32, counter: Option<u32>) -> Communicator {
        Communicator {
            identity: [identity, 9],
            layer: None,
            letter: letter as u8,
            root,
            size: 2,
            remote_size: 0,
            parent: None,
            label: None,
            freed: false,
            counter,
            source: root,
            members: vec![(0, 1)],
            spread: None,
        }
    }

    #[test]
    fn the_record_of_rank_0_supplies_the_name() {
        let named = number_communicators(vec![communicator(7, 's', 0, Some(1)), communicator(9, 'W', 0, Some(0))]);
        let found: Vec<_> = named.iter().map(|named| (named.number, named.name.as_str())).collect();
        assert_eq!(found, [(2, "W0.0"), (3, "s0.1")]);
    }

    #[test]
    fn names_stay_unique_when_records_are_missing() {
        let named = number_communicators(vec![
            communicator(1, 's', 0, None),
            communicator(2, 's', 0, None),
            communicator(3, 's', 1, Some(3)),
            communicator(4, 's', 1, Some(3)),
        ]);
        assert_eq!(
            named.iter().map(|named| named.name.as_str()).collect::<Vec<_>>(),
            ["s0.?1", "s0.?2", "s1.3", "s1.3~2"]
        );
    }
}
