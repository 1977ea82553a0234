//! What was done in each phase, one line each.

use std::io::{self, Write};

use super::communicators::spread;
use super::operations::size;
use super::remark;
use crate::escape::visible;
use crate::query::phases::Phase;
use crate::render::grid::{Column, Grid, number, text};
use crate::report::Report;
use crate::terminal::Terminal;
use crate::units;

const COLUMNS: [Column; 10] = [
    text("phase"),
    number("ranks").optional(3),
    number("calls"),
    number("time"),
    number("share"),
    number("max"),
    number("avg"),
    number("min").optional(2),
    number("sent"),
    number("received"),
];

const LEGEND: &str = "Phases stand in the order in which they began. Time is the sum over the ranks without MPI_Init and \
     MPI_Finalize, and its share that of the MPI time; max, avg and min are over the ranks that called. A nonblocking \
     receive belongs to the phase in which it was posted.";

pub fn print(report: &Report, rows: &[Phase], terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let mpi_ns = report.mpi_ns();
    let rows: Vec<Vec<String>> = rows.iter().map(|row| cells(report, row, mpi_ns)).collect();
    writeln!(out)?;
    Grid::fit(&COLUMNS, rows.iter(), terminal).print(&rows, terminal, out)?;
    writeln!(out)?;
    remark(LEGEND, terminal, out)
}

fn cells(report: &Report, row: &Phase, mpi_ns: f64) -> Vec<String> {
    vec![
        title(report, row.phase),
        spread(row.spread, |spread| spread.ranks.to_string()),
        row.calls.to_string(),
        units::time(row.mpi_ns),
        units::percent(row.mpi_ns as f64, mpi_ns),
        spread(row.spread, |spread| units::time(spread.rank_max_ns)),
        spread(row.spread, |spread| units::time(spread.rank_avg_ns())),
        spread(row.spread, |spread| units::time(spread.rank_min_ns)),
        size(row.bytes_sent),
        size(row.bytes_recv),
    ]
}

/// A phase's name; no phase has one with parentheses.
pub fn title(report: &Report, number: i64) -> String {
    match report.catalog.phases.get(&number).map(String::as_str) {
        None | Some("") => "(none)".to_owned(),
        Some(name) => visible(name).into_owned(),
    }
}
