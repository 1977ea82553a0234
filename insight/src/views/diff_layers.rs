//! What changed below MPI between two programs.

use std::rc::Rc;

use through_core::document::{Audience, Line, Table, Unit, Value};
use through_core::text::escape::visible;
use through_core::text::terminal::Paint;
use through_core::text::units;
use through_core::views::{Column, column, shorten};

use super::diff::before_after;
use crate::query::compare::layers::{Beside, Layers, Turn};

type Of = Column<Beside, ()>;

/// Protocols and transports side by side.
pub const LAYERS: &[Of] = &[
    Of::new("layer", "layer", Unit::Text, "the layer", |_, row| Value::text(&row.layer)).once(),
    Of::new("protocol", "protocol", Unit::Text, "the protocol; empty if there is none", |_, row| {
        Value::text(&row.protocol)
    }),
    Of::new("transport", "transport", Unit::Text, "the transport; empty if there is none", |_, row| {
        Value::text(&row.transport)
    }),
    Of::record("calls_a", Unit::Count, "operations in A over all ranks, the median of its runs", |_, row| {
        Value::Number(row.calls[0])
    }),
    Of::record("calls_b", Unit::Count, "the same in B", |_, row| Value::Number(row.calls[1])),
    Of::record("bytes_a", Unit::Bytes, "their bytes in A", |_, row| Value::Bytes(row.bytes[0])),
    Of::record("bytes_b", Unit::Bytes, "the same in B", |_, row| Value::Bytes(row.bytes[1])),
    Of::record("vary", Unit::YesNo, "whether runs of one side differ", |_, row| Value::Flag(row.vary)),
    Of::shown("operations", Unit::Text, |_, row| {
        Value::owned(before_after(row.calls, row.vary, |calls| calls.to_string()))
    }),
    Of::shown("bytes", Unit::Text, |_, row| Value::owned(before_after(row.bytes, row.vary, units::bytes))),
];

type OfTurns = Column<Turn, ()>;

/// What took the place of what.
pub const TURNS: &[OfTurns] = &[
    OfTurns::record("layer", Unit::Text, "the layer", |_, row| Value::text(&row.layer)),
    OfTurns::record(
        "what",
        Unit::Text,
        "`protocol`: by which most bytes of messages of these sizes went. `transports`: those that one side has alone",
        |_, row| Value::text(if row.bucket.is_some() { "protocol" } else { "transports" }),
    ),
    OfTurns::record("bucket_lo", Unit::Bytes, "messages with more bytes than this", |_, row| {
        Value::some(row.bucket, |(lo, _)| Value::Bytes(lo))
    }),
    OfTurns::record("bucket_hi", Unit::Bytes, "and at most this many; empty for the last bucket", |_, row| {
        Value::some(row.bucket.and_then(|(_, hi)| hi), Value::Bytes)
    }),
    OfTurns::record("before", Unit::Text, "in A", |_, row| Value::text(&row.sides[0])),
    OfTurns::record("after", Unit::Text, "in B", |_, row| Value::text(&row.sides[1])),
];

/// Rows that a table shows unless told otherwise.
const SHOWN: usize = 12;

/// `ucp: rndv-get → rndv-put for 64K-32M`, `uct: cma, sysv → tcp`.
pub fn sentence(turn: &Turn) -> String {
    let [before, after] = turn.sides.each_ref().map(|name| if name.is_empty() { "(none)" } else { name });
    let sizes = turn.bucket.map(|(lo, hi)| format!(" for {} bytes", units::bucket(lo, hi))).unwrap_or_default();
    visible(&format!("{}: {before} → {after}{sizes}", turn.layer)).into_owned()
}

/// For the head.
pub fn lines(layers: &Layers) -> Vec<Line> {
    let line = |text| Line { name: "below", text, paint: Some(Paint::Strong) };
    let only = layers.only.map(|side| Line {
        name: "below",
        text: format!("layers were recorded in {} only", ["A", "B"][side]),
        paint: None,
    });
    layers.turns.iter().map(|turn| line(sentence(turn))).chain(only).collect()
}

/// For people what changed, for programs everything.
pub fn tables(layers: &Layers, top: Option<usize>) -> Vec<Table> {
    let mut changed: Vec<Beside> = layers.rows.iter().filter(|row| row.has_changed()).cloned().collect();
    let all = changed.len();
    shorten(&mut changed, top.or(Some(SHOWN)));
    let hidden = all - changed.len();
    let after = (hidden > 0).then(|| format!("and {}: --top 0 shows all", units::count(hidden as u64, "more row")));
    let nothing = Rc::new(());
    let for_people = Table {
        audience: Audience { table: all > 0, csv: false, json: false },
        title: Some("layers below MPI"),
        after: after.into_iter().collect(),
        ..column::table("layers", LAYERS, &nothing, changed)
    };
    let only_json = |table| Table { audience: Audience::JSON, ..table };
    vec![
        for_people,
        only_json(column::table("layers", LAYERS, &nothing, layers.rows.clone())),
        only_json(column::table("turns", TURNS, &nothing, layers.turns.clone())),
    ]
}
