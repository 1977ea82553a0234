//! Joins what each process knew of its communicators: records with one identity are one communicator; the record of
//! its rank 0 supplies the name, and the members are the processes that have a record.

use std::collections::{HashMap, HashSet};

use crate::shard::{self, Communicator, FIRST_COMM, FREED, NO_COMM};

/// One communicator of the run.
pub struct Joined {
    pub letter: char,
    /// World rank of its rank 0.
    pub root: u32,
    pub size: u32,
    pub remote_size: u32,
    /// Number of the communicator it was made from, in this join.
    pub parent: Option<u32>,
    pub label: Option<String>,
    pub freed: bool,
    counter: Option<u32>,
    /// World ranks as ranges, both ends included, in the order in which processes were added.
    members: Vec<(u32, u32)>,
}

impl Joined {
    /// World ranks of the members, such as `0-3,8`.
    pub fn ranks(&self) -> String {
        let mut members: Vec<u32> = self.members.iter().flat_map(|(first, last)| *first..=*last).collect();
        members.sort_unstable();
        members.dedup();
        crate::ranks::format(&members)
    }

    fn add_member(&mut self, rank: u32) {
        match self.members.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => self.members.push((rank, rank)),
        }
    }
}

/// All communicators of a run, while processes are added one by one in any order.
#[derive(Default)]
pub struct Join {
    places: HashMap<[u64; 2], u32>,
    pub communicators: Vec<Joined>,
}

impl Join {
    /// Adds one process; returns for each of its own numbers the communicator's number in the run (the rows `-` and
    /// `*` keep theirs).
    pub fn add(&mut self, rank: u32, records: &[Communicator]) -> HashMap<u32, u32> {
        let mut numbers: HashMap<u32, u32> = (NO_COMM..FIRST_COMM).map(|number| (number, number)).collect();
        for record in records {
            let next = self.communicators.len() as u32 + FIRST_COMM;
            let number = *self.places.entry(record.identity).or_insert(next);
            if number == next {
                self.communicators.push(Joined {
                    letter: char::from(record.letter),
                    root: record.root,
                    size: record.size,
                    remote_size: record.remote_size,
                    parent: None,
                    label: None,
                    freed: true,
                    counter: None,
                    members: Vec::new(),
                });
            }
            numbers.insert(record.number, number);
        }
        for record in records {
            let number = numbers[&record.number];
            let parent = numbers.get(&record.parent).copied().filter(|parent| *parent >= FIRST_COMM);
            let joined = &mut self.communicators[(number - FIRST_COMM) as usize];
            let is_root = record.root == rank;
            let label = shard::text(&record.label);
            if !label.is_empty() && (is_root || joined.label.is_none()) {
                joined.label = Some(label);
            }
            if is_root {
                joined.counter = Some(record.counter);
                joined.size = record.size;
                joined.remote_size = record.remote_size;
            }
            if is_root || joined.parent.is_none() {
                joined.parent = parent;
            }
            joined.freed &= record.flags & FREED != 0;
            joined.add_member(rank);
        }
        numbers
    }

    /// The printed names, one per communicator, all different. Where the process that is rank 0 left no record its counter is not
    /// known: the name ends with `.?` and a number.
    pub fn names(&self) -> Vec<String> {
        let mut taken = HashSet::new();
        let mut names = Vec::with_capacity(self.communicators.len());
        for joined in &self.communicators {
            let wanted = match joined.counter {
                Some(counter) => format!("{}{}.{counter}", joined.letter, joined.root),
                None => format!("{}{}.?1", joined.letter, joined.root),
            };
            let mut name = wanted.clone();
            let mut attempt = 2;
            while !taken.insert(name.clone()) {
                name = match joined.counter {
                    // Only a program that breaks MPI's order of collective calls gets here.
                    Some(_) => format!("{wanted}~{attempt}"),
                    None => format!("{}{}.?{attempt}", joined.letter, joined.root),
                };
                attempt += 1;
            }
            names.push(name);
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;

    fn record(identity: u64, number: u32, letter: char, root: u32, counter: u32) -> Communicator {
        let letter = letter as u8;
        Communicator { identity: [identity, 0], number, letter, root, counter, size: 2, ..Communicator::zeroed() }
    }

    #[test]
    fn the_record_of_rank_0_supplies_the_name() {
        let mut join = Join::default();
        let numbers = join.add(1, &[record(9, 2, 'W', 0, 0), record(7, 3, 's', 0, 4)]);
        join.add(0, &[record(9, 2, 'W', 0, 0), record(7, 3, 's', 0, 1)]);
        assert_eq!(join.names(), ["W0.0", "s0.1"]);
        assert_eq!(join.communicators[0].ranks(), "0-1");
        assert_eq!((numbers[&3], numbers[&0]), (3, 0));
    }

    #[test]
    fn names_stay_unique_when_records_are_missing() {
        let mut join = Join::default();
        join.add(
            1,
            &[record(1, 2, 's', 0, 1), record(2, 3, 's', 0, 2), record(3, 4, 's', 1, 3), record(4, 5, 's', 1, 3)],
        );
        assert_eq!(join.names(), ["s0.?1", "s0.?2", "s1.3", "s1.3~2"]);
    }
}
