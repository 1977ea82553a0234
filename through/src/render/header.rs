//! What stands above every table: which program, how long it ran, how much of that was MPI.

use std::io::{self, Write};

use commsee::ranks;

use crate::escape::{cut, path, visible};
use crate::query::catalog::Detail;
use crate::query::overview::{Overview, Peak};
use crate::report::Report;
use crate::terminal::{Paint, Terminal};
use crate::units;

const NAME_COLUMNS: usize = 11;

pub fn header(report: &Report, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let meta = |key: &str| report.catalog.meta(key);
    let mut line = |name: &str, value: &str, paint: Option<Paint>| {
        let value = cut(value, terminal.columns.saturating_sub(NAME_COLUMNS));
        let value = paint.map_or(value.clone(), |paint| terminal.paint(paint, &value).into_owned().into());
        writeln!(out, "{}{value}", terminal.paint(Paint::Faint, &format!("{name:<NAME_COLUMNS$}")))
    };
    line("profile", &path(&report.path), Some(Paint::Strong))?;
    line("program", &visible(meta("command").unwrap_or("(command line not kept)")), None)?;
    if let Some(library) = meta("mpi_library") {
        let words: Vec<&str> = library.trim().lines().next().unwrap_or_default().split_whitespace().collect();
        line("library", &visible(&words.join(" ")), None)?;
    }
    if let Some(start) = meta("start_time") {
        line("started", &visible(&start.replace('T', " ").replace('Z', " UTC")), None)?;
    }
    line("ranks", &placed(&report.overview, meta("ranks")), None)?;
    if let Some(detail) = detail(report.catalog.detail) {
        line("detail", detail, None)?;
    }
    for note in notes(report) {
        line("note", &note, Some(Paint::Warning))?;
    }
    if !report.filter.words.is_empty() {
        line("shown only", &visible(&report.filter.words.join(", ")), Some(Paint::Strong))?;
    }
    writeln!(out)?;
    overall(&report.overview, terminal, out)
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

fn placed(overview: &Overview, started: Option<&str>) -> String {
    let hosts = units::count(overview.hosts, "host");
    match started.and_then(|ranks| ranks.parse::<u64>().ok()) {
        Some(started) if started > overview.ranks => format!("{} of {started} recorded, on {hosts}", overview.ranks),
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
fn notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    let overview = &report.overview;
    for (unfinished, what) in [(&overview.running, "still ran"), (&overview.unfinished, "ended before MPI_Finalize")] {
        if !unfinished.is_empty() {
            let ranks = units::count(unfinished.len() as u64, "rank");
            notes.push(format!("{ranks} {what}: {}", ranks::format(unfinished)));
        }
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
