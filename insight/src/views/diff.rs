//! What changed between two programs, each run several times.

use std::path::PathBuf;
use std::rc::Rc;

use through_core::Error;
use through_core::document::{Audience, Document, Format, Line, Subject, Table, Unit, Value};
use through_core::query::open::Profile;
use through_core::text::escape::path;
use through_core::text::path::relative;
use through_core::text::terminal::Paint;
use through_core::text::units;
use through_core::views::{Column, Context, Flag, Part, Question, View, column, library_name, shorten};

use super::diff_layers;
use crate::query::compare::changes::Comparison;
use crate::query::compare::configuration::settings_that_differ;
use crate::query::compare::entry::{Change, Entry, Matched, What};
use crate::query::compare::layers::Layers;
use crate::query::compare::matching::How;
use crate::query::compare::run::Run;
use crate::query::compare::verdict::{LEAST_RUNS, testable};

pub const VIEW: View = View {
    name: "diff",
    command: "compare",
    flag: Flag::Default,
    help: "What changed between two programs",
    meaning: "the change of the run time from the runs of one program, A, to those of another, B, as a ledger by communicator and operation ([how to](../howto/compare-runs.md))",
    note: "JSON has `run_time_a_s`, `run_time_b_s` and `delta_run_time_s` (means of the longest run time of a rank), their `shift_s`, `shift_low_s`, `shift_high_s` and `p`, and `delta_rank_s`, the change of \
           ranks × run time, to which the rows add up. Calls and bytes are exact; times have a verdict if each side has four runs or more.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[],
    entries: "entries",
    lacks: &[],
    empty: "the profiles have no ranks",
    parts: &[
        Part { name: "changes", headings: || column::headings(COLUMNS) },
        Part { name: "matches", headings: || column::headings(MATCHES) },
        Part { name: "layers", headings: || column::headings(diff_layers::LAYERS) },
        Part { name: "turns", headings: || column::headings(diff_layers::TURNS) },
    ],
    ask: |question| {
        let own = [question.profile.path.clone()];
        Ok(document(question, &own, &own)?.0)
    },
};

/// Entries that a table shows unless told otherwise.
const SHOWN: usize = 12;
/// A table for people leaves out changes of less than one in so many of all that changed.
const SMALLEST_PART: i128 = 1000;
/// Communicators that are listed.
const NAMED: usize = 8;

type Of = Column<Entry, ()>;

const COLUMNS: &[Of] = &[
    Of::record("comm", Unit::Communicator, "the communicator's name in A, or in B if A has none; `-` of other time", |_, row| {
        Value::text(row.comm.name().unwrap_or("-"))
    }),
    Of::record("comm_b", Unit::Communicator, "its name in B", |_, row| Value::maybe(row.comm.names[1].as_deref())),
    Of::record("label", Unit::Text, "its label, set by `MPI_Comm_set_name`", |_, row| Value::maybe(row.comm.label.as_deref())),
    Of::record("comms_a", Unit::Count, "number of communicators in the row in A: if numbers of ranks differ, those of one call share a row", |_, row| {
        Value::Number(row.comm.members[0] as i64)
    }),
    Of::record("comms_b", Unit::Count, "the same in B", |_, row| Value::Number(row.comm.members[1] as i64)),
    Of::shown("communicator", Unit::Communicator, |_, row| match (&row.what, row.comm.name()) {
        (What::Calls { .. }, Some(name)) => Value::Communicator { name, label: row.comm.label.as_deref() },
        _ => Value::text(row.what.words()),
    }),
    Of::new("op", "operation", Unit::Operation, "the operation; `-` of other time", |_, row| {
        row.what.op().map_or(Value::text("-"), Value::Operation)
    }),
    Of::record("entry", Unit::Text, "`calls`; `working` (outside of MPI), `unexplained` (MPI time that no counter has) or `end skew` (ranks that ended early)", |_, row| {
        Value::text(row.what.name())
    }),
    Of::record("delta_rank_s", Unit::Seconds, "change of the time over all ranks; all rows add up to `delta_rank_s` of the whole", |_, row| time(row.delta_ns)),
    Of::record("delta_run_time_s", Unit::Seconds, "change of its mean over the ranks: with equal numbers of ranks, its part of the change of the run time", |_, row| {
        Value::Time(row.per_rank_ns)
    }),
    Of::shown("run time", Unit::Seconds, |_, row| Value::owned(signed(row.per_rank_ns))),
    Of::record("reason", Unit::Text, "the largest cause; empty if counts did not change, and the time not significantly", |_, row| {
        Value::maybe(row.reason.map(|reason| reason.name()))
    }),
    Of::shown("because of", Unit::Text, |_, row| Value::some(row.because_of(), Value::Text)),
    Of::record("calls_a", Unit::Count, "[calls](through.md#how-calls-are-added-up) in A, the median of its runs", |_, row| Value::Number(row.calls[0])),
    Of::record("calls_b", Unit::Count, "the same in B", |_, row| Value::Number(row.calls[1])),
    Of::record("calls_vary", Unit::YesNo, "whether runs of one side differ in calls", |_, row| Value::Flag(row.calls_vary)),
    Of::record("bytes_a", Unit::Bytes, "sent and received over all ranks in A, the median of its runs", |_, row| Value::Bytes(row.bytes[0])),
    Of::record("bytes_b", Unit::Bytes, "the same in B", |_, row| Value::Bytes(row.bytes[1])),
    Of::record("bytes_vary", Unit::YesNo, "whether runs of one side differ in bytes", |_, row| Value::Flag(row.bytes_vary)),
    Of::shown("calls", Unit::Text, |_, row| counted(row, before_after(row.calls, row.calls_vary, |calls| calls.to_string()))).optional(2),
    Of::shown("bytes", Unit::Text, |_, row| counted(row, before_after(row.bytes, row.bytes_vary, units::bytes))).optional(3),
    Of::record("by_ranks_rank_s", Unit::Seconds, "part of `delta_rank_s`: more ranks with the same work", |_, row| time(row.parts_ns[0])),
    Of::record("by_calls_rank_s", Unit::Seconds, "part of it: more calls per rank, with the time per call of A", |_, row| time(row.parts_ns[1])),
    Of::record("by_bytes_rank_s", Unit::Seconds, "part of it: more bytes per call, with the time per byte of A", |_, row| time(row.parts_ns[2])),
    Of::record("by_waiting_rank_s", Unit::Seconds, "part of it: more waiting for the last one to enter, of barriers and all-to-all exchanges", |_, row| time(row.parts_ns[3])),
    Of::record("by_speed_rank_s", Unit::Seconds, "the rest: slower per byte or per call", |_, row| time(row.parts_ns[4])),
    Of::record("p", Unit::Ratio, "p-value of the Mann-Whitney test, adjusted for multiple tests (Holm)", |_, row| Value::some(row.time.p, Value::Ratio)),
    Of::record("shift_s", Unit::Seconds, "Hodges-Lehmann estimate of the change of the mean over the ranks", |_, row| shift(&row.time, 0)),
    Of::record("shift_low_s", Unit::Seconds, "lower end of its interval at 95 %", |_, row| shift(&row.time, 1)),
    Of::record("shift_high_s", Unit::Seconds, "upper end", |_, row| shift(&row.time, 2)),
    Of::new("verdict", "verdict", Unit::Text, "`slower` or `faster` (`p` is at most 0.03), `not significant`, or `not tested`, because few runs allow a test only for the clearest changes; empty with fewer than four runs a side", |_, row| {
        Value::maybe(row.time.verdict.map(|verdict| verdict.name()))
    })
    .whole(),
];

type OfMatches = Column<Matched, ()>;

const MATCHES: &[OfMatches] = &[
    OfMatches::record("comm_a", Unit::Communicator, "the communicator's name in A", |_, row| {
        Value::maybe(row.comm.names[0].as_deref())
    }),
    OfMatches::record("comm_b", Unit::Communicator, "its name in B", |_, row| {
        Value::maybe(row.comm.names[1].as_deref())
    }),
    OfMatches::record("label", Unit::Text, "its label, set by `MPI_Comm_set_name`", |_, row| {
        Value::maybe(row.comm.label.as_deref())
    }),
    OfMatches::record("comms_a", Unit::Count, "number of communicators in the row in A", |_, row| {
        Value::Number(row.comm.members[0] as i64)
    }),
    OfMatches::record("comms_b", Unit::Count, "the same in B", |_, row| Value::Number(row.comm.members[1] as i64)),
    OfMatches::record(
        "matched_by",
        Unit::Text,
        "`identity` (name, members, birthplace), `shape` (creator and the parent's match, with label, birthplace or members) or `order` (of making); empty: one side has none",
        |_, row| Value::maybe(matched(row).map(How::name)),
    ),
];

/// How it was matched, if both sides have it.
fn matched(row: &Matched) -> Option<How> {
    row.how.filter(|_| row.comm.names.iter().all(Option::is_some))
}

fn time(ns: i128) -> Value<'static> {
    Value::Time(ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64)
}

fn shift(change: &Change, which: usize) -> Value<'static> {
    let interval = change.shift.and_then(|shift| shift.interval);
    let seconds = match which {
        0 => change.shift.map(|shift| shift.shift),
        1 => interval.map(|interval| interval.low),
        _ => interval.map(|interval| interval.high),
    };
    Value::some(seconds, |seconds| Value::Time((seconds * 1e9).round() as i64))
}

/// `+1.20 s`.
pub fn signed(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "+" };
    match ns {
        0 => "0 s".to_owned(),
        _ => format!("{sign}{}", units::time(ns.saturating_abs())),
    }
}

/// `100`, or `100 → 101`; about so many where runs of one side differ.
pub fn before_after<T: PartialEq + Copy>([a, b]: [T; 2], varies: bool, written: impl Fn(T) -> String) -> String {
    let about = if varies { "~" } else { "" };
    if a == b { format!("{about}{}", written(a)) } else { format!("{about}{} → {}", written(a), written(b)) }
}

/// Of calls only: other time is not counted.
fn counted(row: &Entry, text: String) -> Value<'static> {
    match row.what {
        What::Calls { .. } => Value::owned(text),
        _ => Value::Unknown,
    }
}

/// What is shown of the runs of two programs, and what it was made of.
pub fn document(question: &Question, a: &[PathBuf], b: &[PathBuf]) -> Result<(Document, Comparison), Error> {
    let context = Context::of(question)?;
    let comparison = Comparison::of(read(a)?, read(b)?);
    let is_empty = comparison.runs.iter().flatten().all(|run| run.ranks == 0);
    let mut document = context.document(VIEW.entries, is_empty, VIEW.empty);
    document.numbers = numbers(&comparison);
    document.head.subject = Subject::Profiles;
    document.head.lines.extend(lines(&comparison));
    let layers = Layers::of([&comparison.runs[0], &comparison.runs[1]]);
    document.head.lines.extend(diff_layers::lines(&layers));
    let mut rows = comparison.entries.clone();
    let has_changed = |row: &Entry| row.delta_ns != 0 || row.has_changed != (false, false);
    if question.is_table() && rows.iter().any(has_changed) {
        rows.retain(has_changed);
    }
    let changed = rows.len();
    if question.is_table() && question.top.is_none() {
        let all_ns: i128 = rows.iter().map(|row| row.delta_ns.abs()).sum();
        rows.retain(|row| row.has_changed != (false, false) || row.delta_ns.abs() * SMALLEST_PART >= all_ns);
    }
    shorten(&mut rows, question.top_of_table(SHOWN));
    document.hidden = changed - rows.len();
    let mut table = column::table("changes", COLUMNS, &Rc::new(()), rows);
    table.after = unmatched(&comparison);
    table.legend = legend(&comparison);
    document.tables.push(table);
    let matches = column::table("matches", MATCHES, &Rc::new(()), comparison.matched.clone());
    document.tables.push(Table { audience: Audience::JSON, ..matches });
    document.tables.extend(diff_layers::tables(&layers, question.top));
    Ok((document, comparison))
}

pub fn read(paths: &[PathBuf]) -> Result<Vec<Run>, Error> {
    let read = |path: &PathBuf| {
        // Birthplaces are compared as profiles have them: binaries of old runs are elsewhere, or have changed.
        let mut profile = Profile::open(path)?;
        profile.are_binaries_read = false;
        Ok(Run::read(&profile)?)
    };
    paths.iter().map(read).collect()
}

fn numbers(comparison: &Comparison) -> Vec<(&'static str, Value<'static>)> {
    let [a, b] = comparison.run_time_ns;
    let change = &comparison.run_time;
    vec![
        ("run_time_a_s", Value::Time(a)),
        ("run_time_b_s", Value::Time(b)),
        ("delta_run_time_s", Value::Time(b.saturating_sub(a))),
        ("delta_rank_s", time(comparison.delta_whole_ns)),
        ("runs_a", Value::Number(comparison.runs[0].len() as i64)),
        ("runs_b", Value::Number(comparison.runs[1].len() as i64)),
        ("p", Value::some(change.p, Value::Ratio)),
        ("shift_s", shift(change, 0)),
        ("shift_low_s", shift(change, 1)),
        ("shift_high_s", shift(change, 2)),
        ("verdict", Value::maybe(change.verdict.map(|verdict| verdict.name()))),
    ]
}

fn lines(comparison: &Comparison) -> Vec<Line> {
    let side = |runs: &[Run]| {
        let names: Vec<String> = runs.iter().take(NAMED).map(|run| path(&relative(&run.path))).collect();
        let more = runs.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let ranks = runs.first().map_or(0, |run| run.ranks);
        format!(
            "{} on {}: {}{more}",
            units::count(runs.len() as u64, "run"),
            units::count(ranks, "rank"),
            names.join(" ")
        )
    };
    let line = |name, text| Line { name, text, paint: None };
    let sides = [line("A", side(&comparison.runs[0])), line("B", side(&comparison.runs[1]))];
    let differ = differences(comparison).into_iter().map(|text| line("differs", text));
    let run_time = Line { name: "run time", text: run_time(comparison), paint: Some(Paint::Strong) };
    sides.into_iter().chain(differ).chain([run_time]).collect()
}

/// What the first runs of both sides do not have in common, of what the head shows of the first one.
fn differences(comparison: &Comparison) -> Vec<String> {
    let [Some(a), Some(b)] = [0, 1].map(|side| comparison.runs[side].first()) else { return Vec::new() };
    let of = |run: &Run, key: &str| {
        let value = run.meta.get(key).map(String::as_str).unwrap_or_default();
        match key {
            "mpi_library" => library_name(value),
            "options" => commsee::settings::measured(value),
            _ => value.lines().next().unwrap_or_default().to_owned(),
        }
    };
    let or_none = |value: String| if value.is_empty() { "none".to_owned() } else { value };
    let keys = [("program", "command"), ("library", "mpi_library"), ("options", "options")];
    let pairs = keys.map(|(name, key)| (name.to_owned(), of(a, key), of(b, key))).into_iter();
    let settings = settings_that_differ(a, b).into_iter().map(|(name, [a, b])| (name, a, b));
    let differ = pairs.filter(|(_, a, b)| a != b).chain(settings);
    differ.map(|(name, a, b)| format!("{name}: {} in A, {} in B", or_none(a), or_none(b))).collect()
}

/// `2.000 s → 2.500 s: +500 ms (25.0 %), slower (+450 ms … +550 ms)`.
fn run_time(comparison: &Comparison) -> String {
    let [a, b] = comparison.run_time_ns;
    let change = b.saturating_sub(a);
    let part = units::percent(change.saturating_abs() as f64, a as f64);
    let interval = comparison.run_time.shift.and_then(|shift| shift.interval);
    let ns = |seconds: f64| signed((seconds * 1e9).round() as i64);
    let interval = interval.map(|found| format!(" ({} … {})", ns(found.low), ns(found.high))).unwrap_or_default();
    let verdict = comparison.run_time.verdict.map(|verdict| format!(", {}", verdict.name())).unwrap_or_default();
    format!("{} → {}: {} ({part}){verdict}{interval}", units::precise_time(a), units::precise_time(b), signed(change))
}

/// Communicators that one side has alone, and those that are matched by less than their name.
fn unmatched(comparison: &Comparison) -> Vec<String> {
    let list = |names: Vec<String>| {
        let more = names.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", names.into_iter().take(NAMED).collect::<Vec<_>>().join(", "))
    };
    let mut lines = Vec::new();
    for (side, name) in ["A", "B"].into_iter().enumerate() {
        let alone = comparison.matched.iter().filter(|row| row.comm.names[1 - side].is_none());
        let names: Vec<String> = alone.filter_map(|row| row.comm.names[side].clone()).collect();
        if !names.is_empty() {
            let number = units::count(names.len() as u64, "communicator");
            lines.push(format!("only in {name}: {number} ({})", list(names)));
        }
    }
    for how in [How::Shape, How::Order] {
        let pairs = comparison.matched.iter().filter(|row| matched(row) == Some(how));
        let names: Vec<String> = pairs
            .filter_map(|row| Some(format!("{} = {}", row.comm.names[0].as_ref()?, row.comm.names[1].as_ref()?)))
            .collect();
        if !names.is_empty() {
            lines.push(format!("matched by {}: {}", how.name(), list(names)));
        }
    }
    lines
}

fn legend(comparison: &Comparison) -> Vec<String> {
    let mut legend = vec![
        "run time: change of the mean over the ranks; entries add up to the change of the run time, shown with its interval at 95 %. Calls and bytes are exact, with ~ where runs of one side differ."
            .to_owned(),
    ];
    let [a, b] = [0, 1].map(|side| comparison.runs[side].len());
    if !comparison.has_verdicts() {
        legend.push(format!("No verdicts: these need {LEAST_RUNS} runs or more on each side, best A and B in turn."));
    } else if testable(a, b) < comparison.entries.len() {
        let tested = units::count(testable(a, b) as u64, "entry");
        legend.push(format!(
            "With {a} and {b} runs, only the clearest changes ({tested}) can be tested. More runs test more."
        ));
    }
    if comparison.is_by_call {
        legend.push("Numbers of ranks differ: communicators of one call share a row.".to_owned());
    }
    legend
}
