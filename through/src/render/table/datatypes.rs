//! Which datatypes each operation was given, one line each.

use std::io::{self, Write};

use super::operations::{operation, size};
use super::remark;
use crate::escape::visible;
use crate::query::datatypes::Use;
use crate::render::grid::{Column, Grid, number, text};
use crate::report::Report;
use crate::terminal::Terminal;
use crate::units;

const COLUMNS: [Column; 8] = [
    text("comm"),
    text("operation"),
    text("datatype"),
    text("gaps"),
    number("ranks").optional(2),
    number("calls"),
    number("bytes"),
    number("a call").optional(1),
];

const LEGEND: &str = "Calls are datatype arguments, over all ranks: a call may have two. Bytes are what these arguments describe; \
     of a receive that is its buffer, even if less arrived.";

pub fn print(report: &Report, rows: &[Use], terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let rows: Vec<Vec<String>> = rows.iter().map(|row| cells(report, row)).collect();
    writeln!(out)?;
    Grid::fit(&COLUMNS, rows.iter(), terminal).print(&rows, terminal, out)?;
    writeln!(out)?;
    remark(LEGEND, terminal, out)
}

fn cells(report: &Report, row: &Use) -> Vec<String> {
    let comm = report.catalog.communicators.get(&row.comm);
    vec![
        comm.map(|comm| visible(&comm.name).into_owned()).unwrap_or_default(),
        operation(report, row.op),
        visible(&row.datatype).into_owned(),
        if row.contiguous { "no" } else { "yes" }.to_owned(),
        row.ranks.map_or_else(|| "-".to_owned(), |ranks| ranks.to_string()),
        row.calls.to_string(),
        size(row.bytes),
        units::bytes(row.bytes / row.calls.max(1) as u64),
    ]
}
