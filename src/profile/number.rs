//! Gives communicators their printed names, and everything that is named its number in the profile: the same ones, in whatever order
//! processes were merged.

use std::cell::Cell;
use std::collections::HashMap;

use crate::creators;
use crate::ranks;
use crate::shard::{FIRST_COMM, NO_COMM, SEVERAL_COMMS};
use crate::stream::{Communicator, Identity, NO_RANK, Name};

/// Whom a communicator without one has for a parent.
const NO_PARENT: Identity = [0, 0];

/// Communicators of a profile, and the rows `-` and `*`. A program may have a million: each is held in few bytes until it is written,
/// then only its number.
#[derive(Default)]
pub struct Communicators {
    /// In the order of their identities.
    held: Vec<Held>,
    /// Members of communicators, each list once.
    lists: HashMap<Vec<(u32, u32)>, u32>,
    /// Where communicators were made: each site once, by its hash.
    birthplaces: Vec<u64>,
    birthplace_numbers: HashMap<u64, u32>,
    identities: Vec<Identity>,
    numbers: Vec<u32>,
    /// The position that was asked for last: what belongs to one communicator comes together.
    recent: Cell<usize>,
}

struct Held {
    identity: Identity,
    parent: Identity,
    time_ns: u64,
    least_ns: u64,
    most_ns: u64,
    time_ranks: u32,
    rank_least: u32,
    rank_most: u32,
    root: u32,
    size: u32,
    remote_size: u32,
    counter: u32,
    list: u32,
    /// The position among the sites, and 1; 0 is none.
    birthplace: u32,
    texts: Option<Box<Texts>>,
    letter: u8,
    is_freed: bool,
    has_counter: bool,
}

/// What few communicators have.
struct Texts {
    layer: Option<String>,
    label: Option<String>,
    order: Option<String>,
}

/// A row of the table `communicator`.
pub struct Named<'a> {
    pub number: u32,
    pub name: String,
    /// None of the rows `-` and `*`.
    pub about: Option<About<'a>>,
    /// Ranks that called anything on it, their time, and the ranks that spent least and most.
    pub time_ranks: u32,
    pub time_ns: u64,
    pub least: (u64, u32),
    pub most: (u64, u32),
}

pub struct About<'a> {
    pub letter: char,
    pub size: u32,
    pub remote_size: u32,
    pub parent: Option<u32>,
    pub root: Option<u32>,
    pub label: Option<&'a str>,
    pub is_freed: bool,
    pub list: u32,
    pub layer: Option<&'a str>,
    /// World ranks in the order of its own ranks, where that is not ascending.
    pub order: Option<&'a str>,
    /// The hash of the site where it was made.
    pub birthplace: Option<u64>,
}

impl Communicators {
    pub fn add(&mut self, communicator: Communicator) {
        let Communicator { identity, layer, label, members, spread, .. } = communicator;
        let size = match communicator.size {
            // Nobody knew it.
            0 => members.iter().map(|(first, last)| last - first + 1).sum(),
            size => size,
        };
        let order = communicator.order.text(size, &members);
        let list = if is_special(identity) {
            0
        } else {
            let next = self.lists.len() as u32;
            *self.lists.entry(members).or_insert(next)
        };
        let birthplace = communicator.birthplace.map_or(0, |birthplace| self.birthplace(birthplace.site));
        let spread = spread.as_ref();
        self.held.push(Held {
            identity,
            parent: communicator.parent.unwrap_or(NO_PARENT),
            time_ns: spread.map_or(0, |spread| spread.time_ns),
            least_ns: spread.map_or(0, |spread| spread.least.ns),
            most_ns: spread.map_or(0, |spread| spread.most.ns),
            time_ranks: spread.map_or(0, |spread| u32::try_from(spread.ranks).unwrap_or(u32::MAX)),
            rank_least: spread.map_or(0, |spread| spread.least.rank),
            rank_most: spread.map_or(0, |spread| spread.most.rank),
            root: communicator.root,
            size,
            remote_size: communicator.remote_size,
            counter: communicator.counter.unwrap_or(u32::MAX),
            list,
            birthplace,
            texts: (layer.is_some() || label.is_some()).then(|| Box::new(Texts { layer, label, order })),
            letter: communicator.letter,
            is_freed: communicator.freed,
            has_counter: communicator.counter.is_some(),
        });
    }

    fn birthplace(&mut self, site: u64) -> u32 {
        *self.birthplace_numbers.entry(site).or_insert_with(|| {
            self.birthplaces.push(site);
            self.birthplaces.len() as u32
        })
    }

    /// Numbers them, hands over the row of each, and forgets all but the numbers: first the rows `-` and `*`, then the world, then by the
    /// rank and counter of the name; those of layers behind MPI's.
    pub fn number<E>(&mut self, mut write: impl FnMut(Named) -> Result<(), E>) -> Result<(), E> {
        let mut held = std::mem::take(&mut self.held);
        if !held.is_sorted_by_key(|one| one.identity) {
            held.sort_by_key(|one| one.identity);
        }
        let mut order: Vec<u32> = (0..held.len() as u32).collect();
        order.sort_unstable_by(|a, b| held[*a as usize].key().cmp(&held[*b as usize].key()));
        self.identities = held.iter().map(|one| one.identity).collect();
        self.numbers = vec![NO_COMM; held.len()];
        let mut next = FIRST_COMM;
        for at in &order {
            self.numbers[*at as usize] = match held[*at as usize].identity {
                [0, 0] => NO_COMM,
                [0, 1] => SEVERAL_COMMS,
                _ => {
                    next += 1;
                    next - 1
                }
            };
        }
        // How many of one name came before.
        let mut previous: Option<&Held> = None;
        let mut times = 0;
        for at in order {
            let (one, number) = (&held[at as usize], self.numbers[at as usize]);
            times = if previous.is_some_and(|other| other.stem() == one.stem()) { times + 1 } else { 1 };
            previous = Some(one);
            let about = (!is_special(one.identity)).then(|| About {
                letter: char::from(one.letter),
                size: one.size,
                remote_size: one.remote_size,
                parent: Some(one.parent).filter(|parent| *parent != NO_PARENT).and_then(|parent| self.find(parent)),
                root: (one.root != NO_RANK).then_some(one.root),
                label: one.texts.as_ref().and_then(|texts| texts.label.as_deref()),
                is_freed: one.is_freed,
                list: one.list,
                layer: one.layer(),
                order: one.texts.as_ref().and_then(|texts| texts.order.as_deref()),
                birthplace: (one.birthplace as usize).checked_sub(1).map(|at| self.birthplaces[at]),
            });
            write(Named {
                number,
                name: one.name(times),
                about,
                time_ranks: one.time_ranks,
                time_ns: one.time_ns,
                least: (one.least_ns, one.rank_least),
                most: (one.most_ns, one.rank_most),
            })?;
        }
        Ok(())
    }

    /// The lists of members by their number, as text. They are needed no more.
    pub fn lists(&mut self) -> impl Iterator<Item = (u32, String)> {
        let mut lists: Vec<_> = std::mem::take(&mut self.lists).into_iter().collect();
        lists.sort_unstable_by_key(|(_, number)| *number);
        lists.into_iter().map(|(members, number)| (number, ranks::format_ranges(&members)))
    }

    /// The number of a communicator, once they are numbered.
    pub fn find(&self, identity: Identity) -> Option<u32> {
        let recent = self.recent.get();
        if self.identities.get(recent) != Some(&identity) {
            self.recent.set(self.identities.binary_search(&identity).ok()?);
        }
        self.numbers.get(self.recent.get()).copied()
    }
}

impl Held {
    fn layer(&self) -> Option<&str> {
        self.texts.as_ref().and_then(|texts| texts.layer.as_deref())
    }

    /// In what order they are numbered.
    fn key(&self) -> (bool, Option<&str>, bool, u32, u32, u8, Identity) {
        let is_world = char::from(self.letter) == creators::WORLD;
        (!is_special(self.identity), self.layer(), !is_world, self.root, self.counter, self.letter, self.identity)
    }

    /// What stands in its name. Those that have it in common come together.
    fn stem(&self) -> (bool, Option<&str>, u8, u32, u32, bool) {
        (is_special(self.identity), self.layer(), self.letter, self.root, self.counter, self.has_counter)
    }

    /// The printed name of the one that so many others have in common, itself included. Where the process that is rank 0 left no record
    /// its counter is not known: the name ends with `.?` and a number.
    fn name(&self, times: u32) -> String {
        if is_special(self.identity) {
            return if self.identity == [0, 0] { "-" } else { "*" }.to_owned();
        }
        let letter = char::from(self.letter);
        let layer = self.layer().map_or(String::new(), |layer| format!("{layer}:"));
        let root = if self.root == NO_RANK { "?".to_owned() } else { self.root.to_string() };
        match self.has_counter {
            true if times == 1 => format!("{layer}{letter}{root}.{}", self.counter),
            // Of known counters only a program that breaks MPI's order of collective calls gets here.
            true => format!("{layer}{letter}{root}.{}~{times}", self.counter),
            false => format!("{layer}{letter}{root}.?{times}"),
        }
    }
}

/// The rows `-` and `*`.
fn is_special(identity: Identity) -> bool {
    identity[0] == 0 && identity[1] < 2
}

/// In the order in which the lowest rank that has them met them.
pub fn number_names(mut names: Vec<Name>, first: u32) -> Vec<(u32, Name)> {
    names.sort_by(|a, b| (a.first, &a.text).cmp(&(b.first, &b.text)));
    (first..).zip(names).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::Order;

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
            order: Order::default(),
            spread: None,
            birthplace: None,
        }
    }

    fn named(communicators: impl IntoIterator<Item = Communicator>) -> Vec<(u32, String)> {
        let mut all = Communicators::default();
        communicators.into_iter().for_each(|communicator| all.add(communicator));
        let mut named = Vec::new();
        let written: Result<(), ()> = all.number(|row| {
            named.push((row.number, row.name));
            Ok(())
        });
        written.unwrap();
        named
    }

    #[test]
    fn the_record_of_rank_0_supplies_the_name() {
        let found = named([communicator(7, 's', 0, Some(1)), communicator(9, 'W', 0, Some(0))]);
        assert_eq!(found, [(2, "W0.0".to_owned()), (3, "s0.1".to_owned())]);
    }

    #[test]
    fn names_stay_unique_when_records_are_missing() {
        let layered = |number| Communicator { layer: Some("nccl".to_owned()), ..communicator(number, 's', 0, None) };
        let found = named([
            communicator(1, 's', 0, None),
            communicator(2, 's', 0, None),
            communicator(3, 's', 1, Some(3)),
            communicator(4, 's', 1, Some(3)),
            communicator(5, 'd', 1, Some(3)),
            layered(6),
            Communicator { root: NO_RANK, ..layered(7) },
        ]);
        assert_eq!(
            found.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>(),
            ["s0.?1", "s0.?2", "d1.3", "s1.3", "s1.3~2", "nccl:s0.?1", "nccl:s?.?1"]
        );
    }

    #[test]
    fn numbers_are_found_in_any_order() {
        let mut all = Communicators::default();
        (1..=9).rev().for_each(|number| all.add(communicator(number, 'd', 0, Some(10 - number as u32))));
        all.number(|_| Ok::<(), ()>(())).unwrap();
        for number in [3, 9, 1, 1, 5] {
            assert_eq!(all.find([number, 9]), Some(FIRST_COMM + 9 - number as u32));
        }
        assert_eq!((all.find([4, 8]), all.find([3, 9])), (None, Some(FIRST_COMM + 6)));
    }
}
