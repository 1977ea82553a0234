//! What contributes most: communicator, operation and message size, with the share that it and all before it make up.

use std::cmp::Reverse;
use std::rc::Rc;

use super::context::{both, shorten};
use super::folding::alike;
use super::{Column, Context, Flag, Part, Question, View, column};
use crate::document::{Document, Format, Table, Unit, Value};
use crate::error::Error;
use crate::query::families::Families;
use crate::query::operations::{Operations, operations};
use crate::query::sort::SortKey;

pub const VIEW: View = View {
    name: "top",
    command: "",
    flag: Flag::Switch { short: None, long: "flat" },
    help: "One list: communicator, operation and size, the costliest first",
    meaning: "communicators, operations and message sizes, the costliest first, with running totals of their shares",
    note: "Shares are of the MPI time or, with `--sort`, of `calls` or `bytes` (sent and received). Calls outside the run time, such as `MPI_Init`, are left out.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[SortKey::Time, SortKey::Calls, SortKey::Bytes],
    entries: "rows",
    lacks: &[],
    empty: "the profile has no calls",
    parts: &[Part { name: "top", headings: || column::headings(COLUMNS) }],
    ask,
};

/// Rows that a table shows unless told otherwise.
const SHOWN: usize = 20;

struct Row {
    rank: i64,
    row: Operations,
    weight: i128,
    /// Of this row and all before it.
    cumulated: i128,
    whole: i128,
    /// Where it stands for its family.
    title: Option<String>,
}

type Of = Column<Row>;

const COLUMNS: &[Of] = &[
    Of::new("place", "", Unit::Count, "1 contributes most", |_, row| Value::Number(row.rank)),
    Of::record("comm", Unit::Communicator, "the communicator's name", |context, row| {
        Value::text(context.comm(row.row.comm))
    }),
    Of::record("label", Unit::Text, "its label, set by `MPI_Comm_set_name`", |context, row| {
        Value::maybe(context.label(row.row.comm))
    }),
    Of::shown("communicator", Unit::Communicator, |context, row| match &row.title {
        Some(title) => Value::text(title),
        None => Value::Communicator { name: context.comm(row.row.comm), label: context.label(row.row.comm) },
    }),
    Of::new("op", "operation", Unit::Operation, "the operation", |context, row| {
        Value::Operation(context.op(row.row.op))
    }),
    Of::record("bucket_lo", Unit::Bytes, "messages with more bytes than this", |context, row| {
        Value::some(context.bucket(row.row.bucket), |bucket| Value::Bytes(bucket.lo))
    }),
    Of::record("bucket_hi", Unit::Bytes, "and at most this many; unknown for the last bucket", |context, row| {
        Value::some(context.bucket(row.row.bucket).and_then(|bucket| bucket.hi), Value::Bytes)
    }),
    Of::shown("bytes", Unit::Bucket, |context, row| {
        Value::some(context.sizes(row.row.op, row.row.bucket), |bucket| Value::Bucket { lo: bucket.lo, hi: bucket.hi })
    }),
    Of::new("calls", "calls", Unit::Count, "a collective call counts once for its communicator", |_, row| {
        Value::Number(row.row.calls)
    }),
    Of::new("bytes_sent", "sent", Unit::Bytes, "over all ranks", |_, row| Value::Bytes(row.row.bytes_sent)).optional(3),
    Of::record("bytes_recv", Unit::Bytes, "over all ranks", |_, row| Value::Bytes(row.row.bytes_recv)),
    Of::new("time_s", "time", Unit::Seconds, "over all ranks", |_, row| Value::Time(row.row.time_ns)),
    Of::new("share", "share", Unit::Share, "of the sort key, over all rows", |_, row| Value::Share {
        part: row.weight as f64,
        whole: row.whole as f64,
    }),
    Of::new("cumulated", "together", Unit::Share, "sum of the shares up to this row", |_, row| Value::Share {
        part: row.cumulated as f64,
        whole: row.whole as f64,
    }),
];

const LEGEND: &str =
    "Time is the sum over the ranks; share: of all selected rows; together: sum of the shares up to this row.";

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let mut found = operations(&context.profile, &context.catalog, &context.filter, false)?;
    found.retain(|row| !context.catalog.is_outside_span(row.op));
    let weight = |row: &Operations| match question.sort {
        Some(SortKey::Calls) => i128::from(row.calls),
        Some(SortKey::Bytes) => both(row.bytes_sent, row.bytes_recv),
        _ => i128::from(row.time_ns),
    };
    let families = if question.folds() { Families::of(&context.catalog) } else { Families::default() };
    let mut found: Vec<(Operations, Option<String>)> = alike(found, &families, |row| (row.comm, (row.op, row.bucket)))
        .into_iter()
        .map(|(mut sum, others)| {
            others.iter().for_each(|other| sum.add(other));
            let family = families.find(sum.comm).filter(|_| !others.is_empty());
            (sum, family.map(|family| family.title(others.len() + 1)))
        })
        .collect();
    found.sort_by_key(|(row, _)| (Reverse(weight(row)), row.comm, row.op, row.bucket));
    let whole = found.iter().map(|(row, _)| weight(row)).sum();
    let mut cumulated = 0;
    let rows = (1..).zip(found).map(|(rank, (row, title))| {
        let weight = weight(&row);
        cumulated += weight;
        Row { rank, row, weight, cumulated, whole, title }
    });
    let mut rows: Vec<Row> = rows.collect();
    let mut document = context.document(VIEW.entries, rows.is_empty(), VIEW.empty);
    document.hidden = shorten(&mut rows, question.top_of_table(SHOWN));
    let folded = rows.iter().any(|row| row.title.is_some()).then_some(super::operations::FOLDED);
    let legend = [LEGEND].into_iter().chain(folded).map(str::to_owned).collect();
    document.tables = vec![Table { legend, ..column::table("top", COLUMNS, &context, rows) }];
    Ok(document)
}
