//! Lays out a table so that it fits: without columns that may be left out, then closer together, then with shorter texts.

use std::fmt::{Display, Write as _};
use std::io::{self, Write};

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use unicode_width::UnicodeWidthStr;

use crate::text::escape::cut;
use crate::text::terminal::{Paint, Terminal};

pub const INDENT: usize = 2;
/// Between columns, and where there is little room.
const GAPS: [usize; 2] = [2, 1];
/// Columns of this rank or lower stay if standing closer together helps.
const CLOSE_RANK: u8 = 1;
/// Below this no text is cut, even if lines become too long.
const LEAST_TEXT: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Flush right, never cut.
    Number,
    /// Flush left, cut where there is no room.
    Text,
    /// Flush left, never cut.
    Whole,
}

#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub title: &'static str,
    pub kind: Kind,
    /// 0: always there. Of the others the highest goes first where there is no room.
    pub rank: u8,
}

/// The columns of one or several tables that are to stand exactly below each other.
pub struct Grid {
    columns: Vec<Column>,
    /// Without the gap; `None` where the column is left out.
    widths: Vec<Option<usize>>,
    gap: usize,
}

impl Grid {
    pub fn of(columns: &[Column], Widths(natural): &Widths, terminal: &Terminal) -> Grid {
        let room = terminal.columns.saturating_sub(INDENT);
        let total = |limit: u8, gap: usize| {
            let shown = columns.iter().zip(natural).filter(|(column, _)| column.rank <= limit);
            shown.map(|(_, width)| width + gap).sum::<usize>().saturating_sub(gap)
        };
        let ranks = columns.iter().map(|column| column.rank).max().unwrap_or(0);
        let layouts = (0..=ranks).rev().flat_map(|limit| GAPS.map(|gap| (limit, gap)));
        let (limit, gap) = layouts
            .filter(|(limit, gap)| *gap == GAPS[0] || *limit <= CLOSE_RANK)
            .find(|(limit, gap)| total(*limit, *gap) <= room)
            .unwrap_or((0, GAPS[1]));
        let mut widths: Vec<Option<usize>> =
            columns.iter().zip(natural).map(|(column, width)| (column.rank <= limit).then_some(*width)).collect();
        let mut excess = total(limit, gap).saturating_sub(room);
        while excess > 0 {
            let texts = columns.iter().zip(&mut widths).filter(|(column, _)| column.kind == Kind::Text);
            let longest = texts.filter_map(|(_, width)| width.as_mut()).max();
            match longest {
                Some(width) if *width > LEAST_TEXT => *width -= 1,
                _ => break,
            }
            excess -= 1;
        }
        Grid { columns: columns.to_vec(), widths, gap }
    }

    /// The titles of columns that found no room.
    pub fn left_out(&self) -> impl Iterator<Item = &'static str> {
        self.columns.iter().zip(&self.widths).filter(|(_, width)| width.is_none()).map(|(column, _)| column.title)
    }

    /// One row as a line. There may be millions of them: the memory of a line is used again.
    pub fn write_line(&self, row: &Row, line: &mut String) {
        line.clear();
        line.extend(std::iter::repeat_n(' ', INDENT));
        let shown = self.columns.iter().zip(&self.widths).zip(row.cells());
        for ((column, width), (text, text_width)) in
            shown.filter_map(|((column, width), cell)| Some(((column, (*width)?), cell)))
        {
            let (text, text_width) =
                if text_width > width { (cut(text, width), width) } else { (text.into(), text_width) };
            let blank = std::iter::repeat_n(' ', width - text_width.min(width));
            if column.kind == Kind::Number {
                line.extend(blank);
                line.push_str(&text);
            } else {
                line.push_str(&text);
                line.extend(blank);
            }
            line.extend(std::iter::repeat_n(' ', self.gap));
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
    }

    /// The line above the rows.
    pub fn print_titles(&self, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        let shown = || self.columns.iter().zip(&self.widths).filter_map(|(column, width)| Some((column, (*width)?)));
        table.add_row(shown().map(|(column, width)| Cell::new(cut(column.title, width))).collect::<Vec<_>>());
        for ((column, width), laid_out) in shown().zip(table.column_iter_mut()) {
            laid_out.set_padding((0, self.gap as u16));
            laid_out.set_constraint(ColumnConstraint::Absolute(Width::Fixed((width + self.gap) as u16)));
            if column.kind == Kind::Number {
                laid_out.set_cell_alignment(CellAlignment::Right);
            }
        }
        for line in table.lines() {
            writeln!(out, "{:INDENT$}{}", "", terminal.paint(Paint::Faint, line.trim_end()))?;
        }
        Ok(())
    }
}

/// How wide the widest text of each column is.
pub struct Widths(Vec<usize>);

impl Widths {
    pub fn of(columns: &[Column]) -> Widths {
        Widths(columns.iter().map(|column| column.title.width()).collect())
    }

    pub fn add_row(&mut self, row: &Row) {
        self.0.iter_mut().zip(row.cells()).for_each(|(width, (_, text_width))| *width = text_width.max(*width));
    }
}

/// The texts of a row, one after the other in memory that is used again for the next.
#[derive(Default)]
pub struct Row {
    text: String,
    /// Where each text ends, and its width.
    ends: Vec<(usize, usize)>,
}

impl Row {
    pub fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// Adds a cell that is text already.
    pub fn push_text(&mut self, text: &str) {
        self.text.push_str(text);
        let width = if text.is_ascii() { text.len() } else { text.width() };
        self.ends.push((self.text.len(), width));
    }

    /// Adds a cell.
    pub fn push(&mut self, text: impl Display) {
        let start = self.text.len();
        // Writing into memory does not fail.
        let _ = write!(self.text, "{text}");
        let added = &self.text[start..];
        let width = if added.is_ascii() { added.len() } else { added.width() };
        self.ends.push((self.text.len(), width));
    }

    fn cells(&self) -> impl Iterator<Item = (&str, usize)> {
        let starts = [0].into_iter().chain(self.ends.iter().map(|(end, _)| *end));
        starts.zip(&self.ends).map(|(start, (end, width))| (&self.text[start..*end], *width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(columns: usize, texts: &[&str]) -> String {
        let column = |title, kind, rank| Column { title, kind, rank };
        let shape = [column("name", Kind::Text, 0), column("calls", Kind::Number, 0), column("extra", Kind::Number, 2)];
        let terminal = Terminal { columns, rows: None, is_coloured: false };
        let mut row = Row::default();
        texts.iter().for_each(|text| row.push(text));
        let mut widths = Widths::of(&shape);
        widths.add_row(&row);
        let grid = Grid::of(&shape, &widths, &terminal);
        let (mut out, mut line) = (Vec::new(), String::new());
        grid.print_titles(&terminal, &mut out).unwrap();
        grid.write_line(&row, &mut line);
        String::from_utf8(out).unwrap() + &line
    }

    #[test]
    fn columns_go_and_gaps_close_before_texts_are_cut() {
        let rows = ["a long name indeed", "12", "7"];
        assert_eq!(print(40, &rows), "  name                calls  extra\n  a long name indeed     12      7\n");
        assert_eq!(print(28, &rows), "  name                calls\n  a long name indeed     12\n");
        assert_eq!(print(26, &rows), "  name               calls\n  a long name indeed    12\n");
        assert_eq!(print(20, &rows), "  name         calls\n  a long name…    12\n");
    }
}
