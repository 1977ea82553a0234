//! The default view: for each communicator a line about it, and a table of its operations.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::remark;
use super::words::{bucket_name, creator, flow, operation_name, titled, wrap};
use crate::escape::{cut, visible};
use crate::query::catalog::{Communicator, NO_COMM, SEVERAL_COMMS};
use crate::query::operations::Operations;
use crate::render::grid::{Column, Grid, number, text};
use crate::report::{Report, Section};
use crate::terminal::{Paint, Terminal};
use crate::units;

const COLUMNS: [Column; 10] = [
    text("operation"),
    number("bytes"),
    number("calls"),
    number("ranks").optional(3),
    number("total").optional(2),
    number("max"),
    number("avg"),
    number("min"),
    number("sent"),
    number("received"),
];

const LEGEND: &str = "Times are per rank: max is the rank that spent most in an operation, min the one that spent least, avg \
     the mean of the ranks that called. A collective counts once per communicator, other calls once per rank. Sizes \
     are sums over the ranks.";

/// On a wide terminal the numbers at the end of a line would be too far from the name at its begin.
const HEADING_COLUMNS: usize = 100;

/// How many communicators are named that took part in calls of the row `*`.
const NAMED_PARTS: usize = 8;

pub fn print(report: &Report, sections: &[Section], terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let tables: Vec<Vec<Vec<String>>> =
        sections.iter().map(|section| section.rows.iter().map(|row| cells(report, row)).collect()).collect();
    let grid = Grid::fit(&COLUMNS, tables.iter().flatten(), terminal);
    let mpi_ns = report.mpi_ns();
    for (section, rows) in sections.iter().zip(&tables) {
        writeln!(out)?;
        heading(section, mpi_ns, terminal, out)?;
        for line in flow(&about(section, terminal), " · ", terminal.columns) {
            writeln!(out, "{line}")?;
        }
        if section.comm.id == SEVERAL_COMMS && !report.involved.is_empty() {
            for line in wrap(&parts(report), terminal.columns) {
                writeln!(out, "{line}")?;
            }
        }
        grid.print(rows, terminal, out)?;
        if section.total.failed > 0 {
            let calls = units::count(section.total.failed as u64, "call");
            let failed = format!("{calls} failed: {}", failures(report, section));
            writeln!(out, "{}", terminal.paint(Paint::Warning, &cut(&failed, terminal.columns)))?;
        }
    }
    if !sections.is_empty() {
        writeln!(out)?;
        remark(LEGEND, terminal, out)?;
    }
    Ok(())
}

/// `── s0.1 "row" ───────────────── 12.3 s  37.1 % ──`
fn heading(section: &Section, mpi_ns: f64, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let share = units::percent(section.total.mpi_ns as f64, mpi_ns);
    let weight = format!("{}  {share} of MPI time", units::time(section.total.mpi_ns));
    let room = terminal.columns.min(HEADING_COLUMNS).saturating_sub(weight.width() + "──  ─  ──".width());
    let name = titled(&section.comm);
    let name = cut(&name, room);
    let rule = "─".repeat(room.saturating_sub(name.width()) + 1);
    writeln!(out, "── {} {} {weight} ──", terminal.paint(Paint::Strong, &name), terminal.paint(Paint::Faint, &rule))
}

/// Where a communicator comes from, who belongs to it, how much went through it.
fn about(section: &Section, terminal: &Terminal) -> Vec<String> {
    let (comm, total) = (&section.comm, &section.total);
    let mut pieces = match comm.id {
        SEVERAL_COMMS => vec!["completion calls over requests of several communicators".to_owned()],
        NO_COMM => vec!["calls that belong to no communicator".to_owned()],
        _ => vec![origin(comm), members(comm, terminal)],
    };
    if comm.freed {
        pieces.push("freed".to_owned());
    }
    if total.bytes_sent > 0 || total.bytes_recv > 0 {
        let (sent, received) = (units::bytes(total.bytes_sent), units::bytes(total.bytes_recv));
        pieces.push(format!("{sent} sent"));
        pieces.push(format!("{received} received"));
    }
    if section.involved_calls > 0 {
        pieces.push(format!("took part in {} of row *", units::count(section.involved_calls as u64, "call")));
    }
    if total.time_ns != total.mpi_ns {
        pieces.push("Init and Finalize are no part of the MPI time".to_owned());
    }
    pieces
}

fn origin(comm: &Communicator) -> String {
    match &comm.parent {
        Some(parent) => format!("{} of {}", creator(comm), visible(parent)),
        None => creator(comm),
    }
}

fn members(comm: &Communicator, terminal: &Terminal) -> String {
    let ranks = comm.ranks.as_deref().map(visible).unwrap_or_default();
    let ranks = cut(&ranks, terminal.columns / 2);
    match comm.size {
        Some(size) if comm.remote_size > 0 => {
            format!("{}+{} ranks: {ranks}", size - comm.remote_size.min(size), comm.remote_size)
        }
        Some(1) => format!("1 rank: {ranks}"),
        Some(size) => format!("{size} ranks: {ranks}"),
        None => String::new(),
    }
}

/// Who took part in the calls of the row `*`.
fn parts(report: &Report) -> String {
    let mut by_comm: BTreeMap<i64, i64> = BTreeMap::new();
    for part in &report.involved {
        let calls = by_comm.entry(part.comm).or_default();
        *calls = calls.saturating_add(part.calls);
    }
    let mut parts: Vec<(i64, i64)> = by_comm.into_iter().collect();
    parts.sort_by_key(|(comm, calls)| (Reverse(*calls), *comm));
    let named = parts.iter().take(NAMED_PARTS).filter_map(|(comm, calls)| {
        let name = &report.catalog.communicators.get(comm)?.name;
        Some(format!("{} in {calls}", visible(name)))
    });
    let rest = match parts.len().saturating_sub(NAMED_PARTS) {
        0 => String::new(),
        more => format!(", and {more} more communicators"),
    };
    format!("took part: {}{rest}", named.collect::<Vec<_>>().join(", "))
}

/// Which operations failed how often.
fn failures(report: &Report, section: &Section) -> String {
    let mut by_name: BTreeMap<String, i64> = BTreeMap::new();
    for row in section.rows.iter().filter(|row| row.failed > 0) {
        let failed = by_name.entry(operation(report, row.op)).or_default();
        *failed = failed.saturating_add(row.failed);
    }
    let words: Vec<String> = by_name.into_iter().map(|(name, failed)| format!("{name} ({failed})")).collect();
    words.join(", ")
}

fn cells(report: &Report, row: &Operations) -> Vec<String> {
    vec![
        operation(report, row.op),
        bucket(report, row.bucket),
        row.calls.to_string(),
        row.ranks.to_string(),
        units::time(row.time_ns),
        units::time(row.rank_max_ns),
        units::time(row.rank_avg_ns()),
        units::time(row.rank_min_ns),
        size(row.bytes_sent),
        size(row.bytes_recv),
    ]
}

pub fn operation(report: &Report, number: i64) -> String {
    operation_name(&report.catalog, number)
}

pub fn bucket(report: &Report, number: i64) -> String {
    bucket_name(&report.catalog, number)
}

/// Most calls carry nothing in one direction: a dash is quieter than `0 B`.
pub fn size(bytes: u64) -> String {
    if bytes == 0 { "-".to_owned() } else { units::bytes(bytes) }
}
