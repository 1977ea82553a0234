//! Where in the code calls are made.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::rc::Rc;

use super::context::{both, shorten};
use super::{Column, Context, Flag, Part, Question, View, column, lineless, linkage, nothing};
use crate::document::{Document, Format, Style, Table, Unit, Value};
use crate::error::Error;
use crate::query::sites::Spot;
use crate::query::sites::counts::{Count, by_rank, is_recorded, over_ranks};
use crate::query::sort::SortKey;

pub const VIEW: View = View {
    name: "sites",
    command: "sites",
    flag: Flag::Default,
    help: "Lines of the program that call MPI (needs run --sites)",
    meaning: "the lines of the program that call MPI, heaviest first, in a run with `through run --sites` ([find the line](../howto/find-the-line.md))",
    note: "One row per line, communicator and operation. If the line is unknown, the row shows a function or a module with an offset.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[SortKey::Time, SortKey::Calls, SortKey::Bytes, SortKey::Comm, SortKey::Op],
    entries: "sites",
    lacks: &[],
    empty: "the profile has no call sites",
    parts: &[Part { name: "sites", headings: || column::headings(COLUMNS) }],
    ask: |question| ask(question, false),
};

pub const BY_RANK: View = View {
    name: "sites by rank",
    flag: Flag::Switch { short: Some('a'), long: "all-ranks" },
    help: "One row per line, communicator, operation and rank",
    meaning: "the same, one row per rank",
    note: "Each row has in addition `rank`, the rank in `MPI_COMM_WORLD`; `ranks` is the same.",
    sorts: &[SortKey::Time, SortKey::Calls, SortKey::Bytes, SortKey::Comm, SortKey::Op, SortKey::Rank],
    parts: &[Part { name: "sites", headings: || column::headings(WITH_RANK) }],
    ask: |question| ask(question, true),
    ..VIEW
};

struct Row {
    /// The innermost line first.
    stack: Vec<Rc<Spot>>,
    count: Count,
}

impl Row {
    /// Its function, where the site is a line: without one it is named after that already.
    fn function_beside(&self) -> Option<&str> {
        let spot = self.stack.first()?;
        spot.function.as_deref().filter(|function| !spot.text.starts_with(function))
    }
}

type Of = Column<Row>;

const WITH_RANK: &[Of] = &[
    Of::new("site", "site", Unit::Text, "the line of the call: `grid.c:88`", |_, row| {
        Value::maybe(row.stack.first().map(|spot| spot.text.as_str()))
    }),
    Of::record("function", Unit::Text, "the function of that line; the innermost one if inlined", |_, row| {
        Value::maybe(row.stack.first().and_then(|spot| spot.function.as_deref()))
    }),
    Of::shown("function", Unit::Text, |_, row| Value::maybe(row.function_beside()))
        .style(Style::Blank)
        .widest(32)
        .when(|_, rows| rows.iter().any(|row| row.function_beside().is_some())),
    Of::new("comm", "comm", Unit::Communicator, "the communicator's name", |context, row| {
        Value::text(context.comm(row.count.comm))
    }),
    Of::new("op", "operation", Unit::Operation, "the operation", |context, row| {
        Value::Operation(context.op(row.count.op))
    }),
    Of::new("ranks", "ranks", Unit::Ranks, "the ranks that call from there", |_, row| {
        Value::owned(row.count.ranks.to_string())
    })
    .widest(16)
    .optional(2),
    Of::new("calls", "calls", Unit::Count, "of all these ranks", |_, row| Value::Number(row.count.calls)),
    Of::new("bytes_sent", "sent", Unit::Bytes, "over all ranks", |_, row| Value::Bytes(row.count.bytes_sent))
        .optional(3),
    Of::new("bytes_recv", "received", Unit::Bytes, "over all ranks", |_, row| Value::Bytes(row.count.bytes_recv))
        .optional(3),
    Of::new("time_s", "time", Unit::Seconds, "over all ranks", |_, row| Value::Time(row.count.time_ns)),
    Of::shown("share", Unit::Share, |context, row| match context.catalog.is_outside_span(row.count.op) {
        true => Value::Unknown,
        false => Value::Share { part: row.count.time_ns as f64, whole: context.mpi_ns },
    })
    .optional(1),
    Of::record(
        "frames",
        Unit::Frames,
        "in a run with `--sites=2` or more: the line and its callers, the outermost last, each with `site` and `function`",
        |context, row| match context.catalog.sites.has_stacks() {
            true => {
                Value::Frames(row.stack.iter().map(|spot| (spot.text.as_str(), spot.function.as_deref())).collect())
            }
            false => Value::Unknown,
        },
    ),
    Of::new("rank", "rank", Unit::Rank, "the rank in `MPI_COMM_WORLD`", |_, row| {
        Value::some(row.count.ranks.ranges().first(), |(rank, _)| Value::Number((*rank).into()))
    }),
];

const COLUMNS: &[Of] = match WITH_RANK.split_last() {
    Some((_, others)) => others,
    None => &[],
};

const LEGEND: &str = "Time is the sum over the ranks, and its share that of the MPI time.";
const CALLERS: &str = "Lines with different callers are separate rows; through sites --callees shows the callers.";

/// Lines that a table shows unless told otherwise.
const SHOWN: usize = 40;

fn ask(question: &Question, is_by_rank: bool) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    if !is_recorded(&context.profile)? {
        return Ok(nothing::no_sites(&context, VIEW.entries));
    }
    let read = if is_by_rank { by_rank } else { over_ranks };
    let mut rows = rows(&context, read(&context.profile, &context.catalog, &context.filter)?, is_by_rank);
    let sorts = if is_by_rank { BY_RANK.sorts } else { VIEW.sorts };
    order(&mut rows, question.sort.filter(|key| sorts.contains(key)), &context);
    let mut document = context.document(VIEW.entries, rows.is_empty(), VIEW.empty);
    document.hidden = shorten(&mut rows, question.top_of_table(SHOWN));
    let callers = context.catalog.sites.has_stacks().then(|| CALLERS.to_owned());
    let lineless = lineless::legend(rows.iter().filter_map(|row| row.stack.first().map(Rc::as_ref)));
    let legend = [LEGEND.to_owned()].into_iter().chain(callers).chain(lineless).collect();
    let columns = if is_by_rank { WITH_RANK } else { COLUMNS };
    document.tables = vec![Table { legend, ..column::table("sites", columns, &context, rows) }];
    document.tables.extend(linkage::records(&context));
    Ok(document)
}

/// What cannot be told apart by line is added up: several instructions may belong to one.
fn rows(context: &Context, counts: Vec<Count>, is_by_rank: bool) -> Vec<Row> {
    let sites = &context.catalog.sites;
    let depth = if sites.has_stacks() { usize::MAX } else { 1 };
    let mut rows: Vec<Row> = Vec::new();
    let mut numbers = HashMap::new();
    for count in counts {
        let stack: Vec<Rc<Spot>> = sites.stack(count.site).into_iter().take(depth).cloned().collect();
        let rank = is_by_rank.then(|| count.ranks.ranges().first().copied());
        match numbers.entry((stack.clone(), count.comm, count.op, rank)) {
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(rows.len());
                rows.push(Row { stack, count });
            }
            std::collections::hash_map::Entry::Occupied(entry) => {
                let sum = &mut rows[*entry.get()].count;
                sum.add(&count);
                sum.ranks = sum.ranks.with(&count.ranks);
            }
        }
    }
    rows
}

fn order(rows: &mut [Row], sort: Option<SortKey>, context: &Context) {
    let bytes = |row: &Row| both(row.count.bytes_sent, row.count.bytes_recv);
    let rank = |row: &Row| row.count.ranks.ranges().first().copied();
    let comm = |row: &Row| context.communicator(row.count.comm).map(|comm| comm.name_key());
    rows.sort_by(|a, b| {
        let by_key = match sort {
            Some(SortKey::Calls) => b.count.calls.cmp(&a.count.calls),
            Some(SortKey::Bytes) => bytes(b).cmp(&bytes(a)),
            Some(SortKey::Comm) => comm(a).cmp(&comm(b)),
            Some(SortKey::Op) => context.op(a.count.op).cmp(context.op(b.count.op)),
            Some(SortKey::Rank) => rank(a).cmp(&rank(b)),
            _ => std::cmp::Ordering::Equal,
        };
        let key = |row: &Row| (context.catalog.is_outside_span(row.count.op), Reverse(row.count.time_ns));
        by_key
            .then_with(|| key(a).cmp(&key(b)))
            .then_with(|| (&a.stack, comm(a), a.count.op, rank(a)).cmp(&(&b.stack, comm(b), b.count.op, rank(b))))
    });
}
