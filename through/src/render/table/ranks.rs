//! Run time and MPI time per rank.

use std::io::{self, Write};

use super::remark;
use crate::escape::visible;
use crate::query::ranks::Rank;
use crate::render::grid::{Column, Grid, number, text};
use crate::report::Report;
use crate::terminal::Terminal;
use crate::units;

const SELECTED: Column = number("shown only");
const COLUMNS: [Column; 6] =
    [number("rank"), text("host"), number("run time"), number("MPI time"), number("MPI share"), text("")];

const LEGEND: &str = "Run time is from the end of MPI_Init to the begin of MPI_Finalize; MPI time is the part of it inside of \
     MPI calls.";

/// Columns of a bar that stands for the whole run time.
const BAR_COLUMNS: usize = 20;

pub fn print(report: &Report, rows: &[Rank], terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let is_filtered = report.filter.selects_cells();
    let rows: Vec<Vec<String>> = rows.iter().map(|row| cells(row, is_filtered)).collect();
    let mut columns = COLUMNS.to_vec();
    if is_filtered {
        columns.insert(COLUMNS.len() - 1, SELECTED);
    }
    writeln!(out)?;
    Grid::fit(&columns, rows.iter(), terminal).print(&rows, terminal, out)?;
    writeln!(out)?;
    remark(LEGEND, terminal, out)
}

fn cells(row: &Rank, is_filtered: bool) -> Vec<String> {
    let process = &row.process;
    let mut cells = vec![
        process.rank.to_string(),
        visible(&process.host).into_owned(),
        units::precise_time(process.wall_ns),
        units::precise_time(process.mpi_ns),
        units::percent(process.mpi_ns as f64, process.wall_ns as f64),
    ];
    if is_filtered {
        cells.push(units::precise_time(row.selected_ns));
    }
    cells.push(bar(process.mpi_ns, process.wall_ns));
    cells
}

/// A bar in eighths of a column.
fn bar(part: i64, whole: i64) -> String {
    if whole <= 0 {
        return String::new();
    }
    let eighths = (part as f64 / whole as f64 * (8 * BAR_COLUMNS) as f64).round().clamp(0.0, (8 * BAR_COLUMNS) as f64);
    let (full, rest) = (eighths as usize / 8, eighths as usize % 8);
    let last = [None, Some('▏'), Some('▎'), Some('▍'), Some('▌'), Some('▋'), Some('▊'), Some('▉')][rest];
    "█".repeat(full).chars().chain(last).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn bars_have_eighths() {
        assert_eq!(super::bar(1, 2), "██████████");
        assert_eq!(super::bar(1, 160), "▏");
        assert_eq!(super::bar(3, 0), "");
        assert_eq!(super::bar(9, 3).chars().count(), 20);
    }
}
