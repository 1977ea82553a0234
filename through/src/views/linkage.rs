//! What hook modules say of themselves, what is linked to no MPI call, and wire bytes per byte passed to MPI.

use std::rc::Rc;

use super::{Column, Context, column};
use crate::document::{Audience, More, Style, Table, Unit, Value};
use crate::query::layers::amplification::Amplification;
use crate::query::layers::linkage::Layers;
use crate::query::notes::Note;
use crate::query::transfers::Sums;

pub const NOTES: &[Column<Note>] = &[
    Column::record("module", Unit::Text, "the module", |_, row| Value::text(&row.module)),
    Column::record("text", Unit::Text, "its text", |_, row| Value::text(&row.text)),
    Column::record("ranks", Unit::Count, "ranks with this note", |_, row| Value::Number(row.ranks)),
];

/// Of one layer: all, or one protocol.
pub struct Unlinked {
    layer: String,
    protocol: Option<String>,
    sums: Sums,
    total: Sums,
}

pub const UNLINKED: &[Column<Unlinked>] = &[
    Column::new("layer", "layer", Unit::Text, "the layer", |_, row: &Unlinked| Value::text(&row.layer)).once(),
    Column::new("protocol", "protocol", Unit::Text, "the protocol; `null`: all of them", |_, row| {
        Value::maybe(row.protocol.as_deref())
    }),
    Column::new("calls", "calls", Unit::Count, "operations without an MPI call", |_, row| {
        Value::Number(row.sums.calls)
    }),
    Column::new("calls_share", "share", Unit::Share, "of all operations of the layer", |_, row| Value::Share {
        part: row.sums.calls as f64,
        whole: row.total.calls as f64,
    }),
    Column::new("bytes", "bytes", Unit::Bytes, "their bytes", |_, row: &Unlinked| Value::Bytes(row.sums.bytes))
        .style(Style::Zero),
    Column::new("bytes_share", "share", Unit::Share, "of all bytes of the layer", |_, row| Value::Share {
        part: row.sums.bytes as f64,
        whole: row.total.bytes as f64,
    }),
];

pub const AMPLIFICATION: &[Column<Amplification>] = &[
    Column::new(
        "comm",
        "communicator",
        Unit::Communicator,
        "the communicator's name",
        |context: &Context, row: &Amplification| Value::Communicator {
            name: context.comm(row.comm),
            label: context.label(row.comm),
        },
    )
    .once(),
    Column::record("op", Unit::Operation, "the MPI operation; `null`: all on the communicator", |context, row| {
        Value::some(row.op, |op| Value::Operation(context.op(op)))
    }),
    Column::shown("operation", Unit::Operation, |context, row| match row.op {
        Some(op) => Value::Operation(context.op(op)),
        None => Value::text("(all)"),
    }),
    Column::new("asked_bytes", "asked", Unit::Bytes, "bytes that MPI calls sent", |_, row: &Amplification| {
        Value::Bytes(row.asked_bytes)
    })
    .style(Style::Zero),
    Column::new("wire_bytes", "on the wire", Unit::Bytes, "wire bytes for them", |_, row: &Amplification| {
        Value::Bytes(row.wire_bytes)
    })
    .style(Style::Zero),
    Column::new("ratio", "ratio", Unit::Ratio, "wire bytes per byte passed to MPI", |_, row| Value::Ratio(row.ratio())),
];

const AMPLIFICATION_LEGEND: &str = "Asked: bytes that MPI calls sent, over all ranks; on the wire: bytes that transports sent \
     for them, with headers and control messages. If the receiver fetches the data, its receive has the wire bytes: only all operations \
     together have both sides.";
/// Communicators and operations that a table shows.
const AMPLIFICATION_SHOWN: usize = 20;

/// Notes and what is not linked, as JSON has them in every document. Nothing where no layer was recorded.
pub fn records(context: &Rc<Context>) -> Vec<Table> {
    let Some(layers) = &context.layers else { return Vec::new() };
    let notes = column::table("notes", NOTES, context, layers.notes.clone());
    let unlinked = column::table("unlinked", UNLINKED, context, unlinked(layers));
    [notes, unlinked].map(|table| Table { audience: Audience::JSON, ..table }).into()
}

/// The same for people, below what layers did.
pub fn tables(context: &Rc<Context>) -> Vec<Table> {
    let Some(layers) = &context.layers else { return Vec::new() };
    let catalog = &context.catalog;
    let for_people = |table| Table { audience: Audience::PEOPLE, ..table };
    let notes: Vec<String> =
        layers.notes.iter().map(|note| format!("{}: {}", note.module, note.sentence(catalog))).collect();
    let notes = (!notes.is_empty()).then(|| Table {
        title: Some("notes of hook modules"),
        after: notes,
        ..column::table::<Note, Context>("notes", NOTES, context, Vec::new())
    });
    let linked: Vec<&str> =
        layers.links.iter().filter(|links| links.parts.is_empty()).map(|links| links.layer.as_str()).collect();
    let after = (!linked.is_empty()).then(|| format!("of {}: nothing", linked.join(", ")));
    let mut rows = unlinked(layers);
    rows.retain(|row| row.protocol.is_some());
    let unlinked = (!layers.links.is_empty() && catalog.has_mpi()).then(|| Table {
        title: Some("operations without an MPI call"),
        after: after.into_iter().collect(),
        ..column::table("unlinked", UNLINKED, context, rows)
    });
    notes.into_iter().chain(unlinked).map(for_people).collect()
}

/// Of each layer all, and then its protocols.
fn unlinked(layers: &Layers) -> Vec<Unlinked> {
    let mut rows = Vec::new();
    for links in &layers.links {
        let row = |protocol: Option<&String>, sums: &Sums| Unlinked {
            layer: links.layer.clone(),
            protocol: protocol.cloned(),
            sums: *sums,
            total: links.total,
        };
        rows.push(row(None, &links.unlinked));
        rows.extend(links.parts.iter().map(|(protocol, sums)| row(Some(protocol), sums)));
    }
    rows
}

/// Wire bytes per byte passed to MPI.
pub fn amplification(context: &Rc<Context>, rows: Vec<Amplification>) -> Table {
    let is_empty = rows.is_empty();
    Table {
        audience: Audience { table: !is_empty, csv: false, json: true },
        title: Some("amplification: wire bytes per byte passed to MPI"),
        legend: vec![AMPLIFICATION_LEGEND.to_owned()],
        more: Some(More { most: AMPLIFICATION_SHOWN, one: "more row", hint: ": --format json" }),
        ..column::table("amplification", AMPLIFICATION, context, rows)
    }
}
