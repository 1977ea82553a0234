//! Stars and trees.

use std::cmp::Reverse;

use super::fit::Fit;
use super::links::Links;
use super::shape::{Branching, Shape, Way};

/// Members that are tried as the root of each kind.
const ROOTS: usize = 6;

pub fn star(links: &Links) -> Option<Fit> {
    let degree = |member: &u32| links.to(*member).len() + links.from(*member).len();
    let root = (0..links.members() as u32).max_by_key(|member| (degree(member), Reverse(*member)))?;
    Way::ALL.into_iter().filter_map(|way| Fit::of(Shape::Star { root, way }, links)).min_by_key(Fit::wrong)
}

/// Trees whose members are numbered from a root, as collective operations are built of.
pub fn numbered(links: &Links, branching: Branching) -> Option<Fit> {
    let members = links.members() as u32;
    let degree = |member: &u32| links.to(*member).len() + links.from(*member).len();
    let mut by_degree: Vec<u32> = (0..members).collect();
    let is_joined = |one: u32, other: u32| links.has(one, other) || links.has(other, one);
    match branching {
        Branching::Binomial => by_degree.sort_by_key(|member| Reverse(degree(member))),
        // Its children are the next two.
        Branching::Binary => {
            by_degree.retain(|root| (1..3).any(|step| is_joined(*root, (root + step) % members)));
        }
    }
    let sources = (0..members).filter(|member| links.from(*member).is_empty()).take(ROOTS);
    let sinks = (0..members).filter(|member| links.to(*member).is_empty()).take(ROOTS);
    let roots = [0].into_iter().chain(sources).chain(sinks).chain(by_degree.into_iter().take(ROOTS));
    let shapes = roots.flat_map(|root| Way::ALL.map(|way| Shape::Tree { branching, root, way }));
    shapes.filter_map(|shape| Fit::of(shape, links)).min_by_key(Fit::wrong)
}

/// A tree by its links alone: all members are joined, and no link is too many.
pub fn any(links: &Links) -> Option<Fit> {
    let neighbours = links.neighbours(false);
    let members = neighbours.len();
    let joined: usize = neighbours.iter().map(Vec::len).sum::<usize>() / 2;
    // Either each link goes both ways, or each goes one way.
    let is_even = links.count() == joined || links.count() == 2 * joined;
    if members < 4 || joined + 1 != members || !is_even {
        return None;
    }
    let order = outward(&neighbours, 0);
    let is_tree = order.len() == members;
    let shape = || Shape::AnyTree(branching(&neighbours));
    is_tree.then(|| Fit { shape: shape(), numbers: None, extra: 0, lacking: 0 })
}

/// Members with their parents, each behind its parent.
fn outward(neighbours: &[Vec<u32>], root: u32) -> Vec<(u32, Option<u32>)> {
    let mut order = vec![(root, None)];
    let mut seen = vec![false; neighbours.len()];
    seen[root as usize] = true;
    let mut at = 0;
    while let Some((member, _)) = order.get(at).copied() {
        at += 1;
        for near in &neighbours[member as usize] {
            if !std::mem::replace(&mut seen[*near as usize], true) {
                order.push((*near, Some(member)));
            }
        }
    }
    order
}

fn branching(neighbours: &[Vec<u32>]) -> Option<Branching> {
    let members = neighbours.len();
    let most = neighbours.iter().map(Vec::len).max()?;
    if members.is_power_of_two() && most == members.trailing_zeros() as usize {
        let heaviest = (0..members as u32).filter(|member| neighbours[*member as usize].len() == most);
        if heaviest.take(2).any(|root| is_binomial(neighbours, root)) {
            return Some(Branching::Binomial);
        }
    }
    let is_binary = most <= 3 && {
        // No deeper than it must be, from a member in its middle.
        let far = outward(neighbours, 0).last().map(|(member, _)| *member)?;
        let depth = depths(neighbours, far).into_iter().max()?;
        depth.div_ceil(2) <= members.ilog2() as usize
    };
    is_binary.then_some(Branching::Binary)
}

fn depths(neighbours: &[Vec<u32>], root: u32) -> Vec<usize> {
    let mut depths = vec![0; neighbours.len()];
    for (member, parent) in outward(neighbours, root) {
        depths[member as usize] = parent.map_or(0, |parent| depths[parent as usize] + 1);
    }
    depths
}

/// Whether the subtrees below each member have 1, 2, 4 and so on members.
fn is_binomial(neighbours: &[Vec<u32>], root: u32) -> bool {
    let order = outward(neighbours, root);
    let mut sizes = vec![1usize; neighbours.len()];
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); neighbours.len()];
    for (member, parent) in order.iter().rev() {
        let Some(parent) = parent else { continue };
        sizes[*parent as usize] += sizes[*member as usize];
        below[*parent as usize].push(sizes[*member as usize]);
    }
    below.iter_mut().all(|sizes| {
        sizes.sort_unstable();
        sizes.iter().enumerate().all(|(at, size)| *size == 1 << at)
    })
}
