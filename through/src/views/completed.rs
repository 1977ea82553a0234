//! What completion calls completed, and waited for, one line for each operation and size of the requests.

use std::cmp::Reverse;
use std::rc::Rc;

use super::context::shorten;
use super::{Column, Context, Flag, Part, Question, View, column, linkage, nothing};
use crate::document::{Document, Format, Style, Table, Unit, Value};
use crate::error::Error;
use crate::query::catalog::size_class;
use crate::query::completed::{Completed, UNKNOWN, completed};
use crate::query::sort::SortKey;

pub const VIEW: View = View {
    name: "completed",
    command: "",
    flag: Flag::Switch { short: None, long: "completed" },
    help: "Requests that Wait, Waitall, Test and similar calls completed",
    meaning: "the requests that completion calls completed: operation, size, sender, and the time in the calls",
    note: "",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[SortKey::Time, SortKey::Calls, SortKey::Bytes, SortKey::Op, SortKey::Size, SortKey::Comm, SortKey::Bucket],
    entries: "rows",
    lacks: &["time", "site"],
    empty: "no requests were completed",
    parts: &[Part { name: "completed", headings: || column::headings(COLUMNS) }],
    ask,
};

type Of = Column<Completed>;

const COLUMNS: &[Of] = &[
    Of::new("comm", "comm", Unit::Communicator, "the communicator's name", |context, row| {
        Value::text(context.comm(row.comm))
    }),
    Of::record("label", Unit::Text, "its label, set by `MPI_Comm_set_name`", |context, row| {
        Value::maybe(context.label(row.comm))
    }),
    Of::new("op", "operation", Unit::Operation, "the operation that completed them", |context, row| {
        Value::Operation(context.op(row.op))
    }),
    Of::new(
        "started",
        "waited for",
        Unit::Operation,
        "the operation of the requests; unknown for calls that waited for several kinds of requests, or completed none",
        |context, row| Value::some(known(row), |row| Value::Operation(context.op(row.started))),
    ),
    Of::record("bucket_lo", Unit::Bytes, "requests with more bytes than this", |context, row| {
        Value::some(known(row).and_then(|row| context.bucket(row.bucket)), |bucket| Value::Bytes(bucket.lo))
    }),
    Of::record("bucket_hi", Unit::Bytes, "and at most this many; empty for the last bucket", |context, row| {
        Value::some(known(row).and_then(|row| context.bucket(row.bucket)?.hi), Value::Bytes)
    }),
    Of::shown("bytes", Unit::Bucket, |context, row| {
        Value::some(known(row).and_then(|row| context.sizes(row.started, row.bucket)), |bucket| Value::Bucket {
            lo: bucket.lo,
            hi: bucket.hi,
        })
    }),
    Of::new("requests", "requests", Unit::Count, "completed requests, over all ranks", |_, row| {
        Value::Number(row.requests)
    }),
    Of::new("bytes", "received", Unit::Bytes, "bytes received by them", |_, row| Value::Bytes(row.bytes))
        .style(Style::Zero),
    Of::new("time_s", "time", Unit::Seconds, "time of the calls that waited for them, over all ranks", |_, row| {
        Value::Time(row.time_ns)
    }),
    Of::new(
        "peer",
        "mostly from",
        Unit::Rank,
        "the rank that took longest to wait for, among calls that waited for a single rank",
        |_, row| Value::some(row.peer, |(rank, _)| Value::Number(rank)),
    )
    .optional(1),
    Of::record("peer_time_s", Unit::Seconds, "how long", |_, row| Value::some(row.peer, |(_, ns)| Value::Time(ns))),
];

const LEGEND: &str = "A call that completes one request waits for it. A call that completes several waits for the receives among them, or for all \
     if there are none. If these differ in operation or size, the row has no operation.";

/// A row whose operation is known.
fn known(row: &Completed) -> Option<&Completed> {
    Some(row).filter(|row| row.started != UNKNOWN)
}

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let mut rows = completed(&context.profile, &context.catalog, &context.filter)?;
    order(&mut rows, question.sort, &context);
    let mut document = context.document(VIEW.entries, rows.is_empty(), VIEW.empty);
    if context.catalog.is_of_mpisee() {
        document.reasons = nothing::not_of_mpisee(&context, "completed requests");
    }
    document.hidden = shorten(&mut rows, question.top);
    let legend = vec![LEGEND.to_owned()];
    document.tables = vec![Table { legend, ..column::table("completed", COLUMNS, &context, rows) }];
    document.tables.extend(linkage::records(&context));
    Ok(document)
}

/// Stable: what calls waited for longest stays first.
fn order(rows: &mut [Completed], sort: Option<SortKey>, context: &Context) {
    match sort {
        Some(SortKey::Calls) => rows.sort_by_key(|row| Reverse(row.requests)),
        Some(SortKey::Bytes) => rows.sort_by_key(|row| Reverse(row.bytes)),
        Some(SortKey::Op) => rows.sort_by_key(|row| context.op(row.op)),
        Some(SortKey::Bucket) => rows.sort_by_key(|row| size_class(row.bucket)),
        Some(SortKey::Comm) => {
            rows.sort_by_cached_key(|row| context.communicator(row.comm).map(|comm| comm.name_key()))
        }
        Some(SortKey::Size) => {
            rows.sort_by_key(|row| Reverse(context.communicator(row.comm).and_then(|comm| comm.size)))
        }
        _ => {}
    }
}
