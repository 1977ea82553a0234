//! One row per communicator, operation, bucket and rank.

use std::io::{self, Write};

use super::operations::{bucket, operation, size};
use super::phases::title;
use super::remark;
use crate::escape::visible;
use crate::query::catalog::Detail;
use crate::query::cells::{Cell, Cells, Key};
use crate::render::grid::{Column, Grid, Row, number, text};
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

pub fn print(report: &Report, cells: &Cells, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let mut columns = COLUMNS.to_vec();
    if report.catalog.detail == Detail::Node {
        columns[RANK_PLACE].title = "node";
    }
    if report.filter.phases.is_some() {
        columns.insert(RANK_PLACE, text("phase"));
    }
    let keys: Vec<Texts> = cells.groups.iter().map(|key| texts(report, key)).collect();
    writeln!(out)?;
    let make = |number: usize, row: &mut Row| {
        let cell = &cells.rows[number];
        fill(&keys[cell.group()], cell, row);
    };
    Grid::stream(&columns, cells.rows.len(), make, terminal, out)?;
    writeln!(out)?;
    remark(LEGEND, terminal, out)
}

const RANK_PLACE: usize = 3;

/// What is written alike in all rows of a group.
struct Texts {
    comm: String,
    operation: String,
    bucket: String,
    /// If rows are told apart by it.
    phase: Option<String>,
}

fn texts(report: &Report, key: &Key) -> Texts {
    let comm = report.catalog.communicators.get(&key.comm);
    Texts {
        comm: comm.map(|comm| visible(&comm.name).into_owned()).unwrap_or_default(),
        operation: operation(report, key.op),
        bucket: bucket(report, key.bucket),
        phase: key.phase.map(|phase| title(report, phase)),
    }
}

fn fill(texts: &Texts, cell: &Cell, row: &mut Row) {
    row.push(&texts.comm);
    row.push(&texts.operation);
    row.push(&texts.bucket);
    if let Some(phase) = &texts.phase {
        row.push(phase);
    }
    match cell.rank() {
        Some(rank) => row.push(rank),
        None => row.push(""),
    }
    row.push(cell.calls);
    row.push(cell.failed);
    row.push(units::time(cell.time_ns));
    for single_ns in [cell.time_min_ns, cell.time_max_ns] {
        match single_ns {
            Some(ns) => row.push(units::time(ns)),
            None => row.push("-"),
        }
    }
    row.push(size(cell.bytes_sent));
    row.push(size(cell.bytes_recv));
}
