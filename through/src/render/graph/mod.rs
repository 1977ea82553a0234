//! A graph for other programs: DOT for Graphviz, JSON for pages.

pub mod dot;

use std::io::{self, Write};

use serde::Serialize;

use super::header::Head;
use super::json;
use super::layers::{NoteRecord, UnlinkedRecord, notes, unlinked};
use crate::query::graph::Graph;

/// What is said of a graph beside it.
pub struct Caption<'a> {
    pub head: &'a Head<'a>,
    /// Whose messages are drawn.
    pub layer: &'a str,
}

#[derive(Serialize)]
struct Document<'a> {
    profile: String,
    filters: &'a [String],
    layer: &'a str,
    /// Edges that were left out.
    hidden: usize,
    nodes: Vec<NodeRecord<'a>>,
    edges: Vec<EdgeRecord<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<Vec<NoteRecord<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unlinked: Option<Vec<UnlinkedRecord<'a>>>,
}

#[derive(Serialize)]
struct NodeRecord<'a> {
    id: &'a str,
    kind: &'a str,
    host: &'a str,
    label: &'a str,
}

#[derive(Serialize)]
struct EdgeRecord<'a> {
    /// Identifiers of nodes.
    from: &'a str,
    to: &'a str,
    bytes: u64,
    calls: i64,
    transport: &'a str,
}

pub fn json(graph: &Graph, caption: &Caption, out: &mut dyn Write) -> io::Result<()> {
    let head = caption.head;
    let nodes = graph.nodes.iter();
    let edges = graph.edges.iter().map(|edge| EdgeRecord {
        from: &graph.nodes[edge.from].id,
        to: &graph.nodes[edge.to].id,
        bytes: edge.bytes,
        calls: edge.calls,
        transport: &edge.transport,
    });
    let document = Document {
        profile: head.path.to_string_lossy().into_owned(),
        filters: &head.filter.words,
        layer: caption.layer,
        hidden: graph.hidden,
        nodes: nodes
            .map(|node| NodeRecord { id: &node.id, kind: &node.kind, host: &node.host, label: &node.label })
            .collect(),
        edges: edges.collect(),
        notes: head.layers.map(notes),
        unlinked: head.layers.map(unlinked),
    };
    json::write(&document, out)
}
