//! Looks for a placement with little between nodes: node by node the rank that has most to do with those that are there, then swaps of two
//! ranks as long as they help.

use super::nodes::{Node, block};
use super::traffic::Traffic;

/// What a search may cost: swaps that are looked at, and ranks × nodes that are kept in memory.
const MOST_LOOKS: usize = 40_000_000;
const MOST_CELLS: usize = 4_000_000;
/// Of more ranks it is too much to compare every rank with every other one.
const MOST_GREEDY: usize = 8192;
/// Small jobs are searched from several starts, since swaps of two end where only a swap of more helps.
const STARTS: usize = 24;
const FEW_RANKS: usize = 64;

/// The best that is found from the placements that are given, which it never is worse than.
pub fn search(traffic: &Traffic, nodes: &[Node], starts: &[Vec<u32>]) -> Option<Vec<u32>> {
    let ranks = traffic.ranks();
    let mut starts: Vec<Vec<u32>> = starts.to_vec();
    let is_small = ranks.saturating_mul(nodes.len()) <= MOST_CELLS;
    // Where there are more slots than ranks, the largest nodes hold most together.
    let mut by_size: Vec<u32> = (0..nodes.len() as u32).collect();
    by_size.sort_by_key(|node| std::cmp::Reverse(nodes[*node as usize].slots));
    let sorted: Vec<Node> = by_size.iter().map(|node| nodes[*node as usize].clone()).collect();
    let as_given = |places: Vec<u32>| places.into_iter().map(|place| by_size[place as usize]).collect::<Vec<_>>();
    let block = block(&sorted, ranks);
    if is_small && ranks <= MOST_GREEDY {
        starts.push(as_given(greedy(traffic, &sorted, heaviest(traffic))));
    }
    if ranks <= FEW_RANKS {
        let mut random = 0x2545_f491_4f6c_dd1d;
        starts.extend((0..ranks.min(STARTS) as u32).map(|seed| as_given(greedy(traffic, &sorted, seed))));
        starts.extend((0..STARTS).map(|_| as_given(shuffled(block.clone(), &mut random))));
    }
    starts.push(as_given(block));
    let mut starts: Vec<(f64, Vec<u32>)> = starts.into_iter().map(|start| (traffic.between(&start), start)).collect();
    starts.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    starts.dedup();
    // Of large jobs only the best start is worth the time.
    starts.truncate(if ranks <= FEW_RANKS { usize::MAX } else { 2 });
    let mut best: Option<(f64, Vec<u32>)> = None;
    let mut looks = MOST_LOOKS;
    for (before, start) in starts {
        let mut swaps = Swaps::new(traffic, nodes, start.clone());
        if is_small {
            swaps.improve(&mut looks);
        }
        // Sums of rounded numbers: what is no better in fact is not taken.
        let after = traffic.between(&swaps.places);
        let found = if after < before { (after, swaps.places) } else { (before, start) };
        if best.as_ref().is_none_or(|(least, _)| found.0 < *least) {
            best = Some(found);
        }
    }
    best.map(|(_, places)| places)
}

fn heaviest(traffic: &Traffic) -> u32 {
    let weight = |rank: &u32| traffic.near[*rank as usize].iter().map(|(_, bytes)| bytes).sum::<f64>();
    (0..traffic.ranks() as u32).max_by(|one, other| weight(one).total_cmp(&weight(other))).unwrap_or(0)
}

/// Fills node after node; the next node begins where most is left.
fn greedy(traffic: &Traffic, nodes: &[Node], seed: u32) -> Vec<u32> {
    let ranks = traffic.ranks();
    let mut places = vec![u32::MAX; ranks];
    // What each rank exchanges with the node that is being filled, and with all that are placed.
    let (mut here, mut placed) = (vec![0.0_f64; ranks], vec![0.0_f64; ranks]);
    let mut left = ranks;
    for (number, node) in nodes.iter().enumerate() {
        here.fill(0.0);
        for slot in 0..node.slots.min(left) {
            let free = (0..ranks as u32).filter(|rank| places[*rank as usize] == u32::MAX);
            let is_first = slot == 0;
            let key = |rank: u32| {
                let at = rank as usize;
                if is_first { placed[at] } else { here[at] }
            };
            let next = match number {
                0 if is_first => Some(seed),
                // Of equals the lowest: `max_by` takes the last.
                _ => free.rev().max_by(|one, other| key(*one).total_cmp(&key(*other))),
            };
            let Some(next) = next else { return places };
            places[next as usize] = number as u32;
            let mut add = |rank: u32, bytes: f64| {
                here[rank as usize] += bytes;
                placed[rank as usize] += bytes;
            };
            traffic.near[next as usize].iter().for_each(|(rank, bytes)| add(*rank, *bytes));
            for group in &traffic.of_rank[next as usize] {
                let group = &traffic.groups[*group as usize];
                group.members.iter().for_each(|rank| add(*rank, group.bytes));
            }
        }
        left -= node.slots.min(left);
    }
    places
}

/// Fisher and Yates, with the numbers of an xorshift generator: the same in every run.
fn shuffled(mut places: Vec<u32>, random: &mut u64) -> Vec<u32> {
    for at in (1..places.len()).rev() {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        places.swap(at, (*random >> 11) as usize % (at + 1));
    }
    places
}

struct Swaps<'a> {
    traffic: &'a Traffic,
    nodes: usize,
    places: Vec<u32>,
    free: Vec<usize>,
    /// Bytes of each rank with each node, but for those of groups.
    joined: Vec<f64>,
    /// Members of each group on each node.
    counts: Vec<Vec<u32>>,
    members: Vec<Vec<u32>>,
}

impl<'a> Swaps<'a> {
    fn new(traffic: &'a Traffic, nodes: &[Node], places: Vec<u32>) -> Swaps<'a> {
        let is_small = traffic.ranks().saturating_mul(nodes.len()) <= MOST_CELLS;
        let mut joined = vec![0.0; if is_small { traffic.ranks() * nodes.len() } else { 0 }];
        if is_small {
            for (rank, near) in traffic.near.iter().enumerate() {
                near.iter()
                    .for_each(|(other, bytes)| joined[rank * nodes.len() + places[*other as usize] as usize] += bytes);
            }
        }
        let mut counts = vec![vec![0; nodes.len()]; traffic.groups.len()];
        for (group, counts) in traffic.groups.iter().zip(&mut counts) {
            group.members.iter().for_each(|rank| counts[places[*rank as usize] as usize] += 1);
        }
        let mut members = vec![Vec::new(); nodes.len()];
        places.iter().enumerate().for_each(|(rank, node)| members[*node as usize].push(rank as u32));
        let free = nodes.iter().zip(&members).map(|(node, members)| node.slots.saturating_sub(members.len())).collect();
        Swaps { traffic, nodes: nodes.len(), places, free, joined, counts, members }
    }

    /// Bytes of a rank with the others of a node.
    fn with(&self, rank: u32, node: u32) -> f64 {
        let own = u32::from(self.places[rank as usize] == node);
        let groups = self.traffic.of_rank[rank as usize].iter().map(|group| {
            let group = *group as usize;
            self.traffic.groups[group].bytes * f64::from(self.counts[group][node as usize] - own)
        });
        self.joined[rank as usize * self.nodes + node as usize] + groups.sum::<f64>()
    }

    fn improve(&mut self, looks: &mut usize) {
        let least = self.traffic.total * 1e-12;
        loop {
            let mut is_better = false;
            for rank in 0..self.traffic.ranks() as u32 {
                if *looks == 0 {
                    return;
                }
                is_better |= self.improve_rank(rank, least, looks);
            }
            if !is_better {
                return;
            }
        }
    }

    /// Takes the best swap, or move to a free slot, of a rank.
    fn improve_rank(&mut self, rank: u32, least: f64, looks: &mut usize) -> bool {
        let from = self.places[rank as usize];
        let here = self.with(rank, from);
        let mut best = (least, None, 0);
        for node in (0..self.nodes as u32).filter(|node| *node != from) {
            *looks = looks.saturating_sub(1);
            let gain = self.with(rank, node) - here;
            if self.free[node as usize] > 0 && gain > best.0 {
                best = (gain, None, node);
            }
            // A partner gains no more than all that it has.
            for other in &self.members[node as usize] {
                *looks = looks.saturating_sub(1);
                let of_other = self.with(*other, from) - self.with(*other, node);
                let both = gain + of_other;
                if both > best.0 {
                    let both = both - 2.0 * self.traffic.of(rank, *other);
                    if both > best.0 {
                        best = (both, Some(*other), node);
                    }
                }
            }
        }
        let (gain, other, node) = best;
        if gain <= least {
            return false;
        }
        self.put(rank, node);
        match other {
            Some(other) => self.put(other, from),
            None => {
                self.free[from as usize] += 1;
                self.free[node as usize] -= 1;
            }
        }
        true
    }

    fn put(&mut self, rank: u32, node: u32) {
        let from = std::mem::replace(&mut self.places[rank as usize], node);
        for (other, bytes) in &self.traffic.near[rank as usize] {
            self.joined[*other as usize * self.nodes + from as usize] -= bytes;
            self.joined[*other as usize * self.nodes + node as usize] += bytes;
        }
        for group in &self.traffic.of_rank[rank as usize] {
            self.counts[*group as usize][from as usize] -= 1;
            self.counts[*group as usize][node as usize] += 1;
        }
        self.members[from as usize].retain(|member| *member != rank);
        self.members[node as usize].push(rank);
    }
}
