//! Who talked to whom as a graph: of processes, of hosts, or of the devices that the data went over.

use std::rc::Rc;

use super::traffic::asked;
use super::{Between, Column, Flag, Part, Question, View, column, linkage};
use crate::document::{Audience, Document, Drawing, Format, Table, Unit, Value};
use crate::error::Error;
use crate::query::catalog::Catalog;
use crate::query::graph::{Edge, Graph, Node, Used, devices, layers_with_devices, processes};
use crate::query::selection::Selection;
use crate::render::dot::Dot;

pub const VIEW: View = View {
    name: "graph",
    command: "traffic",
    flag: Flag::Switch { short: None, long: "graph" },
    help: "Graph of processes, hosts or devices, for Graphviz",
    meaning: "traffic as a graph of processes, of hosts, or of the devices that carried the data",
    note: "",
    formats: &[Format::Dot, Format::Json],
    sorts: &[],
    entries: "edges",
    lacks: &[],
    empty: "the profile has no messages",
    parts: &[
        Part { name: "nodes", headings: || column::headings(NODES) },
        Part { name: "edges", headings: || column::headings(EDGES) },
    ],
    ask,
};

const NODES: &[Column<Node, Graph>] = &[
    Column::record("id", Unit::Text, "its identifier", |_, node| Value::text(&node.id)),
    Column::record(
        "kind",
        Unit::Text,
        "`process`, `host`, `unknown`, `other world`, or the kind of a device",
        |_, node| Value::text(&node.kind),
    ),
    Column::record("host", Unit::Text, "its host; empty if unknown", |_, node| Value::text(&node.host)),
    Column::record("label", Unit::Text, "its name", |_, node| Value::text(&node.label)),
];

const EDGES: &[Column<Edge, Graph>] = &[
    Column::record("from", Unit::Text, "identifier of a node", |graph, edge| Value::text(&graph.nodes[edge.from].id)),
    Column::record("to", Unit::Text, "identifier of a node", |graph, edge| Value::text(&graph.nodes[edge.to].id)),
    Column::record("bytes", Unit::Bytes, "bytes over this edge", |_, edge| Value::Bytes(edge.bytes)),
    Column::record("calls", Unit::Count, "messages or operations", |_, edge| Value::Number(edge.calls)),
    Column::record("transport", Unit::Text, "the transport", |_, edge| Value::text(&edge.transport)),
    Column::record(
        "how",
        Unit::Text,
        "`exact`: from the arguments of calls. `measured`: counted by the layer's transport",
        |_, edge| Value::text(edge.how.name()),
    ),
];

fn ask(question: &Question) -> Result<Document, Error> {
    let catalog = Catalog::read(&question.profile)?;
    let mut selection: Selection = question.selection.clone();
    if question.between == Between::Devices && selection.layer.is_empty() {
        selection.layer = layers_with_devices(&catalog);
    }
    let asked = match asked(question, catalog, &selection, VIEW.entries, false)? {
        Ok(asked) => asked,
        Err(document) => return Ok(*document),
    };
    let context = &asked.context;
    let catalog = &context.catalog;
    let mut graph = match question.between {
        Between::Ranks | Between::Hosts => processes(&asked.flows, catalog, &asked.ends),
        Between::Devices => {
            devices(&asked.flows, catalog, &Used::read(&context.profile, catalog, &asked.ends)?, &asked.ends)
        }
    };
    let mut document = context.document(VIEW.entries, graph.edges.is_empty(), VIEW.empty);
    document.reasons = asked.reasons;
    document.remarks.extend(asked.left);
    document.words = vec![("layer", asked.layer)];
    graph.sort(question.counts);
    graph.shorten(question.top);
    document.hidden = graph.hidden;
    let graph = Rc::new(graph);
    let only_json = |table| Table { audience: Audience::JSON, ..table };
    document.tables = vec![
        only_json(column::table("nodes", NODES, &graph, graph.nodes.clone())),
        only_json(column::table("edges", EDGES, &graph, graph.edges.clone())),
    ];
    document.tables.extend(linkage::records(context));
    document.drawings =
        vec![(Format::Dot, Box::new(Dot { graph: (*graph).clone(), counts: question.counts }) as Box<dyn Drawing>)];
    Ok(document)
}
