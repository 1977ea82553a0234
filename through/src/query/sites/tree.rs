//! Callers as a tree: from the program down to MPI calls, or from MPI calls up to whoever called.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::Spot;
use super::counts::Count;
use crate::query::catalog::Catalog;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the outermost function to the MPI call.
    Down,
    /// From the MPI call to its callers.
    Up,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    Code(Rc<Spot>),
    /// An operation, by its number.
    Call(i64),
}

/// Sums over all calls that passed through it.
#[derive(Clone, Debug)]
pub struct Node {
    pub what: What,
    pub parent: Option<usize>,
    pub depth: usize,
    pub calls: i64,
    pub bytes_sent: u64,
    pub bytes_recv: u64,
    pub time_ns: i64,
    /// The part of its time that is part of the MPI time.
    pub mpi_ns: i64,
}

/// Parents before their children, heavier ones first.
pub fn tree(counts: &[Count], catalog: &Catalog, direction: Direction) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut children: BTreeMap<(Option<usize>, What), usize> = BTreeMap::new();
    for count in counts {
        let mut path = path(count, catalog);
        if direction == Direction::Down {
            path.reverse();
        }
        let mpi_ns = if catalog.is_outside_span(count.op) { 0 } else { count.time_ns };
        let mut parent = None;
        for (depth, what) in path.into_iter().enumerate() {
            let at = *children.entry((parent, what.clone())).or_insert_with(|| {
                let none = Node { what, parent, depth, calls: 0, bytes_sent: 0, bytes_recv: 0, time_ns: 0, mpi_ns: 0 };
                nodes.push(none);
                nodes.len() - 1
            });
            let node = &mut nodes[at];
            node.calls = node.calls.saturating_add(count.calls);
            node.bytes_sent = node.bytes_sent.saturating_add(count.bytes_sent);
            node.bytes_recv = node.bytes_recv.saturating_add(count.bytes_recv);
            node.time_ns = node.time_ns.saturating_add(count.time_ns);
            node.mpi_ns = node.mpi_ns.saturating_add(mpi_ns);
            parent = Some(at);
        }
    }
    in_order(nodes)
}

/// The call, and the code around it from the inside.
pub fn path(count: &Count, catalog: &Catalog) -> Vec<What> {
    let stack = catalog.sites.stack(count.site).into_iter().map(|spot| What::Code(Rc::clone(spot)));
    [What::Call(count.op)].into_iter().chain(stack).collect()
}

fn in_order(nodes: Vec<Node>) -> Vec<Node> {
    let mut below: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (at, node) in nodes.iter().enumerate() {
        below.entry(node.parent).or_default().push(at);
    }
    for list in below.values_mut() {
        list.sort_by_key(|at| (nodes[*at].time_ns, Reverse(*at)));
    }
    let mut ordered: Vec<Node> = Vec::with_capacity(nodes.len());
    // The heaviest is taken first: it is the last one.
    let mut open: Vec<(usize, Option<usize>)> =
        below.remove(&None).unwrap_or_default().into_iter().map(|at| (at, None)).collect();
    while let Some((at, parent)) = open.pop() {
        let here = Some(ordered.len());
        ordered.push(Node { parent, ..nodes[at].clone() });
        open.extend(below.remove(&Some(at)).unwrap_or_default().into_iter().map(|child| (child, here)));
    }
    ordered
}

/// Keeps the heaviest ones, which a parent always is before its children, and tells how many were dropped.
pub fn prune(nodes: &mut Vec<Node>, most: Option<usize>) -> usize {
    let Some(most) = most.filter(|most| *most > 0 && *most < nodes.len()) else { return 0 };
    let mut heaviest: Vec<usize> = (0..nodes.len()).collect();
    heaviest.sort_by_key(|at| (Reverse(nodes[*at].time_ns), *at));
    heaviest.truncate(most);
    heaviest.sort_unstable();
    let kept: BTreeMap<usize, usize> = heaviest.iter().enumerate().map(|(new, old)| (*old, new)).collect();
    let hidden = nodes.len() - most;
    let keep = |at: &usize| {
        let node = nodes[*at].clone();
        Node { parent: node.parent.and_then(|parent| kept.get(&parent).copied()), ..node }
    };
    *nodes = heaviest.iter().map(keep).collect();
    hidden
}
