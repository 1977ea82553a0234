//! What was measured: one row for each pattern, library and size.

use std::rc::Rc;

use through_core::Error;
use through_core::document::{Document, Format, Style, Unit, Value};
use through_core::query::sort::SortKey;
use through_core::text::units;
use through_core::views::{Column, Flag, Part, View, column, shorten};

use super::{Question, head, ns, pattern, sections};
use crate::query::bench::Measured;
use crate::query::bench::select::sort;

pub const VIEW: View<Question> = View {
    name: "bench",
    command: "bench",
    flag: Flag::Default,
    help: "Times and bandwidths by pattern, library and size",
    meaning: "measurements of groupbench: one row for each pattern, library and size ([how to](../howto/measure-the-machine.md))",
    note: "Times are those of the slowest rank. Launches are combined: the median of their medians, and an interval that spans theirs. \
           Bandwidth is the bytes that the busiest group sends or receives over the median time; if no message leaves its group, those of the busiest rank.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[SortKey::Time, SortKey::Bytes, SortKey::Bandwidth],
    entries: "measurements",
    lacks: &[],
    empty: "the file has no measurements yet",
    parts: &[Part { name: "measured", headings: || column::headings(COLUMNS) }],
    ask,
};

/// How rows stand together.
struct Layout {
    has_sections: bool,
}

type Of = Column<Measured, Layout>;

const COLUMNS: &[Of] = &[
    Of::shown("pattern", Unit::Text, |_, row| Value::owned(pattern(&row.case))).when(|layout, _| !layout.has_sections),
    Of::record("family", Unit::Text, "the family of patterns ([groupbench](groupbench.md))", |_, row| {
        Value::text(&row.case.family)
    }),
    Of::record("direction", Unit::Text, "`uni`, `bi`, `omni` or `in`", |_, row| Value::text(&row.case.direction)),
    Of::record("n", Unit::Count, "groups", |_, row| number(row.case.n)),
    Of::record("g", Unit::Count, "ranks of each group", |_, row| number(row.case.g)),
    Of::new("k", "k", Unit::Count, "ranks of each group that are active", |_, row| number(row.case.k)),
    Of::new("library", "library", Unit::Text, "the library that moved the data", |_, row| {
        Value::text(&row.case.library)
    })
    .when(|layout, _| !layout.has_sections),
    Of::record("buffers", Unit::Text, "where the buffers are", |_, row| Value::text(&row.case.buffers)),
    Of::new("bytes", "bytes", Unit::Bytes, "the count that the pattern divides over its messages", |_, row| {
        Value::Bytes(row.case.bytes)
    })
    .style(Style::Zero),
    Of::record(
        "step",
        Unit::Count,
        "the step of the pattern that was measured alone, from 1; 0: the whole pattern",
        |_, row| number(row.case.step),
    ),
    Of::shown("step", Unit::Count, |_, row| step(row.case.step))
        .style(Style::Blank)
        .when(|_, rows| rows.iter().any(|row| row.case.step > 0)),
    Of::record("message_bytes", Unit::Bytes, "its largest message", |_, row| Value::Bytes(row.message_bytes)),
    Of::record(
        "group_bytes",
        Unit::Bytes,
        "bytes that the busiest group sends to others or receives from them",
        |_, row| Value::Bytes(row.group_bytes),
    ),
    Of::record(
        "rank_bytes",
        Unit::Bytes,
        "the same for the busiest rank, including messages inside its group",
        |_, row| Value::Bytes(row.rank_bytes),
    ),
    Of::record("total_bytes", Unit::Bytes, "all messages", |_, row| Value::Bytes(row.total_bytes)),
    Of::record("crosses_hosts", Unit::YesNo, "whether a message leaves its host", |_, row| {
        Value::Flag(row.case.crosses_hosts)
    }),
    Of::new("median_s", "median", Unit::Seconds, "the median time", |_, row| time(row.time_s.median)),
    Of::record("ci_lo_s", Unit::Seconds, "the median is at least this, at 95 %; null under six samples", |_, row| {
        Value::some(row.time_s.interval, |interval| time(interval.low))
    }),
    Of::record("ci_hi_s", Unit::Seconds, "and at most this", |_, row| {
        Value::some(row.time_s.interval, |interval| time(interval.high))
    }),
    Of::shown("± 95 %", Unit::Share, |_, row| {
        Value::some(row.noise(), |noise| Value::Share { part: noise, whole: 1.0 })
    })
    .optional(2),
    Of::new(
        "bandwidth",
        "bandwidth",
        Unit::Rate,
        "of the busiest group, else of the busiest rank, at the median",
        |_, row| Value::some(row.bandwidth(), Value::Rate),
    ),
    Of::record(
        "steps_s",
        Unit::Seconds,
        "the sum of the medians of its steps, if each was measured alone",
        |_, row| Value::some(row.steps_s, time),
    ),
    Of::new(
        "gained_s",
        "gained",
        Unit::Seconds,
        "`steps_s` minus the median: what steps gain by not waiting for all of the step before",
        |_, row| Value::some(row.gained_s(), time),
    )
    .style(Style::Blank)
    .when(|_, rows| rows.iter().any(|row| row.steps_s.is_some())),
    Of::new("latency_s", "latency", Unit::Seconds, "half the round trip of the first pair, if measured", |_, row| {
        Value::some(row.half_trip_s, time)
    })
    .optional(4)
    .when(|_, rows| rows.iter().any(|row| row.half_trip_s.is_some())),
    Of::record("min_s", Unit::Seconds, "the shortest time", |_, row| time(row.time_s.min)),
    Of::record("mean_s", Unit::Seconds, "the mean", |_, row| time(row.time_s.mean)),
    Of::record("p95_s", Unit::Seconds, "at least 95 % take no longer", |_, row| time(row.time_s.p95)),
    Of::new("p99_s", "99 %", Unit::Seconds, "at least 99 % take no longer", |_, row| time(row.time_s.p99)).optional(3),
    Of::record("max_s", Unit::Seconds, "the longest", |_, row| time(row.time_s.max)),
    Of::record("span_s", Unit::Seconds, "from the first start to the last end, median", |_, row| time(row.span_s)),
    Of::record("skew_s", Unit::Seconds, "between the first start and the last, median", |_, row| time(row.skew_s)),
    Of::new("reps", "reps", Unit::Count, "timed executions over all launches", |_, row| number(row.reps)).optional(5),
    Of::record("launches", Unit::Count, "launches of the benchmark that measured it", |_, row| {
        number(row.launches as u64)
    }),
    Of::record(
        "stopped",
        Unit::Text,
        "why measuring ended: `interval` (narrow enough), `reps`, `time` or `interrupted`",
        |_, row| Value::owned(stopped(row)),
    ),
    Of::record("oversubscribed", Unit::YesNo, "whether there were more ranks than cores", |_, row| {
        Value::Flag(row.is_oversubscribed)
    }),
    Of::record("wrong", Unit::Count, "errors found by verification", |_, row| number(row.wrong)),
    Of::record("flag", Unit::Text, "why the numbers are unreliable; null: no known reason", |_, row| {
        Value::maybe(row.flag.as_deref())
    }),
    Of::shown("", Unit::Text, |_, row| Value::owned(remark(row)))
        .style(Style::Blank)
        .when(|_, rows| rows.iter().any(|row| !remark(row).is_empty())),
];

const LEGEND: &str =
    "median: of the slowest rank. ±: half the interval of the median at 95 %. bandwidth: of the busiest group.";

fn ask(question: &Question) -> Result<Document, Error> {
    let mut rows = question.meant(&question.measured);
    sort(&mut rows, question.sort);
    let mut document = question.document(VIEW.entries, rows.is_empty(), head(&question.measured));
    document.hidden = shorten(&mut rows, question.top);
    // An order of one's own takes patterns apart.
    let layout = Rc::new(Layout { has_sections: question.sort.is_none() });
    let sections = if layout.has_sections { sections(rows.iter().map(|row| &row.case)) } else { Vec::new() };
    let mut table = column::table("measured", COLUMNS, &layout, rows);
    table.sections = sections;
    table.legend = vec![LEGEND.to_owned()];
    document.tables.push(table);
    Ok(document)
}

fn number(number: u64) -> Value<'static> {
    Value::Number(i64::try_from(number).unwrap_or(i64::MAX))
}

/// Nothing of a whole.
pub(super) fn step(step: u64) -> Value<'static> {
    Value::some(Some(step).filter(|step| *step > 0), number)
}

fn time(seconds: f64) -> Value<'static> {
    Value::Time(ns(seconds))
}

fn stopped(row: &Measured) -> String {
    row.stopped.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// What a reader must know before using the row.
fn remark(row: &Measured) -> String {
    let wrong = (row.wrong > 0).then(|| units::count(row.wrong, "error"));
    let ended = row.stopped.iter().filter(|why| *why != "interval").cloned().collect::<Vec<_>>().join(", ");
    let ended = (!ended.is_empty()).then(|| format!("by {ended}"));
    [wrong, row.flag.clone(), ended].into_iter().flatten().collect::<Vec<_>>().join("; ")
}
