//! How much ranks exchange, and how much of it goes between nodes.

use std::collections::HashMap;

/// Ranks of which each exchanges the same with each other one: they need no entry for every two of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    pub members: Vec<u32>,
    /// Between two of them, in both directions together.
    pub bytes: f64,
}

/// Bytes between ranks, which are numbered from 0.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// With whom each rank exchanges how much, both directions together.
    pub near: Vec<Vec<(u32, f64)>>,
    pub groups: Vec<Group>,
    /// The groups that each rank is in.
    pub of_rank: Vec<Vec<u32>>,
    pub total: f64,
}

#[derive(Default)]
pub struct Builder {
    /// Two ranks, the lower first; added up at last.
    pairs: Vec<(u32, u32, f64)>,
    groups: HashMap<Vec<u32>, f64>,
}

impl Builder {
    pub fn pair(&mut self, one: u32, other: u32, bytes: f64) {
        if one != other && bytes > 0.0 {
            self.pairs.push((one.min(other), one.max(other), bytes));
        }
    }

    pub fn group(&mut self, members: &[u32], bytes: f64) {
        if members.len() > 1 && bytes > 0.0 {
            *self.groups.entry(members.to_vec()).or_default() += bytes;
        }
    }

    pub fn finish(self, ranks: usize) -> Traffic {
        let mut traffic =
            Traffic { near: vec![Vec::new(); ranks], of_rank: vec![Vec::new(); ranks], ..Traffic::default() };
        let mut pairs = self.pairs;
        // Stable, so that the same profile gives the same sums.
        pairs.sort_by_key(|(one, other, _)| (*one, *other));
        pairs.dedup_by(|next, kept| {
            let is_same = (next.0, next.1) == (kept.0, kept.1);
            kept.2 += if is_same { next.2 } else { 0.0 };
            is_same
        });
        for (one, other, bytes) in pairs {
            traffic.near[one as usize].push((other, bytes));
            traffic.near[other as usize].push((one, bytes));
            traffic.total += bytes;
        }
        let mut groups: Vec<_> = self.groups.into_iter().collect();
        groups.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        for (members, bytes) in groups {
            let number = traffic.groups.len() as u32;
            members.iter().for_each(|member| traffic.of_rank[*member as usize].push(number));
            let count = members.len() as f64;
            traffic.total += bytes * count * (count - 1.0) / 2.0;
            traffic.groups.push(Group { members, bytes });
        }
        traffic
    }
}

impl Traffic {
    pub fn ranks(&self) -> usize {
        self.near.len()
    }

    /// Between nodes, with each rank on the node of its place.
    pub fn between(&self, nodes: &[u32]) -> f64 {
        let of_rank = |rank: usize| {
            let apart = self.near[rank].iter().filter(|(other, _)| nodes[*other as usize] != nodes[rank]);
            apart.fold(0.0, |sum, (_, bytes)| sum + bytes)
        };
        let pairs: f64 = (0..self.ranks()).fold(0.0, |sum, rank| sum + of_rank(rank)) / 2.0;
        self.groups.iter().fold(pairs, |sum, group| sum + group.between(nodes))
    }

    /// Between two ranks.
    pub fn of(&self, one: u32, other: u32) -> f64 {
        let near = &self.near[one as usize];
        let pair = near.binary_search_by_key(&other, |(rank, _)| *rank).map_or(0.0, |at| near[at].1);
        let (mine, theirs) = (&self.of_rank[one as usize], &self.of_rank[other as usize]);
        let shared = mine.iter().filter(|group| theirs.binary_search(group).is_ok());
        pair + shared.map(|group| self.groups[*group as usize].bytes).sum::<f64>()
    }
}

impl Group {
    fn between(&self, nodes: &[u32]) -> f64 {
        let mut counts: HashMap<u32, f64> = HashMap::new();
        self.members.iter().for_each(|member| *counts.entry(nodes[*member as usize]).or_default() += 1.0);
        let count = self.members.len() as f64;
        // Counts are whole numbers: their squares are exact in any order.
        let together: f64 = counts.values().map(|count| count * count).sum();
        self.bytes * (count * count - together) / 2.0
    }
}
