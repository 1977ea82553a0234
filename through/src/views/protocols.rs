//! How messages were sent, by communicator and size.

use super::contributors::{SHOWN, below, recorded};
use super::{Column, Context, Flag, Part, Question, View, algorithms, column, linkage};
use crate::document::{Audience, Document, Format, Style, Table, Unit, Value};
use crate::error::Error;
use crate::query::layers::algorithms::{self as query, Algorithm};
use crate::query::layers::protocols::{Protocols, protocols};
use crate::query::transfers::Sums;

pub const VIEW: View = View {
    name: "protocols",
    command: "layers",
    flag: Flag::Option { option: "by", value: "protocol" },
    help: "messages by size, eager or rendezvous",
    meaning: "messages by communicator and size: sent at once (eager), or by rendezvous, where the receiver gets the data or the sender puts \
              it. Of the layer of messages, unless `--layer` names others. For layers with their own communicators, the algorithms that they chose; CSV \
              has them where there is nothing else",
    note: "",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[],
    entries: "communicators",
    lacks: &[],
    empty: "the profile has no messages of this layer: name another with --layer",
    parts: &[
        Part { name: "protocols", headings: || column::headings(COLUMNS) },
        Part { name: "algorithms", headings: || column::headings(algorithms::COLUMNS) },
        Part { name: "amplification", headings: || column::headings(linkage::AMPLIFICATION) },
        Part { name: "notes", headings: || column::headings(linkage::NOTES) },
        Part { name: "unlinked", headings: || column::headings(linkage::UNLINKED) },
    ],
    ask,
};

type Of = Column<Protocols>;

const COLUMNS: &[Of] = &[
    Of::new("comm", "communicator", Unit::Communicator, "the communicator's name", |context, row| {
        Value::Communicator { name: context.comm(row.comm), label: context.label(row.comm) }
    })
    .once(),
    Of::record("label", Unit::Text, "its label, set by `MPI_Comm_set_name`", |context, row| {
        Value::maybe(context.label(row.comm))
    }),
    Of::record("bucket_lo", Unit::Bytes, "messages with more bytes than this", |context, row| {
        Value::Bytes(context.bucket(row.bucket).map(|bucket| bucket.lo).unwrap_or_default())
    }),
    Of::record("bucket_hi", Unit::Bytes, "and at most this many; empty for the last bucket", |context, row| {
        Value::some(context.bucket(row.bucket).and_then(|bucket| bucket.hi), Value::Bytes)
    }),
    Of::shown("bytes", Unit::Bucket, |context: &Context, row| {
        Value::some(context.bucket(row.bucket), |bucket| Value::Bucket { lo: bucket.lo, hi: bucket.hi })
    })
    .style(Style::Blank),
    calls("eager_calls", "messages sent at once", |_, row| Value::Number(row.eager.calls)),
    Of::new("eager_bytes", "eager", Unit::Bytes, "their bytes", |_, row| Value::Bytes(row.eager.bytes))
        .when(|_, rows| is_used(rows, |row| &row.eager)),
    shown_calls(|_, row| count(&row.eager)).when(|_, rows| is_used(rows, |row| &row.eager)),
    calls("get_calls", "messages that the receiver got", |_, row| Value::Number(row.get.calls)),
    Of::new("get_bytes", "get", Unit::Bytes, "their bytes", |_, row| Value::Bytes(row.get.bytes))
        .when(|_, rows| is_used(rows, |row| &row.get)),
    shown_calls(|_, row| count(&row.get)).when(|_, rows| is_used(rows, |row| &row.get)),
    calls("put_calls", "messages that the sender put", |_, row| Value::Number(row.put.calls)),
    Of::new("put_bytes", "put", Unit::Bytes, "their bytes", |_, row| Value::Bytes(row.put.bytes))
        .when(|_, rows| is_used(rows, |row| &row.put)),
    shown_calls(|_, row| count(&row.put)).when(|_, rows| is_used(rows, |row| &row.put)),
    calls("other_calls", "other messages, and rendezvous where put or get is unknown", |_, row| {
        Value::Number(row.other.calls)
    }),
    Of::new("other_bytes", "other", Unit::Bytes, "their bytes", |_, row| Value::Bytes(row.other.bytes))
        .when(|_, rows| is_used(rows, |row| &row.other)),
    shown_calls(|_, row| count(&row.other)).when(|_, rows| is_used(rows, |row| &row.other)),
];

const fn calls(name: &'static str, meaning: &'static str, value: column::Of<Protocols, Context>) -> Of {
    Of::record(name, Unit::Count, meaning, value)
}

const fn shown_calls(value: column::Of<Protocols, Context>) -> Of {
    Of::shown("calls", Unit::Count, value).optional(1)
}

fn count(sums: &Sums) -> Value<'static> {
    if sums.calls == 0 { Value::Unknown } else { Value::Number(sums.calls) }
}

/// Protocols that nobody used would take the room of others.
fn is_used(rows: &[Protocols], of: fn(&Protocols) -> &Sums) -> bool {
    rows.iter().any(|row| of(row).calls != 0)
}

const LEGEND: &str = "Bytes and number of messages, by their size: sent at once (eager), or by rendezvous, where the receiver gets the data \
     or the sender puts it. Other: unknown which.";

fn ask(question: &Question) -> Result<Document, Error> {
    let (context, groups) = match recorded(question, &VIEW)? {
        Ok(recorded) => recorded,
        Err(document) => return Ok(*document),
    };
    let has_layers = !question.selection.layer.is_empty();
    let mut rows = protocols(&groups, &context.catalog, &context.filter, has_layers);
    let mut comms: Vec<i64> = rows.iter().map(|row| row.comm).collect();
    comms.dedup();
    let top = question.top_of_table(SHOWN);
    let kept = top.filter(|top| *top > 0).unwrap_or(usize::MAX).min(comms.len());
    let dropped = comms.split_off(kept);
    rows.retain(|row| comms.contains(&row.comm));
    let mut chosen = query::algorithms(&groups, &context.catalog, &context.filter);
    let hidden = shorten_communicators(&mut chosen, top);
    let (has_protocols, has_algorithms) = (!rows.is_empty(), !chosen.is_empty());
    let mut document = context.document(VIEW.entries, !has_protocols && !has_algorithms, VIEW.empty);
    document.hidden = dropped.len() + hidden;
    document.head.lines.retain(|line| !matches!(line.name, "layers" | "unlinked"));
    let legend = vec![LEGEND.to_owned()];
    let protocols = Table { legend, ..column::table("protocols", COLUMNS, &context, rows) };
    document.tables = vec![if has_protocols || !has_algorithms {
        protocols
    } else {
        Table { audience: Audience::JSON, ..protocols }
    }];
    if context.filter.has_layer_comms {
        document.tables.push(Table {
            audience: Audience { table: has_algorithms, csv: !has_protocols, json: true },
            title: Some("algorithms of layers with their own communicators"),
            legend: vec![algorithms::LEGEND.to_owned()],
            ..column::table("algorithms", algorithms::COLUMNS, &context, chosen)
        });
    }
    document.tables.extend(below(&context, &groups)?);
    Ok(document)
}

/// Keeps the communicators that `--top` names, and tells how many it left out.
fn shorten_communicators(rows: &mut Vec<Algorithm>, top: Option<usize>) -> usize {
    let mut comms: Vec<i64> = rows.iter().map(|row| row.comm).collect();
    comms.dedup();
    let hidden = super::context::shorten(&mut comms, top);
    rows.retain(|row| comms.contains(&row.comm));
    hidden
}
