//! Tables for people, as wide as the terminal.

pub mod grid;
mod header;
mod text;

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::words::{flow, wrap};
use crate::document::{Document, Heading, Row, Section, Table};
use crate::text::escape::{cut, visible};
use crate::text::terminal::{Paint, Terminal};
use crate::text::units;
use grid::{Column, Grid, Kind};
pub use header::header as head;

/// On a wide terminal the numbers at the end of a line would be too far from the name at its begin.
const HEADING_COLUMNS: usize = 100;

pub fn table(document: &Document, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    head(&document.head, terminal, out)?;
    tables(document, terminal, out)
}

pub fn tables(document: &Document, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let shown = document.tables.iter().filter(|table| table.audience.table);
    let (above, below): (Vec<&Table>, Vec<&Table>) = shown.partition(|table| table.is_above);
    let mut remarks = [more(document), document.left_out.clone()];
    for table in above.iter().chain(&below) {
        print(table, terminal, out)?;
        if !table.is_above {
            for remark in remarks.iter_mut().filter_map(Option::take) {
                writeln!(out)?;
                lines(&remark, Paint::Warning, terminal, out)?;
            }
        }
    }
    Ok(())
}

/// How much was left out.
fn more(document: &Document) -> Option<String> {
    let (hidden, entries) = (document.hidden, document.entries);
    let what = match hidden {
        0 => return None,
        1 => format!("1 more {} is", units::one_of(entries)),
        _ => format!("{hidden} more {entries} are"),
    };
    Some(format!("{what} not shown: --top N shows N of them, --top 0 all."))
}

/// Broken between words.
pub fn lines(text: &str, paint: Paint, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    wrap(text, terminal.columns).iter().try_for_each(|line| writeln!(out, "{}", terminal.paint(paint, line)))
}

/// A table with all that is said around it.
pub fn print(table: &Table, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    if table.sections.is_empty() {
        writeln!(out)?;
        if let Some(title) = table.title {
            writeln!(out, "{}", terminal.paint(Paint::Strong, title))?;
        }
    }
    let left_out = rows(table, terminal, out)?;
    for line in &table.after {
        for line in wrap(&visible(line), terminal.columns - grid::INDENT) {
            writeln!(out, "{:1$}{line}", "", grid::INDENT)?;
        }
    }
    // What a column means that is not there would only puzzle.
    let is_of = |legend: &str, title: &str| legend.strip_prefix(title).is_some_and(|rest| rest.starts_with(": "));
    let legend: Vec<&String> =
        table.legend.iter().filter(|legend| !left_out.iter().any(|title| is_of(legend, title))).collect();
    if !legend.is_empty() {
        writeln!(out)?;
    }
    legend.into_iter().try_for_each(|legend| lines(legend, Paint::Faint, terminal, out))
}

/// Rows in columns, each made twice: once to see how wide it is. Returns the titles of columns that found no room.
pub fn rows(table: &Table, terminal: &Terminal, out: &mut dyn Write) -> io::Result<Vec<&'static str>> {
    let most = table.more.map_or(usize::MAX, |more| more.most);
    let columns: Vec<Column> = table.shown.iter().map(|at| column(&table.headings[*at])).collect();
    let mut cells = grid::Row::default();
    let mut fill = Fill::of(table);
    let mut widths = grid::Widths::of(&columns);
    let mut number = 0;
    table.rows.each(&mut |row| {
        number += 1;
        if number <= most {
            fill.fill(row, &mut cells);
            widths.add_row(&cells);
        }
        Ok(())
    })?;
    let all = number;
    if all == 0 && (!table.after.is_empty() || !table.sections.is_empty()) {
        return Ok(Vec::new());
    }
    let grid = Grid::of(&columns, &widths, terminal);
    let mut fill = Fill::of(table);
    let mut sections = table.sections.iter();
    let mut section: Option<(&Section, usize)> = None;
    let mut line = String::new();
    if table.sections.is_empty() {
        grid.print_titles(terminal, out)?;
    }
    let mut number = 0;
    table.rows.each(&mut |row| {
        number += 1;
        if number > most {
            return Ok(());
        }
        if section.is_none()
            && let Some(next) = sections.next()
        {
            writeln!(out)?;
            open(next, terminal, out)?;
            grid.print_titles(terminal, out)?;
            section = Some((next, next.rows));
        }
        fill.fill(row, &mut cells);
        grid.write_line(&cells, &mut line);
        out.write_all(line.as_bytes())?;
        if let Some((open, left)) = &mut section {
            *left -= 1;
            if *left == 0 {
                close(open, terminal, out)?;
                section = None;
            }
        }
        Ok(())
    })?;
    if let Some(more) = table.more.filter(|_| all > most) {
        writeln!(out, "  and {}{}", units::count((all - most) as u64, more.one), more.hint)?;
    }
    Ok(grid.left_out().collect())
}

fn column(heading: &Heading) -> Column {
    let kind = match (heading.unit.is_text(), heading.is_whole) {
        (true, false) => Kind::Text,
        (true, true) => Kind::Whole,
        (false, _) => Kind::Number,
    };
    Column { title: heading.title.unwrap_or_default(), kind, rank: heading.rank }
}

/// Makes the cells of rows.
struct Fill<'a> {
    table: &'a Table,
    /// What columns had last that tell it only once.
    before: Vec<Option<String>>,
}

impl<'a> Fill<'a> {
    fn of(table: &'a Table) -> Fill<'a> {
        Fill { table, before: vec![None; table.shown.len()] }
    }

    fn fill(&mut self, row: &dyn Row, cells: &mut grid::Row) {
        cells.clear();
        for (column, before) in self.table.shown.iter().zip(&mut self.before) {
            let heading = &self.table.headings[*column];
            let value = row.value(*column);
            if !heading.is_once {
                text::push(heading, &value, cells);
                continue;
            }
            let text = text::text(heading, &value);
            if before.as_ref() == Some(&text) {
                cells.push_text("");
            } else {
                cells.push_text(&text);
                *before = Some(text);
            }
        }
    }
}

/// `── s0.1 "row" ───────────────── 12.3 s  37.1 % ──`, and what is to be said of it.
fn open(section: &Section, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let weight = cut(&section.weight, terminal.columns / 2);
    let room = terminal.columns.min(HEADING_COLUMNS).saturating_sub(weight.width() + "──  ─  ──".width());
    let name = cut(&section.name, room);
    let rule = "─".repeat(room.saturating_sub(name.width()) + 1);
    writeln!(out, "── {} {} {weight} ──", terminal.paint(Paint::Strong, &name), terminal.paint(Paint::Faint, &rule))?;
    let pieces: Vec<String> =
        section.about.iter().map(|(text, list)| format!("{text}{}", cut(list, terminal.columns / 2))).collect();
    let lines = flow(&pieces, " · ", terminal.columns).into_iter();
    let more = section.lines.iter().flat_map(|line| wrap(line, terminal.columns));
    lines.chain(more).try_for_each(|line| writeln!(out, "{line}"))
}

fn close(section: &Section, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    if let Some(after) = &section.after {
        writeln!(out, "  {after}")?;
    }
    match &section.warning {
        Some(warning) => writeln!(out, "{}", terminal.paint(Paint::Warning, &cut(warning, terminal.columns))),
        None => Ok(()),
    }
}
