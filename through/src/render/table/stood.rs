//! Where every rank stood, one line per place.

use std::io::{self, Write};

use super::operations::operation;
use super::remark;
use super::words::titled;
use crate::escape::visible;
use crate::query::hosts::{compact, hosts};
use crate::query::standing::{Group, Place};
use crate::render::grid::{Column, Grid, number, text};
use crate::report::Report;
use crate::terminal::{Paint, Terminal};
use crate::units;

const FOR: Column = number("for");
const COLUMNS: [Column; 7] = [
    text("where"),
    text("communicator"),
    text("ranks"),
    text("hosts"),
    number("threads").optional(1),
    number("since"),
    text("not in it"),
];
/// Where the column of durations stands, of a job that goes on.
const FOR_PLACE: usize = 6;

/// Longer lists of hosts are counted: the other columns need the room.
const HOSTS_WIDTH: usize = 18;

const LEGEND: &str = "Since: the run time at which the first and the last rank got there; (in the program): at which it left its \
     last MPI call. Not in it: members of the communicator that are not in this collective call. Calls that have not returned \
     are in no other number.";

/// Beside the default view no more places are listed.
const SHOWN: usize = 12;

pub fn print(report: &Report, groups: &[Group], terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    lines(report, groups, groups.len(), terminal, out)?;
    writeln!(out)?;
    remark(LEGEND, terminal, out)
}

/// Above the default view, where a job did not finish.
pub fn print_above(report: &Report, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    if report.stood.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    writeln!(out, "{}", terminal.paint(Paint::Strong, "where every rank stood"))?;
    lines(report, &report.stood, SHOWN, terminal, out)
}

/// The first groups, and how many more there are.
pub fn lines(
    report: &Report,
    groups: &[Group],
    most: usize,
    terminal: &Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut columns = COLUMNS.to_vec();
    let goes_on = report.catalog.processes.iter().any(|process| process.state == "running")
        // Of ranks on other hosts alone nobody can tell here.
        && groups.iter().any(|group| group.for_ns.is_some());
    if goes_on {
        columns.insert(FOR_PLACE, FOR);
    }
    let has_threads = groups.iter().any(|group| group.threads > group.ranks.count());
    let has_absent = groups.iter().any(|group| !group.absent.is_empty());
    let has_hosts = groups.iter().any(|group| !hosts(&report.catalog, &group.ranks).is_empty());
    let is_shown = |column: &Column| match column.title {
        "hosts" => has_hosts,
        "threads" => has_threads,
        "not in it" => has_absent,
        _ => true,
    };
    let shown: Vec<bool> = columns.iter().map(is_shown).collect();
    let keep = |cells: Vec<String>| cells.into_iter().zip(&shown).filter_map(|(cell, shown)| shown.then_some(cell));
    let rows: Vec<Vec<String>> =
        groups.iter().take(most).map(|group| keep(cells(report, group, goes_on)).collect()).collect();
    let columns: Vec<Column> =
        columns.into_iter().zip(&shown).filter_map(|(column, shown)| shown.then_some(column)).collect();
    Grid::fit(&columns, rows.iter(), terminal).print(&rows, terminal, out)?;
    if groups.len() > most {
        writeln!(out, "  and {}: through --stood", units::count((groups.len() - most) as u64, "more place"))?;
    }
    Ok(())
}

fn cells(report: &Report, group: &Group, goes_on: bool) -> Vec<String> {
    let comm = match group.place {
        Place::Call { comm, .. } => report.catalog.communicators.get(&comm).map(titled).unwrap_or_default(),
        _ => String::new(),
    };
    let where_ = match group.place {
        Place::Call { op, .. } => operation(report, op),
        Place::Program => "(in the program)".to_owned(),
        Place::Unknown => "(counting paused)".to_owned(),
        Place::Finished => "(finished)".to_owned(),
        Place::Missing => "(no shard)".to_owned(),
    };
    let since = match group.since_ns {
        None => String::new(),
        Some((first, last)) => match (units::precise_time(first), units::precise_time(last)) {
            (first, last) if first == last => first,
            (first, last) => format!("{first} to {last}"),
        },
    };
    let on = hosts(&report.catalog, &group.ranks);
    let on = match compact(&on) {
        list if list.len() <= HOSTS_WIDTH => visible(&list).into_owned(),
        _ => units::count(on.len() as u64, "host"),
    };
    let (ranks, threads, absent) = (group.ranks.to_string(), group.threads.to_string(), group.absent.to_string());
    let mut cells = vec![where_, comm, ranks, on, threads, since, absent];
    if goes_on {
        cells.insert(FOR_PLACE, group.for_ns.map(units::time).unwrap_or_default());
    }
    cells
}
