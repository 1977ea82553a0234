//! What `through run` says on standard error when the job has ended: at most 25 lines.

use std::env;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use unicode_width::UnicodeWidthStr;

use crate::cli::Show;
use crate::escape::{cut, path, visible};
use crate::harvest::Harvest;
use crate::leftovers;
use crate::message::say;
use crate::open::Profile;
use crate::render::grid::{Column, Grid, number, text};
use crate::render::header::linkage;
use crate::render::table::{bucket, operation, stood_lines, titled};
use crate::report::{Body, Report, Section};
use crate::terminal::{Paint, Terminal};
use crate::units;

const COLUMNS: [Column; 6] = [
    text("communicator"),
    number("size"),
    number("time"),
    number("share"),
    text("heaviest operation"),
    number("its time"),
];
const COMMUNICATORS: usize = 8;
/// Where a job did not finish, there stand places in the room of communicators.
const PLACES: usize = 4;
const OTHER_PROFILES: usize = 3;

/// The summary of the first profile; the others are named.
pub fn print(harvest: &Harvest, status: ExitStatus) {
    let profile = &harvest.profiles[0];
    let report = Profile::open(profile).and_then(|profile| Report::make(&profile, &Show::default()));
    match report {
        Ok(report) => _ = write(&report, harvest, status, &Terminal::stderr(), &mut io::stderr()),
        Err(error) => say(error),
    }
}

fn write(
    report: &Report,
    harvest: &Harvest,
    status: ExitStatus,
    terminal: &Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let overview = &report.overview;
    let name = relative(&report.path);
    let rule = "─".repeat(terminal.columns.saturating_sub("── commsee ".width()));
    writeln!(out, "{}", terminal.paint(Paint::Faint, &format!("── commsee {rule}")))?;
    let mut line = |title: &str, value: &str| {
        writeln!(out, "{}{}", terminal.paint(Paint::Faint, &format!("{title:<11}")), cut(value, terminal.columns - 11))
    };
    let hosts = units::count(overview.hosts, "host");
    let ranks = match overview.missing.count() {
        0 => format!("{} on {hosts}", units::count(overview.ranks, "rank")),
        missing => format!("{} of {} ranks recorded, these on {hosts}", overview.ranks, overview.ranks + missing),
    };
    line("job", &format!("{}, {ranks}", ended(status)))?;
    line("profile", &path(&name))?;
    for other in harvest.profiles.iter().skip(1).take(OTHER_PROFILES) {
        line("", &path(&relative(other)))?;
    }
    if !overview.unfinished.is_empty() {
        // Of a job that ended well commsee has said it.
        if let Some(other) = harvest.wanted.parent().filter(|place| Some(*place) != report.path.parent()) {
            line("note", &format!("not in {}, which the hosts may not share", path(other)))?;
        }
        line("note", &format!("recovered: {} ended before MPI_Finalize", leftovers::ranks(&overview.unfinished)))?;
    }
    if !overview.missing.is_empty() {
        line("note", &format!("not in the profile: {}", leftovers::ranks(&overview.missing)))?;
    }
    let time = units::precise_time;
    let share = units::percent(overview.mpi_avg_ns, overview.wall_avg_ns);
    let (wall, mpi) = (overview.wall_max, overview.mpi_max);
    line(
        "run time",
        &format!("max {} (rank {}), avg {}", time(wall.ns), wall.rank, time(overview.wall_avg_ns as i64)),
    )?;
    let average = time(overview.mpi_avg_ns as i64);
    line("MPI time", &format!("max {} (rank {}), avg {average}: {share} of the run time", time(mpi.ns), mpi.rank))?;
    let of_layers = report.layers.as_ref().map(|layers| linkage(layers, &report.catalog)).unwrap_or_default();
    for (name, text) in &of_layers {
        line(name, text)?;
    }
    let mut room = COMMUNICATORS;
    if !report.stood.is_empty() {
        room -= PLACES + 1 + of_layers.len();
        writeln!(out)?;
        stood_lines(report, &report.stood, PLACES, terminal, out)?;
    }
    if let Body::Operations(sections) = &report.body {
        communicators(report, sections, room, terminal, out)?;
    }
    writeln!(out, "More: {}", terminal.paint(Paint::Strong, &format!("through {}", quoted(&name))))
}

fn communicators(
    report: &Report,
    sections: &[Section],
    room: usize,
    terminal: &Terminal,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mpi_ns = report.mpi_ns();
    let all = sections.iter().filter(|section| !section.comm.is_special());
    let rows: Vec<Vec<String>> = all.clone().take(room).map(|section| cells(report, section, mpi_ns)).collect();
    let more = (all.count() + report.hidden).saturating_sub(rows.len());
    if !rows.is_empty() {
        writeln!(out)?;
        Grid::fit(&COLUMNS, rows.iter(), terminal).print(&rows, terminal, out)?;
    }
    if more > 0 {
        writeln!(out, "  and {}", units::count(more as u64, "more communicator"))?;
    }
    writeln!(out)
}

fn cells(report: &Report, section: &Section, mpi_ns: f64) -> Vec<String> {
    let in_span = section.rows.iter().filter(|row| !report.catalog.is_outside_span(row.op));
    let heaviest = in_span.max_by_key(|row| row.time_ns);
    vec![
        titled(&section.comm),
        section.comm.size.map(|size| size.to_string()).unwrap_or_default(),
        units::time(section.total.mpi_ns),
        units::percent(section.total.mpi_ns as f64, mpi_ns),
        heaviest.map(|row| format!("{} {}", operation(report, row.op), bucket(report, row.bucket))).unwrap_or_default(),
        heaviest.map(|row| units::time(row.time_ns)).unwrap_or_default(),
    ]
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => "finished".to_owned(),
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// The path as the user would type it here.
pub fn relative(path: &Path) -> PathBuf {
    let here = env::current_dir().unwrap_or_default();
    path.strip_prefix(here).map(Path::to_owned).unwrap_or_else(|_| path.to_owned())
}

/// The path as one word of a shell.
pub fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |character: char| character.is_alphanumeric() || "/._-+=:,@%".contains(character);
    match text.chars().all(is_plain) {
        true => text.into_owned(),
        false => format!("'{}'", visible(&text).replace('\'', r"'\''")),
    }
}
