//! One row per communicator, operation, bucket and rank.

use std::io::{self, Write};

use super::operations::{bucket, operation, size};
use super::phases::title;
use super::remark;
use crate::escape::visible;
use crate::query::cells::Cell;
use crate::render::grid::{Column, Grid, number, text};
use crate::report::Report;
use crate::terminal::Terminal;
use crate::units;

const COLUMNS: [Column; 11] = [
    text("comm"),
    text("operation"),
    number("bytes"),
    number("rank"),
    number("calls"),
    number("failed").optional(2),
    number("time"),
    number("shortest").optional(1),
    number("longest").optional(1),
    number("sent"),
    number("received"),
];

const LEGEND: &str = "Time is the sum over a rank's calls; shortest and longest are single calls.";

pub fn print(report: &Report, rows: &[Cell], terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| cells(report, row)).collect();
    let mut columns = COLUMNS.to_vec();
    if report.filter.phases.is_some() {
        columns.insert(PHASE_PLACE, text("phase"));
    }
    writeln!(out)?;
    Grid::fit(&columns, rows.iter(), terminal).print(&rows, terminal, out)?;
    writeln!(out)?;
    remark(LEGEND, terminal, out)
}

/// Where the phase stands if rows are told apart by it.
const PHASE_PLACE: usize = 3;

fn cells(report: &Report, row: &Cell) -> Vec<String> {
    let time = |ns: Option<i64>| ns.map_or_else(|| "-".to_owned(), units::time);
    let comm = report.catalog.communicators.get(&row.comm);
    let mut cells = vec![
        comm.map(|comm| visible(&comm.name).into_owned()).unwrap_or_default(),
        operation(report, row.op),
        bucket(report, row.bucket),
        row.rank.to_string(),
        row.calls.to_string(),
        row.failed.to_string(),
        units::time(row.time_ns),
        time(row.time_min_ns),
        time(row.time_max_ns),
        size(row.bytes_sent),
        size(row.bytes_recv),
    ];
    if let Some(phase) = row.phase {
        cells.insert(PHASE_PLACE, title(report, phase));
    }
    cells
}
