//! DOT, the language of Graphviz: <https://graphviz.org/doc/info/lang.html>. Processes and devices of a host stand together;
//! the more bytes, or calls, the thicker an edge.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::document::{Document, Drawing};
use crate::query::graph::{Edge, Graph, Node};
use crate::query::layers::ways::How;
use crate::text::escape::visible;
use crate::text::terminal::Terminal;
use crate::text::units;

/// Of the lightest and the heaviest edge, in points.
const WIDTHS: [f64; 2] = [0.5, 6.0];

/// A graph as Graphviz draws it, with what the document says of it above.
pub struct Dot {
    pub graph: Graph,
    /// Edges are weighed by their calls in place of their bytes.
    pub counts: bool,
}

impl Drawing for Dot {
    fn draw(&self, document: &Document, _: &Terminal, out: &mut dyn Write) -> io::Result<()> {
        dot(&self.graph, self.counts, document, out)
    }
}

fn dot(graph: &Graph, counts: bool, document: &Document, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "digraph commsee {{")?;
    writeln!(out, "  rankdir=LR;")?;
    writeln!(out, "  node [shape=box, fontname=\"sans-serif\"];")?;
    writeln!(out, "  edge [fontname=\"sans-serif\", fontsize=10];")?;
    writeln!(out, "  labelloc=t;")?;
    writeln!(out, "  label={};", quoted(&title(graph, document)))?;
    let mut hosts: BTreeMap<&str, Vec<&Node>> = BTreeMap::new();
    for node in &graph.nodes {
        hosts.entry(&node.host).or_default().push(node);
    }
    for (number, (host, nodes)) in hosts.into_iter().enumerate() {
        let indent = if host.is_empty() { "  " } else { "    " };
        if !host.is_empty() {
            writeln!(out, "  subgraph cluster_{number} {{")?;
            writeln!(out, "    label={};", quoted(&[host.to_owned()]))?;
        }
        for node in nodes {
            let label = quoted(std::slice::from_ref(&node.label));
            writeln!(out, "{indent}{} [label={label}, shape={}];", identifier(&node.id), shape(&node.kind))?;
        }
        if !host.is_empty() {
            writeln!(out, "  }}")?;
        }
    }
    let weight = |edge: &Edge| if counts { edge.calls.max(0) as u64 } else { edge.bytes };
    let width = widths(graph.edges.iter().map(weight));
    for edge in &graph.edges {
        let (from, to) = (identifier(&graph.nodes[edge.from].id), identifier(&graph.nodes[edge.to].id));
        let how = if edge.how == How::Modelled { edge.how.name() } else { "" };
        let weighed = if counts { units::count(weight(edge), "call") } else { units::bytes(edge.bytes) };
        let lines = [weighed, edge.transport.clone(), how.to_owned()];
        let lines = lines.into_iter().filter(|line| !line.is_empty());
        let label = quoted(&lines.collect::<Vec<_>>());
        writeln!(out, "  {from} -> {to} [label={label}, penwidth={:.2}];", width(weight(edge)))?;
    }
    writeln!(out, "}}")
}

/// Which profile and layer, and what was left out.
fn title(graph: &Graph, document: &Document) -> Vec<String> {
    let head = &document.head;
    let words = document.words.iter().map(|(_, word)| word.as_str());
    let mut lines = vec![[&*head.path.to_string_lossy()].into_iter().chain(words).collect::<Vec<_>>().join(" · ")];
    if !head.filters.is_empty() {
        lines.push(format!("only {}", head.filters.join(", ")));
    }
    if graph.hidden > 0 {
        let edges = units::count(graph.hidden as u64, "edge");
        lines.push(format!("without {edges} of {} in all", units::bytes(graph.hidden_bytes)));
    }
    lines.extend(head.layers().map(|line| format!("{}: {}", line.name, line.text)));
    lines
}

fn shape(kind: &str) -> &'static str {
    match kind {
        "process" | "host" => "box",
        "network" => "hexagon",
        "memory" => "cylinder",
        "gpu" => "component",
        _ => "ellipse",
    }
}

/// Each tenth of the heaviest edge's weight is a point less.
fn widths(weights: impl Iterator<Item = u64>) -> impl Fn(u64) -> f64 {
    let most = weights.max().unwrap_or(0).max(1) as f64;
    move |weight| (WIDTHS[1] - (most / weight.max(1) as f64).log10()).max(WIDTHS[0])
}

/// Lines as one string in quotes: a backslash would begin an escape, such as `\N` for the node's own name.
fn quoted(lines: &[String]) -> String {
    let escaped = lines.iter().map(|line| visible(line).replace('\\', "\\\\").replace('"', "\\\""));
    format!("\"{}\"", escaped.collect::<Vec<_>>().join("\\n"))
}

/// The name of a node. In those a backslash stands for itself, but not in front of a quotation mark.
fn identifier(id: &str) -> String {
    quoted(&[id.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted() {
        assert_eq!(quoted(&["a\"b\\N".to_owned(), "c\u{1b}\n".to_owned()]), r#""a\"b\\N\nc\\u{1b}\\n""#);
    }

    #[test]
    fn edges_are_as_thick_as_the_logarithm_of_their_weight() {
        let weights = [0, 1000, 90_000, 100_000];
        let width = widths(weights.into_iter());
        assert_eq!(weights.map(|weight| format!("{:.2}", width(weight))), ["1.00", "4.00", "5.95", "6.00"]);
        assert_eq!(widths([0, u64::MAX].into_iter())(0), 0.5);
        assert_eq!(widths(std::iter::empty())(0), 6.0);
    }
}
