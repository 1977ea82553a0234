//! What is printed on standard error when a job has ended: at most 25 lines.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::table;
use crate::document::{Document, Line};
use crate::text::escape::{cut, visible};
use crate::text::path::{quoted, relative};
use crate::text::terminal::{Paint, Terminal};
use crate::text::units;

const NAME_COLUMNS: usize = 11;
/// Lines of the head that stand below the times.
const BEHIND: [&str; 4] = ["spent in", "findings", "layers", "unlinked"];

pub fn summary(document: &Document, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let head = &document.head;
    let rule = "─".repeat(terminal.columns.saturating_sub("── commsee ".width()));
    writeln!(out, "{}", terminal.paint(Paint::Faint, &format!("── commsee {rule}")))?;
    let mut line = |name: &str, text: &str| {
        let text = visible(text);
        let text = cut(&text, terminal.columns - NAME_COLUMNS);
        writeln!(out, "{}{text}", terminal.paint(Paint::Faint, &format!("{name:<NAME_COLUMNS$}")))
    };
    // What became of the job first, then its times, then where they went.
    let (behind, before) = apart(&head.lines);
    before.iter().try_for_each(|part| line(part.name, &part.text))?;
    let overview = &head.overview;
    let time = units::precise_time;
    let (wall, mpi) = (overview.wall_max, overview.mpi_max);
    let average = time(overview.wall_avg_ns as i64);
    line("run time", &format!("max {} (rank {}), avg {average}", time(wall.ns), wall.rank))?;
    let (average, share) =
        (time(overview.mpi_avg_ns as i64), units::percent(overview.mpi_avg_ns, overview.wall_avg_ns));
    if overview.has_mpi {
        let mpi_time = format!("max {} (rank {}), avg {average}: {share} of the run time", time(mpi.ns), mpi.rank);
        line("MPI time", &mpi_time)?;
    }
    behind.iter().try_for_each(|part| line(part.name, &part.text))?;
    for part in &document.tables {
        writeln!(out)?;
        table::rows(part, terminal, out)?;
    }
    writeln!(out)?;
    let profile = quoted(&relative(&head.path));
    [("More: ", ""), ("      ", "advise "), ("      ", "report ")].into_iter().try_for_each(|(margin, command)| {
        let command = format!("through {command}{profile}");
        writeln!(out, "{margin}{}", terminal.paint(Paint::Strong, &command))
    })
}

/// Lines that stand below the times, and above them. One without a name goes on with the one before it.
fn apart(lines: &[Line]) -> (Vec<&Line>, Vec<&Line>) {
    let mut is_behind = false;
    lines.iter().partition(|line| {
        if !line.name.is_empty() {
            is_behind = BEHIND.contains(&line.name);
        }
        is_behind
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_go_on_stay_with_theirs() {
        let line = |name, text: &str| Line { name, text: text.to_owned(), paint: None };
        let lines = [
            line("profile", "1"),
            line("", "2"),
            line("findings", "3"),
            line("", "4"),
            line("job", "5"),
            line("", "6"),
        ];
        let (behind, before) = apart(&lines);
        let texts = |lines: &[&Line]| lines.iter().map(|line| line.text.clone()).collect::<String>();
        assert_eq!((texts(&behind).as_str(), texts(&before).as_str()), ("34", "1256"));
    }
}
