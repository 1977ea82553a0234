//! Nodes to place ranks on, and the usual orders.

use std::collections::BTreeMap;

use through_core::query::Error;
use through_core::query::catalog::Catalog;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Nothing: it is not known yet which host it will be.
    pub host: Option<String>,
    /// How many ranks it takes.
    pub slots: usize,
}

/// More ranks or nodes than any machine has are a slip of the pen.
const MOST_SLOTS: usize = 1 << 24;

/// `4`, `4x32`, or `node1:32,node2:16`. Nodes without a number of slots share the ranks evenly.
pub fn parse(text: &str, ranks: usize) -> Result<Vec<Node>, Error> {
    let wrong = || Error::Name(format!("'{text}' is not a list of nodes: write 4, 4x32 or node1:32,node2:32"));
    let number = |word: &str| word.trim().parse::<usize>().ok().filter(|number| (1..=MOST_SLOTS).contains(number));
    let share = |nodes: usize, at: usize| ranks / nodes + usize::from(at < ranks % nodes);
    if text.starts_with(|first: char| first.is_ascii_digit()) && !text.contains([':', ',', '.']) {
        let (nodes, slots) = match text.split_once(['x', 'X']) {
            Some((nodes, slots)) => (number(nodes), Some(number(slots).ok_or_else(wrong)?)),
            None => (number(text), None),
        };
        let nodes = nodes.filter(|nodes| nodes.saturating_mul(slots.unwrap_or(1)) <= MOST_SLOTS).ok_or_else(wrong)?;
        return Ok((0..nodes).map(|at| Node { host: None, slots: slots.unwrap_or(share(nodes, at)) }).collect());
    }
    let words: Vec<&str> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    let node = |(at, word): (usize, &&str)| {
        let (host, slots) = match word.rsplit_once(':') {
            Some((host, slots)) => (host, number(slots).ok_or_else(wrong)?),
            None => (*word, share(words.len(), at)),
        };
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        let is_host = !host.is_empty() && host.chars().all(is_plain);
        is_host.then(|| Node { host: Some(host.to_owned()), slots }).ok_or_else(wrong)
    };
    let nodes: Vec<Node> = words.iter().enumerate().map(node).collect::<Result<_, _>>()?;
    if nodes.is_empty() { Err(wrong()) } else { Ok(nodes) }
}

/// The hosts of the run, in the order of their lowest ranks, and on which of them each rank ran.
pub fn of_run(catalog: &Catalog) -> (Vec<Node>, Vec<u32>) {
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    let mut nodes: Vec<Node> = Vec::new();
    let mut places = Vec::new();
    for process in &catalog.processes {
        let number = *numbers.entry(&process.host).or_insert_with(|| {
            nodes.push(Node { host: Some(process.host.clone()), slots: 0 });
            nodes.len() as u32 - 1
        });
        nodes[number as usize].slots += 1;
        places.push(number);
    }
    (nodes, places)
}

/// Ranks one after the other, node by node.
pub fn block(nodes: &[Node], ranks: usize) -> Vec<u32> {
    let all = nodes.iter().enumerate().flat_map(|(at, node)| std::iter::repeat_n(at as u32, node.slots));
    all.take(ranks).collect()
}

/// A rank for each node in turn.
pub fn round_robin(nodes: &[Node], ranks: usize) -> Vec<u32> {
    in_turns(nodes, ranks, |_| false)
}

/// The same, every second turn from the last node to the first.
pub fn folded(nodes: &[Node], ranks: usize) -> Vec<u32> {
    in_turns(nodes, ranks, |turn| turn % 2 == 1)
}

fn in_turns(nodes: &[Node], ranks: usize, is_backwards: impl Fn(usize) -> bool) -> Vec<u32> {
    let most = nodes.iter().map(|node| node.slots).max().unwrap_or(0);
    let mut places = Vec::with_capacity(ranks);
    for turn in 0..most {
        let mut free: Vec<u32> = (0..nodes.len() as u32).filter(|at| nodes[*at as usize].slots > turn).collect();
        if is_backwards(turn) {
            free.reverse();
        }
        places.extend(free.into_iter().take(ranks - places.len()));
        if places.len() == ranks {
            break;
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_read() {
        let slots = |text: &str, ranks| parse(text, ranks).unwrap().iter().map(|node| node.slots).collect::<Vec<_>>();
        assert_eq!((slots("3", 8), slots("2x4", 8), slots("2X16", 8)), (vec![3, 3, 2], vec![4, 4], vec![16, 16]));
        let named = parse("a1.site:3, b,10.0.0.1:2", 9).unwrap();
        assert_eq!(
            named.iter().map(|node| node.host.as_deref().unwrap()).collect::<Vec<_>>(),
            ["a1.site", "b", "10.0.0.1"]
        );
        assert_eq!(named.iter().map(|node| node.slots).collect::<Vec<_>>(), [3, 3, 2]);
        for wrong in ["", "0", "2x0", "a:0", "a:b", ",", "a b", "99999999999", "9999999x9999999", "a\nb", "2x"] {
            assert!(parse(wrong, 8).is_err(), "{wrong}");
        }
    }

    #[test]
    fn orders_are_those_of_cray_mpich() {
        let nodes = parse("4x2", 8).unwrap();
        assert_eq!(block(&nodes, 8), [0, 0, 1, 1, 2, 2, 3, 3]);
        assert_eq!(round_robin(&nodes, 8), [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(folded(&nodes, 8), [0, 1, 2, 3, 3, 2, 1, 0]);
        let uneven = parse("a:1,b:3", 4).unwrap();
        assert_eq!((round_robin(&uneven, 4), folded(&uneven, 4)), (vec![0, 1, 1, 1], vec![0, 1, 1, 1]));
        assert_eq!(block(&parse("2x4", 5).unwrap(), 5), [0, 0, 0, 0, 1]);
    }
}
