//! Who talked to whom as a graph: of processes, or of the devices that the data went over.

mod devices;
mod processes;

use std::cmp::Reverse;
use std::collections::BTreeMap;

pub use devices::{Used, devices, layers_with_devices};
pub use processes::processes;

use super::flows::Flow;
use super::hosts::Ends;
use super::layers::ways::How;
use super::transfers::End;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub id: String,
    /// `process`, `host`, `unknown`, `other world`, or the kind of a device: `network`, `memory`, `gpu`.
    pub kind: String,
    /// Empty where it is not known.
    pub host: String,
    pub label: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Nodes, by their place.
    pub from: usize,
    pub to: usize,
    pub transport: String,
    pub how: How,
    pub calls: i64,
    pub bytes: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub nodes: Vec<Node>,
    /// The heaviest first.
    pub edges: Vec<Edge>,
    /// Edges that were left out, and the bytes on them.
    pub hidden: usize,
    pub hidden_bytes: u64,
}

/// A graph in the making.
struct Sketch<'a> {
    ends: &'a Ends,
    places: BTreeMap<String, usize>,
    nodes: Vec<Node>,
    edges: BTreeMap<(usize, usize, String, How), (i64, u64)>,
}

impl<'a> Sketch<'a> {
    fn new(ends: &'a Ends) -> Sketch<'a> {
        Sketch { ends, places: BTreeMap::new(), nodes: Vec::new(), edges: BTreeMap::new() }
    }

    fn host(&self, end: End) -> &'a str {
        self.ends.host(end)
    }

    fn node(&mut self, id: String, kind: &str, host: &str, label: &str) -> usize {
        let nodes = &mut self.nodes;
        *self.places.entry(id).or_insert_with_key(|id| {
            let (kind, host, label) = (kind.to_owned(), host.to_owned(), label.to_owned());
            nodes.push(Node { id: id.clone(), kind, host, label });
            nodes.len() - 1
        })
    }

    fn process(&mut self, end: End) -> usize {
        let host = self.host(end);
        match end {
            End::Rank(_) if self.ends.are_hosts() => {
                let name = self.ends.name(end);
                self.node(format!("host {name}"), "host", host, &name)
            }
            End::Rank(rank) => self.node(format!("rank {rank}"), "process", host, &rank.to_string()),
            End::Memory(_) => match self.ends.gpu(end) {
                Some(gpu) => self.node(format!("gpu {gpu} of {host}"), "gpu", host, gpu),
                None => {
                    let name = self.ends.name(end);
                    self.node(format!("host {name}"), "host", host, &name)
                }
            },
            End::Unknown => self.node("?".to_owned(), "unknown", "", "?"),
            End::Remote => self.node("other world".to_owned(), "other world", "", "other world"),
        }
    }

    fn edge(&mut self, from: usize, to: usize, transport: &str, flow: &Flow) {
        let sum = self.edges.entry((from, to, transport.to_owned(), flow.how)).or_default();
        *sum = (sum.0.saturating_add(flow.calls), sum.1.saturating_add(flow.bytes));
    }

    fn finish(self) -> Graph {
        let edges = self.edges.into_iter();
        let edges =
            edges.map(|((from, to, transport, how), (calls, bytes))| Edge { from, to, transport, how, calls, bytes });
        let mut graph = Graph { nodes: self.nodes, edges: edges.collect(), hidden: 0, hidden_bytes: 0 };
        graph.sort(false);
        graph
    }
}

impl Graph {
    /// The heaviest first: by calls, or by bytes.
    pub fn sort(&mut self, counts: bool) {
        let calls = |edge: &Edge| edge.calls.max(0) as u64;
        self.edges.sort_by_key(|edge| {
            let weights = if counts { [calls(edge), edge.bytes] } else { [edge.bytes, calls(edge)] };
            Reverse(weights)
        });
    }

    /// Keeps the heaviest edges; nothing and 0 keep all.
    pub fn shorten(&mut self, top: Option<usize>) {
        let kept = top.filter(|top| *top > 0).unwrap_or(usize::MAX).min(self.edges.len());
        let dropped = self.edges.split_off(kept);
        self.hidden = dropped.len();
        self.hidden_bytes = dropped.iter().fold(0, |sum, edge| sum.saturating_add(edge.bytes));
    }
}
