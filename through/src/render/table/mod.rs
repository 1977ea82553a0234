//! Tables for people, as wide as the terminal. One file per view.

mod cells;
mod communicators;
mod datatypes;
mod layers;
mod operations;
mod pairs;
mod phases;
mod ranks;
mod stood;
mod words;

use std::io::{self, Write};

use super::header::{Head, header};
pub use layers::print as layers;
pub use operations::{bucket, operation};
pub use pairs::print as pairs;
pub use stood::lines as stood_lines;
pub use words::titled;

use crate::report::{Body, Report};
use crate::terminal::{Paint, Terminal};

pub fn table(report: &Report, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    header(&Head::of(report), terminal, out)?;
    let entries = match &report.body {
        Body::Operations(sections) => {
            stood::print_above(report, terminal, out)?;
            operations::print(report, sections, terminal, out)?;
            "communicators"
        }
        Body::Cells(rows) => {
            cells::print(report, rows, terminal, out)?;
            "rows"
        }
        Body::Communicators(sections) => {
            communicators::print(report, sections, terminal, out)?;
            "communicators"
        }
        Body::Phases(rows) => {
            phases::print(report, rows, terminal, out)?;
            "phases"
        }
        Body::Datatypes(rows) => {
            datatypes::print(report, rows, terminal, out)?;
            "rows"
        }
        Body::Stood(groups) => {
            stood::print(report, groups, terminal, out)?;
            "places"
        }
        Body::Ranks(rows) => {
            ranks::print(report, rows, terminal, out)?;
            "ranks"
        }
    };
    if report.hidden > 0 {
        writeln!(out)?;
        more(report.hidden, entries, terminal, out)?;
    }
    Ok(())
}

/// How much was left out.
fn more(hidden: usize, entries: &str, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let what = match hidden {
        1 => format!("1 more {} is", entries.trim_end_matches('s')),
        _ => format!("{hidden} more {entries} are"),
    };
    let more = format!("{what} not shown: --top N shows N of them, --top 0 all.");
    for line in words::wrap(&more, terminal.columns) {
        writeln!(out, "{}", terminal.paint(Paint::Warning, &line))?;
    }
    Ok(())
}

/// Remarks below or above a table, broken between words.
fn remark(text: &str, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    for line in words::wrap(text, terminal.columns) {
        writeln!(out, "{}", terminal.paint(Paint::Faint, &line))?;
    }
    Ok(())
}
