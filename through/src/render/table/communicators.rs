//! Time per communicator, one line each.

use std::io::{self, Write};

use super::operations::size;
use super::remark;
use super::words::{creator, titled};
use crate::escape::{cut, visible};
use crate::query::communicators::Spread;
use crate::render::grid::{Column, Grid, number, text};
use crate::report::{Report, Section};
use crate::terminal::Terminal;
use crate::units;

const COLUMNS: [Column; 12] = [
    text("communicator"),
    text("made by"),
    number("size"),
    text("ranks").optional(2),
    number("calls").optional(5),
    number("time"),
    number("share"),
    number("max"),
    number("avg"),
    number("min").optional(3),
    number("sent").optional(4),
    number("received").optional(4),
];

const LEGEND: &str = "Time is the sum over the ranks without MPI_Init and MPI_Finalize, and its share that of the MPI time; \
     max, avg and min are over the ranks that called.";

/// A list of ranks that is longer is cut even where there is room.
const RANKS_COLUMNS: usize = 24;

pub fn print(report: &Report, sections: &[Section], terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let mpi_ns = report.mpi_ns();
    let rows: Vec<Vec<String>> = sections.iter().map(|section| cells(section, mpi_ns)).collect();
    writeln!(out)?;
    Grid::fit(&COLUMNS, rows.iter(), terminal).print(&rows, terminal, out)?;
    writeln!(out)?;
    remark(LEGEND, terminal, out)?;
    for special in sections.iter().filter(|section| section.comm.is_special()) {
        remark(special_row(&special.comm.name), terminal, out)?;
    }
    Ok(())
}

fn special_row(name: &str) -> &'static str {
    match name {
        "*" => "*: completion calls over requests of several communicators.",
        _ => "-: calls that belong to no communicator.",
    }
}

fn cells(section: &Section, mpi_ns: f64) -> Vec<String> {
    let (comm, total) = (&section.comm, &section.total);
    let ranks = comm.ranks.as_deref().map(visible).unwrap_or_default();
    vec![
        titled(comm),
        creator(comm),
        comm.size.map(|size| size.to_string()).unwrap_or_default(),
        cut(&ranks, RANKS_COLUMNS).into_owned(),
        total.calls.to_string(),
        units::time(total.mpi_ns),
        units::percent(total.mpi_ns as f64, mpi_ns),
        spread(section.spread, |spread| units::time(spread.rank_max_ns)),
        spread(section.spread, |spread| units::time(spread.rank_avg_ns())),
        spread(section.spread, |spread| units::time(spread.rank_min_ns)),
        size(total.bytes_sent),
        size(total.bytes_recv),
    ]
}

/// How a time spreads, where the profile knows it.
pub fn spread(spread: Option<Spread>, shown: impl Fn(Spread) -> String) -> String {
    spread.map_or_else(|| "-".to_owned(), shown)
}
