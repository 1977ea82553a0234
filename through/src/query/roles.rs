//! What communicators are to the ranks: rows, columns, hosts, pairs. A program divides its ranks in few ways, and its communicators rarely
//! have names that say which. For the map of communicators on the page; only members are looked at, never names.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::catalog::Catalog;

/// World ranks at equal distances: `first`, `first + step`, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Run {
    pub first: i64,
    pub count: i64,
    pub step: i64,
}

impl Run {
    pub fn ranks(self) -> impl Iterator<Item = i64> {
        (0..self.count).map(move |at| self.first.saturating_add(at.saturating_mul(self.step)))
    }
}

/// More ranks are nobody's: a text that names more is damaged.
const MOST_RANKS: i64 = 1 << 24;

/// Of `0-3,8,10,12`: ranks 0 to 3, and every second one from 8.
pub fn runs(text: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for item in text.split(',') {
        let (low, high) = item.split_once('-').unwrap_or((item, item));
        let (Ok(low), Ok(high)) = (low.trim().parse::<i64>(), high.trim().parse::<i64>()) else { continue };
        if low < 0 || high < low || high >= MOST_RANKS {
            continue;
        }
        match runs.last_mut() {
            Some(run) if low == high && run.count == 1 => {
                *run = Run { count: 2, step: low - run.first, ..*run };
            }
            Some(run) if low == high && run.step > 1 && low == run.first + run.count * run.step => run.count += 1,
            _ => runs.push(Run { first: low, count: high - low + 1, step: 1 }),
        }
    }
    runs
}

/// What the members of one communicator look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Shape {
    Consecutive(i64),
    Strided { count: i64, step: i64 },
    Blocks { ranks: i64, step: i64 },
    Other,
}

fn shape(runs: &[Run]) -> Shape {
    match runs {
        [run] if run.step == 1 => Shape::Consecutive(run.count),
        [run] => Shape::Strided { count: run.count, step: run.step },
        [first, second, ..] => {
            let step = second.first - first.first;
            let is_regular = runs.iter().all(|run| run.step == 1 && run.count == first.count)
                && runs.windows(2).all(|pair| pair[1].first - pair[0].first == step);
            if is_regular { Shape::Blocks { ranks: first.count, step } } else { Shape::Other }
        }
        [] => Shape::Other,
    }
}

/// A word for it, and what its ranks are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    pub name: &'static str,
    pub text: String,
}

fn role(name: &'static str, text: impl Into<String>) -> Option<Role> {
    Some(Role { name, text: text.into() })
}

/// The ranks of the run, and where they were.
pub struct Roles {
    world: i64,
    host_of: HashMap<i64, usize>,
    /// So many ranks has each host.
    hosts: Vec<i64>,
}

impl Roles {
    pub fn of(catalog: &Catalog) -> Roles {
        let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
        let mut hosts = Vec::new();
        let mut host_of = HashMap::new();
        for process in &catalog.processes {
            let next = numbers.len();
            let host = *numbers.entry(&process.host).or_insert(next);
            hosts.resize(numbers.len(), 0);
            hosts[host] += 1;
            host_of.insert(process.rank, host);
        }
        Roles { world: catalog.processes.len() as i64, host_of, hosts }
    }

    /// Of communicators that were made alike, or of a single one.
    pub fn role(&self, members: &[Vec<Run>]) -> Option<Role> {
        match members {
            [] => None,
            [one] => self.of_one(one),
            several => self.of_hosts(several).or_else(|| self.of_several(several)),
        }
    }

    fn of_one(&self, runs: &[Run]) -> Option<Role> {
        let count: i64 = runs.iter().map(|run| run.count).sum();
        if count == self.world && self.world > 0 {
            return role("all ranks", "all ranks");
        }
        if count == 1 {
            return role("one rank", "one rank");
        }
        self.of_hosts(&[runs.to_vec()]).or_else(|| match shape(runs) {
            Shape::Consecutive(count) => role("consecutive ranks", format!("{count} consecutive ranks")),
            Shape::Strided { count, step } if count > 2 => role("every n-th rank", format!("every {} rank", nth(step))),
            Shape::Blocks { ranks, step } => role("blocks", blocks(ranks, step)),
            _ => None,
        })
    }

    /// All ranks of a host, or one rank of each.
    fn of_hosts(&self, members: &[Vec<Run>]) -> Option<Role> {
        if self.hosts.len() < 2 {
            return None;
        }
        let (mut are_hosts, mut are_across) = (true, true);
        for runs in members {
            let mut counts: BTreeMap<usize, i64> = BTreeMap::new();
            for rank in runs.iter().flat_map(|run| run.ranks()) {
                *counts.entry(*self.host_of.get(&rank)?).or_default() += 1;
            }
            are_hosts &= counts.len() == 1 && counts.iter().all(|(host, count)| self.hosts[*host] == *count);
            are_across &= counts.len() == self.hosts.len() && counts.values().all(|count| *count == 1);
        }
        match (are_hosts, are_across, members.len()) {
            (true, _, 1) => role("host", "all ranks of a host"),
            (true, ..) => role("hosts", "all ranks of a host each"),
            (_, true, 1) => role("across hosts", "one rank of each host"),
            (_, true, _) => role("across hosts", "one rank of each host each"),
            _ => None,
        }
    }

    fn of_several(&self, members: &[Vec<Run>]) -> Option<Role> {
        let count: i64 = members.iter().flatten().map(|run| run.count).sum();
        let distinct: BTreeSet<i64> = members.iter().flatten().flat_map(|run| run.ranks()).collect();
        let shapes: BTreeSet<Shape> = members.iter().map(|runs| shape(runs)).collect();
        let is_disjoint = count == distinct.len() as i64;
        if !is_disjoint {
            return overlapping(members, &shapes);
        }
        match shapes.first().filter(|_| shapes.len() == 1) {
            Some(Shape::Consecutive(1)) => role("one rank", "one rank each"),
            Some(Shape::Consecutive(count)) => role("rows", format!("{count} consecutive ranks each")),
            Some(Shape::Strided { step, .. }) => role("columns", format!("every {} rank", nth(*step))),
            Some(Shape::Blocks { ranks, step }) => role("planes", blocks(*ranks, *step)),
            _ => role("parts", "no rank in two of them"),
        }
    }
}

fn overlapping(members: &[Vec<Run>], shapes: &BTreeSet<Shape>) -> Option<Role> {
    if members.iter().all(|runs| *runs == members[0]) {
        return role("copies", "the same ranks each time");
    }
    let distance = |shape: &Shape| match shape {
        Shape::Consecutive(2) => Some(1),
        Shape::Strided { count: 2, step } => Some(*step),
        _ => None,
    };
    let distances: Option<BTreeSet<i64>> = shapes.iter().map(distance).collect();
    match distances {
        Some(distances) if distances.len() <= MOST_DISTANCES => {
            let list: Vec<String> = distances.iter().map(i64::to_string).collect();
            role("halo pairs", format!("pairs of ranks at distance {}", list.join(", ")))
        }
        Some(_) => role("pairs", "pairs of ranks"),
        None => role("halos", "groups that share ranks"),
    }
}

/// A halo of a grid has few.
const MOST_DISTANCES: usize = 6;

fn blocks(ranks: i64, step: i64) -> String {
    format!("{ranks} of every {step} ranks")
}

/// `2nd`
fn nth(number: i64) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(hosts: &[i64]) -> Roles {
        let host_of = hosts.iter().enumerate().flat_map(|(host, count)| vec![host; *count as usize]).enumerate();
        Roles {
            world: hosts.iter().sum(),
            host_of: host_of.map(|(rank, host)| (rank as i64, host)).collect(),
            hosts: hosts.to_vec(),
        }
    }

    fn told(hosts: &[i64], members: &[&str]) -> String {
        let members: Vec<Vec<Run>> = members.iter().map(|text| runs(text)).collect();
        roles(hosts).role(&members).map_or("-".to_owned(), |role| format!("{}: {}", role.name, role.text))
    }

    #[test]
    fn lists_of_ranks_become_few_runs() {
        assert_eq!(runs("0-3"), [Run { first: 0, count: 4, step: 1 }]);
        assert_eq!(runs("0,4,8,12"), [Run { first: 0, count: 4, step: 4 }]);
        assert_eq!(runs("0-1,4-5").len(), 2);
        assert_eq!(runs("0,4,8,9,10").iter().flat_map(|run| run.ranks()).collect::<Vec<_>>(), [0, 4, 8, 9, 10]);
        assert_eq!(runs("x,3-1,-5,0-99999999999,7"), [Run { first: 7, count: 1, step: 1 }]);
    }

    #[test]
    fn every_list_gives_its_ranks_back() {
        for text in ["0,1,2", "5,7,9,10-12,20", "0,2,3,5,7,11", "3,1"] {
            let ranks: BTreeSet<i64> = runs(text).iter().flat_map(|run| run.ranks()).collect();
            let meant: BTreeSet<i64> = text
                .split(',')
                .flat_map(|item| match item.split_once('-') {
                    Some((low, high)) => low.parse().unwrap()..=high.parse().unwrap(),
                    None => item.parse().unwrap()..=item.parse().unwrap(),
                })
                .collect();
            assert_eq!(ranks, meant, "{text}");
        }
    }

    #[test]
    fn a_grid_has_rows_columns_and_planes() {
        assert_eq!(told(&[8], &["0-3", "4-7"]), "rows: 4 consecutive ranks each");
        assert_eq!(told(&[8], &["0,4", "1,5", "2,6", "3,7"]), "columns: every 4th rank");
        assert_eq!(told(&[8], &["0-1,4-5", "2-3,6-7"]), "planes: 2 of every 4 ranks");
        assert_eq!(told(&[8], &["0,3,4", "1,2,5"]), "parts: no rank in two of them");
    }

    #[test]
    fn hosts_are_told_from_rows() {
        assert_eq!(told(&[4, 4], &["0-3", "4-7"]), "hosts: all ranks of a host each");
        assert_eq!(told(&[4, 4], &["0,4", "1,5", "2,6", "3,7"]), "across hosts: one rank of each host each");
        assert_eq!(told(&[4, 4], &["0,4"]), "across hosts: one rank of each host");
        assert_eq!(told(&[2, 2, 4], &["0-3", "4-7"]), "rows: 4 consecutive ranks each");
    }

    #[test]
    fn halos_share_ranks() {
        assert_eq!(told(&[4], &["0-1", "1-2", "2-3", "0,3"]), "halo pairs: pairs of ranks at distance 1, 3");
        assert_eq!(told(&[4], &["0-2", "1-3"]), "halos: groups that share ranks");
        assert_eq!(told(&[4], &["0-3", "0-3"]), "copies: the same ranks each time");
    }

    #[test]
    fn one_communicator_is_what_its_ranks_are() {
        assert_eq!(told(&[4], &["0-3"]), "all ranks: all ranks");
        assert_eq!(told(&[8], &["2-5"]), "consecutive ranks: 4 consecutive ranks");
        assert_eq!(told(&[8], &["0,2,4,6"]), "every n-th rank: every 2nd rank");
        assert_eq!(told(&[8], &["0,3,4"]), "-");
        assert_eq!(told(&[4], &[""]), "-");
    }
}
