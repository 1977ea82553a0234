//! How large messages are: calls, bytes and time by message size.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Column, Context, Flag, Part, Question, View, column};
use crate::document::{Document, Format, Table, Unit, Value};
use crate::error::Error;
use crate::query::catalog::size_class;
use crate::query::operations::operations;

pub const VIEW: View = View {
    name: "hist",
    command: "",
    flag: Flag::Switch { short: None, long: "sizes" },
    help: "Calls, bytes and time by message size",
    meaning: "calls, bytes and time by message size, for all operations that move data",
    note: "Calls without messages are left out: completion calls, `MPI_Barrier`, `MPI_Win_fence`, `MPI_File_open`, calls that create communicators, and so on. The sizes are those of the [buckets](glossary.md#bucket).",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[],
    entries: "sizes",
    lacks: &[],
    empty: "the profile has no calls that move data",
    parts: &[Part { name: "hist", headings: || column::headings(COLUMNS) }],
    ask,
};

#[derive(Clone, Copy, Default)]
struct Sum {
    calls: i64,
    bytes_sent: u64,
    bytes_recv: u64,
    time_ns: i64,
}

impl Sum {
    fn bytes(&self) -> i64 {
        i64::try_from(self.bytes_sent).unwrap_or(i64::MAX)
    }
}

struct Row {
    bucket: i64,
    sum: Sum,
    /// Over all sizes.
    whole: Sum,
    /// Of the size that has most.
    most: Sum,
}

type Of = Column<Row>;

const COLUMNS: &[Of] = &[
    Of::record("bucket_lo", Unit::Bytes, "messages with more bytes than this", |context, row| {
        Value::some(context.bucket(row.bucket), |bucket| Value::Bytes(bucket.lo))
    }),
    Of::record("bucket_hi", Unit::Bytes, "and at most this many; unknown for the last bucket", |context, row| {
        Value::some(context.bucket(row.bucket).and_then(|bucket| bucket.hi), Value::Bytes)
    }),
    Of::shown("bytes", Unit::Bucket, |context, row| {
        Value::some(context.bucket(row.bucket), |bucket| Value::Bucket { lo: bucket.lo, hi: bucket.hi })
    }),
    Of::new(
        "calls",
        "calls",
        Unit::Count,
        "over all ranks; a collective call counts once for its communicator",
        |_, row| Value::Number(row.sum.calls),
    ),
    Of::shown("", Unit::Bar, |_, row| Value::Bar { part: row.sum.calls, whole: row.most.calls }).optional(2),
    Of::record("calls_share", Unit::Share, "`calls` as a share of those of all sizes", |_, row| Value::Share {
        part: row.sum.calls as f64,
        whole: row.whole.calls as f64,
    }),
    Of::new("bytes_sent", "sent", Unit::Bytes, "over all ranks", |_, row| Value::Bytes(row.sum.bytes_sent)),
    Of::shown("", Unit::Bar, |_, row| Value::Bar { part: row.sum.bytes(), whole: row.most.bytes() }).optional(1),
    Of::record("bytes_share", Unit::Share, "`bytes_sent` as a share of those of all sizes", |_, row| Value::Share {
        part: row.sum.bytes_sent as f64,
        whole: row.whole.bytes_sent as f64,
    }),
    Of::record("bytes_recv", Unit::Bytes, "over all ranks", |_, row| Value::Bytes(row.sum.bytes_recv)),
    Of::new("time_s", "time", Unit::Seconds, "over all ranks", |_, row| Value::Time(row.sum.time_ns)),
    Of::shown("", Unit::Bar, |_, row| Value::Bar { part: row.sum.time_ns, whole: row.most.time_ns }).optional(3),
];

const LEGEND: &str = "Operations that move data, over all ranks. Bars are relative to the largest value of the column.";

fn ask(question: &Question) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    // Operations whose ranks have sizes of their own have buckets of their own, with the same bounds.
    let mut sums: BTreeMap<(u64, i64), Sum> = BTreeMap::new();
    for row in operations(&context.profile, &context.catalog, &context.filter, false)? {
        if let Some(bucket) = context.sizes(row.op, row.bucket) {
            let sum = sums.entry((bucket.lo, size_class(row.bucket))).or_default();
            sum.calls = sum.calls.saturating_add(row.calls);
            sum.bytes_sent = sum.bytes_sent.saturating_add(row.bytes_sent);
            sum.bytes_recv = sum.bytes_recv.saturating_add(row.bytes_recv);
            sum.time_ns = sum.time_ns.saturating_add(row.time_ns);
        }
    }
    let (mut whole, mut most) = (Sum::default(), Sum::default());
    for sum in sums.values() {
        whole.calls = whole.calls.saturating_add(sum.calls);
        whole.bytes_sent = whole.bytes_sent.saturating_add(sum.bytes_sent);
        most.calls = most.calls.max(sum.calls);
        most.bytes_sent = most.bytes_sent.max(sum.bytes_sent);
        most.time_ns = most.time_ns.max(sum.time_ns);
    }
    let rows: Vec<Row> = sums.into_iter().map(|((_, bucket), sum)| Row { bucket, sum, whole, most }).collect();
    let mut document = context.document(VIEW.entries, rows.is_empty(), VIEW.empty);
    let legend = vec![LEGEND.to_owned()];
    document.tables = vec![Table { legend, ..column::table("hist", COLUMNS, &context, rows) }];
    Ok(document)
}
