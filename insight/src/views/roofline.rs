//! What calls took, against what was measured as possible on the machine.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::rc::Rc;

use through_core::Error;
use through_core::document::{Document, Format, Found, Style, Table, Unit, Value};
use through_core::query::families::Families;
use through_core::query::sort::SortKey;
use through_core::text::units;
use through_core::views::{Column, Context, FOLDED, Flag, Part, Question, View, alike, column, shorten};

use super::bench::ns;
use crate::query::bench::Measurements;
use crate::query::roofline::{self, Basis, Entry, Missing, Reach, Verdict, What, roofline as compared};

pub const VIEW: View = View {
    name: "roofline",
    command: "bench roofline",
    flag: Flag::Default,
    help: "Times of calls against what the machine can do",
    meaning: "each communicator, operation and message size against measurements of groupbench, and the cost of the gap ([how to](../howto/measure-the-machine.md#what-a-program-makes-of-it))",
    note: "`gap_s` is an upper bound: the time without certain waiting, minus the time that the machine needs. `gap_min_s` also subtracts possible waiting. Waiting has bounds in barriers and exchanges, \
           and a timeline shows it; elsewhere the shortest call bounds possible waiting. `gap_min_s` is null if there is no bound. Calls faster than measured have no gap. Bounds: [what is compared](../explanation/roofline.md). JSON has the sums `time_s`, `wait_min_s`, `possible_s`, `gap_s` and `gap_min_s` over rows that were compared, \
           `not_measured_s`, `completed_elsewhere_s` and `no_bound_s` over others.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[SortKey::Time, SortKey::Calls, SortKey::Comm, SortKey::Op],
    entries: "rows",
    lacks: &[],
    empty: "the profile has no messages and no collectives with a known bound",
    parts: &[Part { name: "roofline", headings: || column::headings(COLUMNS) }],
    ask: |question| match question.bench.as_slice() {
        [] => document(question, None),
        files => document(question, Some(&Measurements::open(files)?)),
    },
};

/// Rows that a table shows unless told otherwise.
const SHOWN: usize = 15;

struct Row {
    entry: Entry,
    /// Of a family.
    title: Option<String>,
}

type Of = Column<Row>;

const COLUMNS: &[Of] = &[
    Of::record("comm", Unit::Communicator, "the communicator's name; the first of a family", |context, row| {
        Value::text(context.comm(row.entry.comm))
    }),
    Of::record("label", Unit::Text, "its label, set by `MPI_Comm_set_name`", |context, row| {
        Value::maybe(context.label(row.entry.comm))
    }),
    Of::shown("communicator", Unit::Communicator, |context, row| match &row.title {
        Some(title) => Value::text(title),
        None => Value::Communicator { name: context.comm(row.entry.comm), label: context.label(row.entry.comm) },
    }),
    Of::new("op", "operation", Unit::Operation, "the operation", |context, row| Value::Operation(context.op(row.entry.op))),
    Of::record("class", Unit::Text, "its class", |context, row| Value::text(context.class(row.entry.op))),
    Of::record("bucket_lo", Unit::Bytes, "messages with more bytes than this; null if sizes differ between ranks", |context, row| {
        Value::some(bucket(context, row), |bucket| Value::Bytes(bucket.lo))
    }),
    Of::record("bucket_hi", Unit::Bytes, "and at most this many; null for the last bucket", |context, row| {
        Value::some(bucket(context, row).and_then(|bucket| bucket.hi), Value::Bytes)
    }),
    Of::new("bytes", "bytes", Unit::Bytes, "bytes of a message, or of the busiest rank of a collective: the mean of a call", |_, row| {
        Value::Bytes(row.entry.bytes.round() as u64)
    }),
    Of::new("calls", "calls", Unit::Count, "of all ranks", |_, row| Value::Number(row.entry.calls)).optional(4),
    Of::new("time_s", "time", Unit::Seconds, "in these calls, and in those that completed what they started, over all ranks", |_, row| {
        Value::Time(row.entry.time_ns)
    }),
    Of::new("wait_min_s", "waiting", Unit::Seconds, "certain waiting for other ranks, which is subtracted", |_, row| {
        Value::Time(row.entry.waiting.min_ns)
    })
    .optional(3),
    Of::record("wait_max_s", Unit::Seconds, "waiting at most; null: not known", |_, row| {
        Value::some(row.entry.waiting.max_ns, Value::Time)
    }),
    Of::new("possible_s", "possible", Unit::Seconds, "what the machine can do", |_, row| {
        Value::some(row.entry.floor_ns(), Value::Time)
    })
    .optional(1),
    Of::new("gap_s", "gap", Unit::Seconds, "upper bound of the cost over all ranks; null if not compared", |_, row| {
        Value::some(row.entry.gap_ns(), Value::Time)
    })
    .style(Style::Blank),
    Of::new("gap_min_s", "at least", Unit::Seconds, "lower bound; null if waiting is unknown", |_, row| {
        Value::some(row.entry.gap_min_ns(), Value::Time)
    })
    .style(Style::Blank)
    .optional(2),
    Of::record("bandwidth", Unit::Rate, "`bytes` of a call over its time without certain waiting", |_, row| rate(row, Some(row.entry.busy_ns()))),
    Of::record("bandwidth_possible", Unit::Rate, "the same over the possible time", |_, row| rate(row, row.entry.floor_ns())),
    Of::record("call_s", Unit::Seconds, "of one call without certain waiting, the mean", |_, row| Value::Mean {
        sum_ns: row.entry.busy_ns(),
        count: row.entry.calls,
    }),
    Of::record("call_possible_s", Unit::Seconds, "what the machine can do", |_, row| {
        Value::some(row.entry.floor_ns(), |sum_ns| Value::Mean { sum_ns, count: row.entry.calls })
    }),
    Of::record("crossing", Unit::Share, "the part of its messages that leaves a host, by the matrix", |_, row| {
        match row.entry.verdict {
            Verdict::Compared { crossing, .. } => Value::Share { part: crossing, whole: 1.0 },
            _ => Value::Unknown,
        }
    }),
    Of::new("bound", "bound", Unit::Text, "the measurement: `message` (one of this size), `exchange` (between as many ranks), or `collective` (latency × ⌈log2 p⌉ and the bytes of the busiest rank)", |_, row| {
        Value::some(basis(row), |(basis, _)| Value::text(basis.name()))
    })
    .style(Style::Blank)
    .optional(5),
    Of::record("reach", Unit::Text, "whether its size was `measured`; `below` and `above` all sizes the bound is the latency, or the highest bandwidth", |_, row| {
        Value::some(basis(row), |(_, reach)| Value::text(reach.name()))
    }),
    Of::record("verdict", Unit::Text, "`gap`, `faster than measured`, `completed elsewhere` (the time is with what was waited for), `not measured`, or `no bound` (the machine needs no time that is known)", |_, row| {
        Value::text(verdict(&row.entry))
    }),
    Of::shown("", Unit::Text, |_, row| Value::text(remark(&row.entry)))
        .style(Style::Blank)
        .when(|_, rows| rows.iter().any(|row| !remark(&row.entry).is_empty())),
];

const LEGEND: &str = "Times are sums over the ranks. possible: by the measurements. gap: time minus certain waiting and possible; it may \
     include waiting that counters do not show, such as for a late sender. at least: without possible waiting.";

fn bucket(context: &Context, row: &Row) -> Option<through_core::query::catalog::Bucket> {
    context.bucket(row.entry.bucket?)
}

fn basis(row: &Row) -> Option<(Basis, Reach)> {
    match row.entry.verdict {
        Verdict::Compared { basis, reach, .. } => Some((basis, reach)),
        _ => None,
    }
}

fn rate(row: &Row, ns: Option<i64>) -> Value<'static> {
    let rate = |ns: i64| Value::Rate(row.entry.bytes * row.entry.calls as f64 / (ns as f64 / 1e9));
    Value::some(ns.filter(|ns| *ns > 0 && row.entry.bytes > 0.0), rate)
}

fn verdict(entry: &Entry) -> &'static str {
    match entry.verdict {
        Verdict::NotMeasured(_) => "not measured",
        Verdict::CompletedElsewhere => "completed elsewhere",
        Verdict::NoBound => "no bound",
        Verdict::Compared { .. } if entry.is_faster() => "faster than measured",
        Verdict::Compared { .. } => "gap",
    }
}

/// What a reader of the table must know.
fn remark(entry: &Entry) -> &'static str {
    match entry.verdict {
        Verdict::NotMeasured(_) => "not measured",
        Verdict::CompletedElsewhere => "elsewhere",
        Verdict::NoBound => "no bound",
        Verdict::Compared { .. } if entry.is_faster() => "faster",
        Verdict::Compared { reach: Reach::Below | Reach::Above, .. } => "beyond",
        Verdict::Compared { .. } => "",
    }
}

/// The remarks that are there.
fn remarks(rows: &[Row]) -> Option<String> {
    let words = [
        ("elsewhere", "other calls completed the messages and have the time"),
        ("faster", "faster than measured, so there is no gap"),
        ("beyond", "all measured sizes: by the latency, or the highest bandwidth"),
        ("no bound", "latencies of nonblocking messages overlap, and one rank waits for nobody"),
        ("not measured", "see below"),
    ];
    let is_there = |(word, _): &(&str, &str)| rows.iter().any(|row| remark(&row.entry) == *word);
    let there: Vec<String> =
        words.into_iter().filter(is_there).map(|(word, meaning)| format!("{word}: {meaning}")).collect();
    (!there.is_empty()).then(|| format!("{}.", there.join("; ")))
}

/// What is shown of a profile against measurements.
pub fn document(question: &Question, bench: Option<&Measurements>) -> Result<Document, Error> {
    let context = Rc::new(Context::of(question)?);
    let Some(bench) = bench else {
        let what = format!("{}: add a file of measurements by groupbench", context.profile.path.display());
        return Ok(Document {
            found: Found::NotRecorded,
            reasons: vec![what],
            ..Document::new(context.head(), VIEW.entries)
        });
    };
    let filter = &context.filter;
    if filter.ranks.is_some() || filter.time.is_some() {
        let what = "measurements are of whole operations: leave out --rank and --time";
        return Err(Error::Argument(what.to_owned()));
    }
    let entries = compared(&context.profile, &context.catalog, &context.filter, bench)?;
    let mut document = context.document(VIEW.entries, entries.is_empty(), VIEW.empty);
    document.numbers = numbers(&entries);
    let after = sums(&entries, &context);
    document.remarks.extend(missing(&entries));
    if bench.launches.iter().any(|launch| launch.is_oversubscribed) {
        document.remarks.push("measured with more ranks than cores: the machine can do more than that".to_owned());
    }
    let mut rows = folded(entries, question, &context);
    match question.sort {
        Some(SortKey::Time) => rows.sort_by_key(|row| Reverse(row.entry.time_ns)),
        Some(SortKey::Calls) => rows.sort_by_key(|row| Reverse(row.entry.calls)),
        Some(SortKey::Comm) => {
            rows.sort_by(|a, b| key(&context, a.entry.comm).cmp(&key(&context, b.entry.comm)));
        }
        Some(SortKey::Op) => rows.sort_by(|a, b| context.op(a.entry.op).cmp(context.op(b.entry.op))),
        _ => {}
    }
    document.hidden = shorten(&mut rows, question.top_of_table(SHOWN));
    let folded = rows.iter().any(|row| row.title.is_some()).then_some(FOLDED);
    let legend = [LEGEND].into_iter().chain(folded).map(str::to_owned).chain(remarks(&rows)).collect();
    document.tables = vec![Table { legend, after, ..column::table("roofline", COLUMNS, &context, rows) }];
    Ok(document)
}

fn key(context: &Context, comm: i64) -> Option<(bool, u64, char, u64, &str)> {
    context.communicator(comm).map(|comm| comm.name_key())
}

/// Communicators that were made alike are one row of a table.
fn folded(entries: Vec<Entry>, question: &Question, context: &Context) -> Vec<Row> {
    if !question.folds() {
        return entries.into_iter().map(|entry| Row { entry, title: None }).collect();
    }
    let families = Families::of(&context.catalog);
    let kind = |entry: &Entry| match &entry.verdict {
        Verdict::Compared { .. } => 0,
        Verdict::CompletedElsewhere => 1,
        Verdict::NoBound => 2,
        Verdict::NotMeasured(missing) => {
            3 + u8::from(missing.crosses_hosts) + 2 * u8::from(missing.what == What::Latency)
        }
    };
    let together = alike(entries, &families, |entry| (entry.comm, (entry.op, entry.bucket, kind(entry))));
    let sum = |(mut entry, others): (Entry, Vec<Entry>)| {
        others.iter().for_each(|other| entry.add(other));
        let family = families.find(entry.comm).filter(|_| !others.is_empty());
        Row { title: family.map(|family| family.title(others.len() + 1)), entry }
    };
    let mut rows: Vec<Row> = together.into_iter().map(sum).collect();
    let weight = |row: &Row| roofline::weight(&row.entry);
    rows.sort_by(|a, b| {
        weight(b).cmp(&weight(a)).then_with(|| (a.entry.comm, a.entry.op).cmp(&(b.entry.comm, b.entry.op)))
    });
    rows
}

fn add(entries: &[Entry], of: impl Fn(&Entry) -> Option<i64>) -> i64 {
    entries.iter().filter_map(of).fold(0, i64::saturating_add)
}

fn numbers(entries: &[Entry]) -> Vec<(&'static str, Value<'static>)> {
    let sum = |of: &dyn Fn(&Entry) -> Option<i64>| Value::Time(add(entries, of));
    let of_compared = |of: fn(&Entry) -> i64| move |entry: &Entry| entry.floor_ns().map(|_| of(entry));
    let of_verdict = |name: &'static str| move |entry: &Entry| (verdict(entry) == name).then_some(entry.time_ns);
    vec![
        ("time_s", sum(&of_compared(|entry| entry.time_ns))),
        ("wait_min_s", sum(&of_compared(|entry| entry.waiting.min_ns))),
        ("possible_s", sum(&Entry::floor_ns)),
        ("gap_s", sum(&Entry::gap_ns)),
        ("gap_min_s", sum(&Entry::gap_min_ns)),
        ("not_measured_s", sum(&of_verdict("not measured"))),
        ("completed_elsewhere_s", sum(&of_verdict("completed elsewhere"))),
        ("no_bound_s", sum(&of_verdict("no bound"))),
    ]
}

/// `All: 1.2 s of 3.4 s of MPI time were compared: …`.
fn sums(entries: &[Entry], context: &Context) -> Vec<String> {
    let time_ns = add(entries, |entry| entry.floor_ns().map(|_| entry.time_ns));
    let waiting_ns = add(entries, |entry| entry.floor_ns().map(|_| entry.waiting.min_ns));
    let (possible_ns, gap_ns) = (add(entries, Entry::floor_ns), add(entries, Entry::gap_ns));
    let [time, waiting, possible, gap] = [time_ns, waiting_ns, possible_ns, gap_ns].map(units::time);
    let mpi = units::time(ns(context.mpi_ns / 1e9));
    vec![format!(
        "All rows: {time} of {mpi} in MPI were compared: certainly waiting {waiting}, possible {possible}, gap at most {gap}."
    )]
}

/// Which measurements would be needed, for how much time, and how to make them.
fn missing(entries: &[Entry]) -> Vec<String> {
    let missing: BTreeSet<Missing> = entries
        .iter()
        .filter_map(|entry| match &entry.verdict {
            Verdict::NotMeasured(missing) => Some(*missing),
            _ => None,
        })
        .collect();
    let line = |missing: Missing| {
        let is_it = |entry: &Entry| matches!(&entry.verdict, Verdict::NotMeasured(other) if *other == missing);
        let time = units::time(add(entries, |entry| is_it(entry).then_some(entry.time_ns)));
        format!(
            "{time} cannot be compared: {} was not measured; measure it with: {}",
            missing.text(),
            missing.command()
        )
    };
    missing.into_iter().map(line).collect()
}
