//! What stands above every table: which program, how long it ran, how much of that was MPI.

use std::io::{self, Write};
use std::path::Path;

use commsee::job::Job;

use crate::escape::{cut, path, visible};
use crate::filter::Filter;
use crate::query::catalog::{Catalog, Detail};
use crate::query::layers::linkage::{Layers, Links};
use crate::query::overview::{Overview, Peak};
use crate::report::Report;
use crate::terminal::{Paint, Terminal};
use crate::units;

const NAME_COLUMNS: usize = 11;

/// What every report begins with.
pub struct Head<'a> {
    pub path: &'a Path,
    pub catalog: &'a Catalog,
    pub overview: &'a Overview,
    pub filter: &'a Filter,
    /// What was recorded of layers below MPI.
    pub layers: Option<&'a Layers>,
}

impl<'a> Head<'a> {
    pub fn of(report: &'a Report) -> Head<'a> {
        Head {
            path: &report.path,
            catalog: &report.catalog,
            overview: &report.overview,
            filter: &report.filter,
            layers: report.layers.as_ref(),
        }
    }
}

/// Programs of a job that are listed.
const PROGRAMS: usize = 8;

/// What the ranks run: mostly one program, else each with its ranks.
fn programs(command: Option<&str>, several: Option<&str>) -> Vec<String> {
    let Some(several) = several else { return vec![command.unwrap_or("(command line not kept)").to_owned()] };
    let known = |line: &str| {
        let (ranks, command) = line.split_once('\t')?;
        Some(format!("{command} (ranks {ranks})"))
    };
    let all: Vec<String> = several.lines().filter_map(known).collect();
    let more = all.len().saturating_sub(PROGRAMS);
    let more = (more > 0).then(|| format!("and {more} more: key programs in the view meta"));
    all.into_iter().take(PROGRAMS).chain(more).collect()
}

pub fn header(report: &Head, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let meta = |key: &str| report.catalog.meta(key);
    let mut line = |name: &str, value: &str, paint: Option<Paint>| {
        let value = cut(value, terminal.columns.saturating_sub(NAME_COLUMNS));
        let value = paint.map_or(value.clone(), |paint| terminal.paint(paint, &value).into_owned().into());
        writeln!(out, "{}{value}", terminal.paint(Paint::Faint, &format!("{name:<NAME_COLUMNS$}")))
    };
    line("profile", &path(report.path), Some(Paint::Strong))?;
    for program in programs(meta("command"), meta("programs")) {
        line("program", &visible(&program), None)?;
    }
    if let Some(library) = meta("mpi_library") {
        let words: Vec<&str> = library.trim().lines().next().unwrap_or_default().split_whitespace().collect();
        line("library", &visible(&words.join(" ")), None)?;
    }
    if let Some(start) = meta("start_time") {
        line("started", &visible(&start.replace('T', " ").replace('Z', " UTC")), None)?;
    }
    if let Some(job) = job(report.catalog) {
        line("job", &visible(&job), None)?;
    }
    line("ranks", &placed(report.overview, meta("ranks")), None)?;
    if let Some(detail) = detail(report.catalog.detail) {
        line("detail", detail, None)?;
    }
    for note in notes(report) {
        line("note", &note, Some(Paint::Warning))?;
    }
    if let Some(layers) = report.layers {
        for (name, text) in linkage(layers, report.catalog) {
            line(name, &text, None)?;
        }
    }
    if !report.filter.words.is_empty() {
        line("shown only", &visible(&report.filter.words.join(", ")), Some(Paint::Strong))?;
    }
    writeln!(out)?;
    overall(report.overview, terminal, out)
}

/// What hook modules say of themselves, and how much of what layers did is linked to no MPI call: a line each at most.
pub fn linkage(layers: &Layers, catalog: &Catalog) -> Vec<(&'static str, String)> {
    let notes: Vec<String> = layers.notes.iter().map(|note| visible(&note.sentence(catalog)).into_owned()).collect();
    let unlinked: Vec<String> = layers.links.iter().map(unlinked).collect();
    let lines = [("layers", notes.join("; ")), ("unlinked", unlinked.join("; "))];
    lines.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

/// `uct: 0.1 % of 12.3 MiB, 0.8 % of 4000 operations`.
fn unlinked(links: &Links) -> String {
    let (part, whole) = (links.unlinked, links.total);
    let layer = visible(&links.layer);
    if part.calls == 0 && part.bytes == 0 {
        return format!("{layer}: nothing");
    }
    let calls = units::percent(part.calls as f64, whole.calls as f64);
    let bytes = units::percent(part.bytes as f64, whole.bytes as f64);
    format!("{layer}: {bytes} of {}, {calls} of {} operations", units::bytes(whole.bytes), whole.calls)
}

/// Maximum and average of run time and MPI time.
fn overall(overview: &Overview, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let with_rank = |peak: Peak| format!("{} (rank {})", units::precise_time(peak.ns), peak.rank);
    let time = |ns: f64| units::precise_time(ns.round() as i64);
    let rows = [
        ("", "run time".to_owned(), "MPI time".to_owned(), "MPI share of run time".to_owned()),
        (
            "maximum",
            with_rank(overview.wall_max),
            with_rank(overview.mpi_max),
            units::percent(overview.mpi_max.ns as f64, overview.wall_max.ns as f64),
        ),
        (
            "average",
            time(overview.wall_avg_ns),
            time(overview.mpi_avg_ns),
            units::percent(overview.mpi_avg_ns, overview.wall_avg_ns),
        ),
    ];
    for (number, (name, wall, mpi, share)) in rows.iter().enumerate() {
        let name = terminal.paint(Paint::Faint, &format!("{name:<NAME_COLUMNS$}")).into_owned();
        let values = format!("{wall:<20}  {mpi:<20}  {share}");
        let values = if number == 0 { terminal.paint(Paint::Faint, &values) } else { values.as_str().into() };
        writeln!(out, "{name}{values}")?;
    }
    Ok(())
}

/// `1234.0 of Slurm, 2 nodes`: the batch job, with its step.
fn job(catalog: &Catalog) -> Option<String> {
    let words = [catalog.meta("job")?, catalog.meta("job_step").unwrap_or_default()].map(str::to_owned);
    let [id, step] = words;
    let system = catalog.meta("batch_system").map(|system| format!(" of {system}")).unwrap_or_default();
    let nodes = catalog.meta("job_nodes").and_then(|nodes| nodes.parse().ok());
    let nodes = nodes.map(|nodes| format!(", {}", units::count(nodes, "node"))).unwrap_or_default();
    let title = Job { id, step, ..Job::default() }.title()?;
    Some(format!("{title}{system}{nodes}"))
}

fn placed(overview: &Overview, started: Option<&str>) -> String {
    let hosts = units::count(overview.hosts, "host");
    match started.and_then(|ranks| ranks.parse::<u64>().ok()) {
        Some(started) if started > overview.ranks => {
            format!("{} of {started} recorded, these on {hosts}", overview.ranks)
        }
        _ => format!("{} on {hosts}", overview.ranks),
    }
}

/// What the profile tells apart, if not ranks.
fn detail(detail: Detail) -> Option<&'static str> {
    match detail {
        Detail::Rank => None,
        Detail::Node => Some("per node, not per rank: a node is named by its lowest rank"),
        Detail::Comm => Some("per communicator, not per rank"),
    }
}

/// What makes the numbers less than the whole truth.
fn notes(report: &Head) -> Vec<String> {
    let mut notes = Vec::new();
    let overview = report.overview;
    for (unfinished, what) in [(&overview.running, "still ran"), (&overview.unfinished, "ended before MPI_Finalize")] {
        if !unfinished.is_empty() {
            let ranks = units::count(unfinished.count(), "rank");
            notes.push(format!("{ranks} {what}: {unfinished}"));
        }
    }
    if !overview.missing.is_empty() {
        notes.push(format!(
            "{} not in the profile: {}",
            units::count(overview.missing.count(), "rank"),
            overview.missing
        ));
    }
    for (key, what) in [
        ("lost_calls", "calls are missing: there was no room to count them"),
        ("damaged_entries", "entries of the shards were damaged and are missing"),
    ] {
        if let Some(number) = report.catalog.meta(key).filter(|number| *number != "0") {
            notes.push(format!("{} {what}", visible(number)));
        }
    }
    notes
}
