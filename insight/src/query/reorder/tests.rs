//! Small jobs are compared with every placement that there is.

use super::model::Scheme;
use super::nodes::{Node, block, parse, round_robin};
use super::search::search;
use super::traffic::{Builder, Traffic};

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

/// The least that any placement has between nodes.
fn least(traffic: &Traffic, nodes: &[Node], places: &mut Vec<u32>) -> f64 {
    if places.len() == traffic.ranks() {
        return traffic.between(places);
    }
    let mut best = f64::INFINITY;
    for node in 0..nodes.len() as u32 {
        if places.iter().filter(|place| **place == node).count() < nodes[node as usize].slots {
            places.push(node);
            best = best.min(least(traffic, nodes, places));
            places.pop();
        }
    }
    best
}

fn check(what: &str, traffic: &Traffic, nodes: &[Node]) {
    let ranks = traffic.ranks();
    let starts = [block(nodes, ranks), round_robin(nodes, ranks)];
    let places = search(traffic, nodes, &starts).unwrap();
    for (number, node) in nodes.iter().enumerate() {
        let taken = places.iter().filter(|place| **place as usize == number).count();
        assert!(taken <= node.slots, "{what}: {taken} ranks on a node of {}", node.slots);
    }
    let found = traffic.between(&places);
    let best = least(traffic, nodes, &mut Vec::new());
    assert!(found <= best * 1.05 + 1e-9, "{what} on {}: {found} and not {best}", nodes.len());
    assert!(starts.iter().all(|start| found <= traffic.between(start)));
}

#[test]
fn small_jobs_are_placed_as_well_as_they_can_be() {
    let mut random = Random(99);
    for ranks in [4u32, 6, 8] {
        for spec in ["2", "3", "4", "2x6", "a:2,b:6"] {
            let nodes = parse(spec, ranks as usize).unwrap();
            let all: Vec<u32> = (0..ranks).collect();
            for round in 0..12 {
                let mut order = all.clone();
                (0..ranks as usize).for_each(|at| order.swap(at, random.below(u64::from(ranks)) as usize));
                let mut halo = Builder::default();
                for at in 0..ranks as usize {
                    let columns = ranks as usize / 2;
                    if (at + 1) % columns != 0 {
                        halo.pair(order[at], order[at + 1], 10.0);
                    }
                    if at + columns < ranks as usize {
                        halo.pair(order[at], order[at + columns], 10.0 + f64::from(round));
                    }
                }
                check("halo", &halo.finish(ranks as usize), &nodes);
                let mut rows = Builder::default();
                for row in order.chunks(ranks as usize / 2) {
                    let mut row = row.to_vec();
                    row.sort_unstable();
                    Scheme::Pairwise.add(&row, 100.0, &mut rows);
                    Scheme::Doubling.add(&row, 10.0, &mut rows);
                }
                Scheme::Doubling.add(&all, 1.0, &mut rows);
                check("rows", &rows.finish(ranks as usize), &nodes);
                let mut any = Builder::default();
                for one in 0..ranks {
                    for other in 0..one {
                        let bytes = random.below(1000) as f64;
                        any.pair(one, other, if bytes < 300.0 { 0.0 } else { bytes });
                    }
                }
                check("random", &any.finish(ranks as usize), &nodes);
            }
        }
    }
}

/// A group costs what its pairs would.
#[test]
fn groups_are_pairs() {
    let mut random = Random(5);
    for _ in 0..50 {
        let members: Vec<u32> = (0..9).filter(|_| random.below(2) == 1).collect();
        let (mut group, mut pairs) = (Builder::default(), Builder::default());
        group.group(&members, 3.0);
        for one in &members {
            members.iter().filter(|other| *other < one).for_each(|other| pairs.pair(*one, *other, 3.0));
        }
        let (group, pairs) = (group.finish(9), pairs.finish(9));
        let places: Vec<u32> = (0..9).map(|_| random.below(3) as u32).collect();
        assert_eq!((group.total, group.between(&places)), (pairs.total, pairs.between(&places)));
        for one in 0..9 {
            (0..9)
                .filter(|other| *other != one)
                .for_each(|other| assert_eq!(group.of(one, other), pairs.of(one, other)));
        }
    }
}

/// Four rows of 128 whose members talk to each other, on four nodes: rows one after the other are right, and stay. In columns the search must
/// find the rows.
#[test]
fn collectives_in_rows_keep_rows_together() {
    let nodes = parse("4x128", 512).unwrap();
    for stride in [1u32, 4] {
        let mut traffic = Builder::default();
        for row in 0..4 {
            let members: Vec<u32> =
                (0..128).map(|at| if stride == 1 { row * 128 + at } else { at * 4 + row }).collect();
            Scheme::Halving.add(&members, 1e6, &mut traffic);
        }
        Scheme::Doubling.add(&(0..512).collect::<Vec<_>>(), 8.0, &mut traffic);
        let traffic = traffic.finish(512);
        let starts = [block(&nodes, 512), round_robin(&nodes, 512)];
        let best = if stride == 1 { &starts[0] } else { &starts[1] };
        let places = search(&traffic, &nodes, &starts).unwrap();
        assert!(traffic.between(&places) <= traffic.between(best));
        assert!(traffic.between(best) * 100.0 < traffic.between(&starts[if stride == 1 { 1 } else { 0 }]));
    }
}
