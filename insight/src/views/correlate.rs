//! What correlates with the run time, over many runs.

use std::path::PathBuf;
use std::rc::Rc;

use through_core::Error;
use through_core::document::{Audience, Document, Format, Line, Subject, Table, Unit, Value};
use through_core::text::units;
use through_core::views::{Column, Context, Flag, Part, Question, View, column, shorten};

use crate::query::compare::boxes::Spread;
use crate::query::compare::configuration::{Configuration, known_key};
use crate::query::compare::correlate::{Correlations, LEAST_RUNS, Point, Row};
use crate::query::compare::scaling::Scaling;
use crate::statistics::Correlation;

pub const VIEW: View = View {
    name: "correlate",
    command: "compare RUN...",
    flag: Flag::Default,
    help: "What correlates with the run time",
    meaning: "over many runs, how the time of each operation on each communicator, or family of communicators, correlates with the run time ([how to](../howto/compare-runs.md#what-correlates-with-the-run-time))",
    note: "The time is that of the rank with the most; for several size classes, and for communicators that share ranks, the maxima are added up. `work_` columns use the time of the \
           rank with the least instead: time without waiting.",
    formats: &[Format::Table, Format::Csv, Format::Json],
    sorts: &[],
    entries: "entries",
    lacks: &[],
    empty: "the profiles have no calls",
    parts: &[
        Part { name: "correlations", headings: || column::headings(COLUMNS) },
        Part { name: "configurations", headings: || column::headings(CONFIGURATIONS) },
        Part { name: "scaling", headings: || column::headings(super::scaling::COLUMNS) },
        Part { name: "runs", headings: || column::headings(RUNS) },
        Part { name: "boxes", headings: || column::headings(BOXES) },
        Part { name: "points", headings: || column::headings(POINTS) },
    ],
    ask: |question| document(question, std::slice::from_ref(&question.profile.path), &[], None),
};

/// Entries that a table shows unless told otherwise.
const SHOWN: usize = 12;

type Of = Column<Row, ()>;

fn r(found: Option<Correlation>) -> Value<'static> {
    Value::some(found, |found| Value::Ratio(found.r))
}

fn low(found: Option<Correlation>) -> Value<'static> {
    Value::some(found.and_then(|found| found.interval), |interval| Value::Ratio(interval.low))
}

fn high(found: Option<Correlation>) -> Value<'static> {
    Value::some(found.and_then(|found| found.interval), |interval| Value::Ratio(interval.high))
}

fn p(found: Option<Correlation>) -> Value<'static> {
    Value::some(found.and_then(|found| found.p), Value::Ratio)
}

const COLUMNS: &[Of] = &[
    Of::record("comm", Unit::Communicator, "the communicator's name; the first of several", |_, row| {
        Value::text(&row.comm)
    }),
    Of::record("label", Unit::Text, "its label, set by `MPI_Comm_set_name`", |_, row| Value::maybe(row.label.as_deref())),
    Of::record(
        "comms",
        Unit::Count,
        "number of communicators in the row: those with the same parent, creator, size and birthplace share one",
        |_, row| Value::Number(row.members as i64),
    ),
    Of::record("size", Unit::Count, "ranks of one", |_, row| Value::some(row.size, |size| Value::Number(size as i64))),
    Of::shown("communicator", Unit::Communicator, |_, row| match row.members {
        0 | 1 => Value::Communicator { name: &row.comm, label: row.label.as_deref() },
        _ => Value::owned(family(row)),
    }),
    Of::new("op", "operation", Unit::Operation, "the operation", |_, row| Value::Operation(&row.op)),
    Of::new("mean_s", "time", Unit::Seconds, "of the rank with the most time, the mean over the runs", |_, row| {
        Value::Time((row.mean_s * 1e9) as i64)
    }),
    Of::new("r", "r", Unit::Ratio, "Pearson's coefficient of all runs", |_, row| r(row.pearson)),
    Of::record("r_low", Unit::Ratio, "lower end of its interval at 95 % (Fisher)", |_, row| low(row.pearson)),
    Of::record("r_high", Unit::Ratio, "upper end", |_, row| high(row.pearson)),
    Of::shown("95 %", Unit::Text, |_, row| Value::owned(interval(row.pearson))).optional(2),
    Of::record("p", Unit::Ratio, "its p-value, not adjusted", |_, row| p(row.pearson)),
    Of::new("rho", "ρ", Unit::Ratio, "Spearman's coefficient of all runs", |_, row| r(row.spearman)).optional(3),
    Of::record("rho_low", Unit::Ratio, "lower end of its interval at 95 %", |_, row| low(row.spearman)),
    Of::record("rho_high", Unit::Ratio, "upper end", |_, row| high(row.spearman)),
    Of::record("rho_p", Unit::Ratio, "its p-value, exact up to nine runs", |_, row| p(row.spearman)),
    Of::new(
        "within_r",
        "within",
        Unit::Ratio,
        "Pearson's coefficient within configurations; empty with one configuration",
        |_, row| r(row.within),
    )
    .when(|_, rows| rows.iter().any(|row| row.within.is_some())),
    Of::record("within_low", Unit::Ratio, "lower end of its interval at 95 %", |_, row| low(row.within)),
    Of::record("within_high", Unit::Ratio, "upper end", |_, row| high(row.within)),
    Of::record("within_rho", Unit::Ratio, "Spearman's coefficient within configurations", |_, row| {
        r(row.spearman_within)
    }),
    Of::new("work_r", "work", Unit::Ratio, "Pearson's coefficient of the time without waiting", |_, row| {
        r(row.work)
    }),
    Of::record("work_low", Unit::Ratio, "lower end of its interval at 95 %", |_, row| low(row.work)),
    Of::record("work_high", Unit::Ratio, "upper end", |_, row| high(row.work)),
    Of::record("work_rho", Unit::Ratio, "Spearman's coefficient of it", |_, row| r(row.spearman_work)),
    Of::record(
        "waiting",
        Unit::Text,
        "source of the waiting: `bound` for barriers and all-to-all exchanges, `estimate` for other calls that all members make equally often, `timeline` if only a timeline would show it",
        |_, row| Value::text(row.waiting.name()),
    ),
    Of::new(
        "trimmed_r",
        "no outliers",
        Unit::Ratio,
        "Pearson's coefficient without the runs that are outliers; empty without any",
        |_, row| r(row.trimmed),
    )
    .when(|_, rows| rows.iter().any(|row| row.trimmed.is_some())),
    Of::record("trimmed_low", Unit::Ratio, "lower end of its interval at 95 %", |_, row| low(row.trimmed)),
    Of::record("trimmed_high", Unit::Ratio, "upper end", |_, row| high(row.trimmed)),
    Of::new(
        "verdict",
        "verdict",
        Unit::Text,
        "`correlates`, `correlates, but is waiting`, `correlates, may be waiting` (a timeline would show it), `correlates between configurations only`, or `not significant` (all rows together at 2 %, by Holm's rule); empty with fewer than five runs",
        |_, row| Value::maybe(row.verdict.map(|verdict| verdict.name())),
    )
    .whole(),
];

type OfConfigurations = Column<Configuration, ()>;

fn seconds(seconds: Option<f64>) -> Value<'static> {
    Value::some(seconds, |seconds| Value::Time((seconds * 1e9).round() as i64))
}

const CONFIGURATIONS: &[OfConfigurations] = &[
    OfConfigurations::new(
        "configuration",
        "configuration",
        Unit::Text,
        "keys in which it differs from the others",
        |_, row| Value::text(&row.title),
    )
    .whole(),
    OfConfigurations::new("runs", "runs", Unit::Count, "how many", |_, row| Value::Number(row.runs as i64)),
    OfConfigurations::new("mean_s", "run time", Unit::Seconds, "mean of the run time over its runs", |_, row| {
        seconds(Some(row.mean_s))
    }),
    OfConfigurations::new(
        "mean_mpi_s",
        "MPI time",
        Unit::Seconds,
        "mean of the MPI time over its runs and their ranks",
        |_, row| seconds(Some(row.mean_mpi_s)),
    ),
    OfConfigurations::new("median_s", "median", Unit::Seconds, "of the run time", |_, row| {
        seconds(row.median.map(|median| median.median))
    }),
    OfConfigurations::new(
        "median_low_s",
        "from",
        Unit::Seconds,
        "lower end of its interval at 95 %; empty with fewer than six runs",
        |_, row| seconds(row.median.and_then(|median| median.interval).map(|interval| interval.low)),
    )
    .optional(2),
    OfConfigurations::new("median_high_s", "to", Unit::Seconds, "upper end", |_, row| {
        seconds(row.median.and_then(|median| median.interval).map(|interval| interval.high))
    })
    .optional(2),
    OfConfigurations::record("quarter_s", Unit::Seconds, "a quarter of the runs take less", |_, row| {
        seconds(row.quarter_s)
    }),
    OfConfigurations::record("three_quarters_s", Unit::Seconds, "three quarters take less", |_, row| {
        seconds(row.three_quarters_s)
    }),
];

type OfRuns = Column<Point, ()>;

const RUNS: &[OfRuns] = &[
    OfRuns::new("run", "run", Unit::Text, "path of the profile", |_, row| Value::text(&row.path)),
    OfRuns::new("configuration", "configuration", Unit::Count, "number of its configuration, from 0", |_, row| {
        Value::Number(row.configuration as i64)
    }),
    OfRuns::new("run_time_s", "run time", Unit::Seconds, "of the rank that ran longest", |_, row| {
        Value::Time(row.run_time_ns)
    }),
    OfRuns::new("mpi_s", "MPI time", Unit::Seconds, "the mean over the ranks", |_, row| seconds(Some(row.mpi_s))),
    OfRuns::new(
        "outlier",
        "outlier",
        Unit::YesNo,
        "whether it is an outlier in its configuration: more than 1.5 interquartile ranges outside the middle half (Tukey)",
        |_, row| Value::Flag(row.is_outlier),
    ),
];

/// A part of what was found, which all parts of a row need.
type OfBoxes = Column<Spread, Correlations>;

/// The name of a configuration; empty where there is one.
fn title(found: &Correlations, number: usize) -> Value<'_> {
    Value::text(found.configurations.get(number).map_or("", |configuration| configuration.title.as_str()))
}

const BOXES: &[OfBoxes] = &[
    OfBoxes::new("op", "operation", Unit::Operation, "the operation", |_, row| Value::Operation(&row.op)),
    OfBoxes::new("size", "ranks", Unit::Count, "ranks of its communicators", |_, row| {
        Value::some(row.size, |size| Value::Number(size as i64))
    }),
    OfBoxes::new("configuration", "configuration", Unit::Text, "name of the configuration", |found, row| {
        title(found, row.configuration)
    }),
    OfBoxes::new("runs", "runs", Unit::Count, "runs of the configuration", |_, row| Value::Number(row.runs as i64)),
    OfBoxes::new(
        "least_s",
        "min",
        Unit::Seconds,
        "time of the rank with the most, on any communicator of the size: the shortest of the runs",
        |_, row| seconds(Some(row.least_s)),
    ),
    OfBoxes::new("quarter_s", "25 %", Unit::Seconds, "a quarter of the runs take less", |_, row| {
        seconds(Some(row.quarter_s))
    }),
    OfBoxes::new("median_s", "median", Unit::Seconds, "half of them", |_, row| seconds(Some(row.median_s))),
    OfBoxes::new("three_quarters_s", "75 %", Unit::Seconds, "three quarters", |_, row| {
        seconds(Some(row.three_quarters_s))
    }),
    OfBoxes::new("most_s", "max", Unit::Seconds, "the longest of the runs", |_, row| seconds(Some(row.most_s))),
    OfBoxes::record("low_s", Unit::Seconds, "the shortest that is no outlier (Tukey)", |_, row| {
        seconds(Some(row.low_s))
    }),
    OfBoxes::record("high_s", Unit::Seconds, "the longest that is no outlier", |_, row| seconds(Some(row.high_s))),
    OfBoxes::new("outliers", "outliers", Unit::Count, "how many runs are outliers", |_, row| {
        Value::Number(row.outliers_s.len() as i64)
    }),
];

/// One entry in one run.
struct Spot {
    row: usize,
    run: usize,
}

type OfPoints = Column<Spot, Correlations>;

const POINTS: &[OfPoints] = &[
    OfPoints::new(
        "comm",
        "communicator",
        Unit::Communicator,
        "the communicator's name; the first of several",
        |found, spot| Value::text(&found.rows[spot.row].comm),
    ),
    OfPoints::record("label", Unit::Text, "its label", |found, spot| {
        Value::maybe(found.rows[spot.row].label.as_deref())
    }),
    OfPoints::record("comms", Unit::Count, "number of communicators in the entry", |found, spot| {
        Value::Number(found.rows[spot.row].members as i64)
    }),
    OfPoints::new("size", "ranks", Unit::Count, "ranks of one", |found, spot| {
        Value::some(found.rows[spot.row].size, |size| Value::Number(size as i64))
    }),
    OfPoints::new("op", "operation", Unit::Operation, "the operation", |found, spot| {
        Value::Operation(&found.rows[spot.row].op)
    }),
    OfPoints::new("run", "run", Unit::Text, "path of the profile", |found, spot| {
        Value::text(&found.runs[spot.run].path)
    }),
    OfPoints::new("configuration", "configuration", Unit::Text, "name of its configuration", |found, spot| {
        title(found, found.runs[spot.run].configuration)
    }),
    OfPoints::new("time_s", "time", Unit::Seconds, "of the rank with the most", |found, spot| {
        seconds(found.rows[spot.row].times_s.get(spot.run).copied())
    }),
    OfPoints::new("run_time_s", "run time", Unit::Seconds, "of the rank that ran longest", |found, spot| {
        Value::Time(found.runs[spot.run].run_time_ns)
    }),
];

/// `2 × Comm_split of W0.0, 16 ranks`.
fn family(row: &Row) -> String {
    let creator = row.creator.strip_prefix("MPI_").unwrap_or(&row.creator);
    let parent = row.parent.as_ref().map(|parent| format!(" of {parent}")).unwrap_or_default();
    let size = row.size.map(|size| format!(", {}", units::count(size, "rank"))).unwrap_or_default();
    format!("{} × {creator}{parent}{size}", row.members)
}

fn interval(found: Option<Correlation>) -> String {
    let interval = found.and_then(|found| found.interval);
    interval.map(|interval| format!("{:.2}…{:.2}", interval.low, interval.high)).unwrap_or_default()
}

const LEGEND: &str = "time: of the rank with the most. r: Pearson, with the run time. work: r of the time without waiting, that is, of the rank with the least.";

/// What is shown of many runs; `by` are the keys of the metadata that make a configuration, `part` the table to show in place of all.
pub fn document(question: &Question, runs: &[PathBuf], by: &[String], part: Option<&str>) -> Result<Document, Error> {
    let context = Context::of(question)?;
    let runs = super::diff::read(runs)?;
    if let Some(key) = by.iter().find(|key| known_key(&runs, key).is_none()) {
        let known: Vec<&str> = runs.iter().flat_map(|run| run.meta.keys()).map(String::as_str).collect();
        let known: std::collections::BTreeSet<&str> = known.into_iter().collect();
        let known = known.into_iter().collect::<Vec<_>>().join(", ");
        return Err(Error::Argument(format!("no run has the key '{key}': there are {known}")));
    }
    let found = Rc::new(Correlations::of(&runs, by));
    let mut document = context.document(VIEW.entries, found.rows.is_empty(), VIEW.empty);
    document.head.subject = Subject::Profiles;
    document.head.lines.push(Line { name: "runs", text: told(&found), paint: None });
    document.tables = vec![
        correlations(&found, &mut document.hidden, question.top_of_table(SHOWN)),
        configurations(&found),
        super::scaling::table(Scaling::of(&runs)),
        runs_of(&found),
        boxes(&found),
        points(&found),
    ];
    if let Some(part) = part {
        document.tables.retain(|table| table.name == part);
        if part != "correlations" {
            document.hidden = 0;
        }
        document.tables.iter_mut().for_each(|table| table.audience = Audience::ALL);
    }
    Ok(document)
}

fn correlations(found: &Rc<Correlations>, hidden: &mut usize, top: Option<usize>) -> Table {
    let mut rows = found.rows.clone();
    *hidden = shorten(&mut rows, top);
    let mut table = column::table("correlations", COLUMNS, &Rc::new(()), rows);
    table.legend.push(LEGEND.to_owned());
    let outliers: Vec<&str> = found.runs.iter().filter(|run| run.is_outlier).map(|run| run.path.as_str()).collect();
    if !outliers.is_empty() {
        table.after.push(format!("outliers in run time: {}", outliers.join(", ")));
    }
    if found.runs.len() < LEAST_RUNS {
        table.legend.push(format!("No verdicts: they need {LEAST_RUNS} runs or more."));
    }
    table
}

fn configurations(found: &Correlations) -> Table {
    let audience = if found.configurations.len() > 1 { Audience::BESIDE } else { Audience::JSON };
    let rows = found.configurations.clone();
    Table { audience, is_above: true, ..column::table("configurations", CONFIGURATIONS, &Rc::new(()), rows) }
}

fn runs_of(found: &Correlations) -> Table {
    Table { audience: Audience::JSON, ..column::table("runs", RUNS, &Rc::new(()), found.runs.clone()) }
}

fn boxes(found: &Rc<Correlations>) -> Table {
    Table { audience: Audience::JSON, ..column::table("boxes", BOXES, found, found.spreads.clone()) }
}

fn points(found: &Rc<Correlations>) -> Table {
    let runs = 0..found.runs.len();
    let spots = (0..found.rows.len()).flat_map(|row| runs.clone().map(move |run| Spot { row, run }));
    Table { audience: Audience::JSON, ..column::table("points", POINTS, found, spots.collect()) }
}

fn told(found: &Correlations) -> String {
    let runs = units::count(found.runs.len() as u64, "run");
    let configurations = units::count(found.configurations.len() as u64, "configuration");
    let outliers = found.runs.iter().filter(|run| run.is_outlier).count();
    format!("{runs} of {configurations}, {}", units::count(outliers as u64, "outlier"))
}
