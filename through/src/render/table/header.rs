//! The lines above every table: which program, how long it ran, how much of that was MPI.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use crate::document::{Head, Subject};
use crate::query::overview::{Overview, Peak};
use crate::render::words::wrap;
use crate::text::escape::{cut, path, visible};
use crate::text::terminal::{Paint, Terminal};
use crate::text::units;

const NAME_COLUMNS: usize = 11;

pub fn header(head: &Head, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let mut line = |name: &str, text: &str, paint: Option<Paint>| {
        let text = cut(text, terminal.columns.saturating_sub(NAME_COLUMNS));
        let text = paint.map_or(text.clone(), |paint| terminal.paint(paint, &text).into_owned().into());
        writeln!(out, "{}{text}", terminal.paint(Paint::Faint, &format!("{name:<NAME_COLUMNS$}")))
    };
    line(head.subject.title(), &path(&head.path), Some(Paint::Strong))?;
    for part in &head.lines {
        let (text, room) = (visible(&part.text), terminal.columns.saturating_sub(NAME_COLUMNS));
        // What is said in words is told to its end; what the run is called may be cut.
        match part.paint {
            Some(_) if text.width() > room => {
                let lines = wrap(&text, room);
                let names = [part.name].into_iter().chain(std::iter::repeat(""));
                names.zip(lines).try_for_each(|(name, text)| line(name, &text, part.paint))?;
            }
            paint => line(part.name, &text, paint)?,
        }
    }
    if !head.filters.is_empty() {
        line("shown only", &visible(&head.filters.join(", ")), Some(Paint::Strong))?;
    }
    if head.subject != Subject::Profile {
        return Ok(());
    }
    writeln!(out)?;
    overall(&head.overview, terminal, out)
}

/// Maximum and average of run time and MPI time.
fn overall(overview: &Overview, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let with_rank = |peak: Peak| format!("{} (rank {})", units::precise_time(peak.ns), peak.rank);
    let time = |ns: f64| units::precise_time(ns.round() as i64);
    let rows = [
        ("", "run time".to_owned(), "MPI time".to_owned(), "MPI share of run time".to_owned()),
        ("maximum", with_rank(overview.wall_max), with_rank(overview.mpi_max), units::percent(overview.share_max, 1.0)),
        (
            "average",
            time(overview.wall_avg_ns),
            time(overview.mpi_avg_ns),
            units::percent(overview.mpi_avg_ns, overview.wall_avg_ns),
        ),
    ];
    for (number, (name, wall, mpi, share)) in rows.iter().enumerate() {
        let (mpi, share) = if overview.has_mpi { (mpi.as_str(), share.as_str()) } else { ("", "") };
        let name = terminal.paint(Paint::Faint, &format!("{name:<NAME_COLUMNS$}")).into_owned();
        let values = format!("{wall:<20}  {mpi:<20}  {share}").trim_end().to_owned();
        let values = if number == 0 { terminal.paint(Paint::Faint, &values) } else { values.as_str().into() };
        writeln!(out, "{name}{values}")?;
    }
    Ok(())
}
