//! A matrix: rows send, columns receive. Where that is too wide, shades, and a list of the heaviest pairs.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::heat::HeatMap;
use super::table;
use crate::document::{Document, Drawing, Table};
use crate::text::escape::{cut, visible};
use crate::text::terminal::{Paint, Terminal};

const INDENT: usize = 2;

pub struct Matrix {
    pub title: String,
    /// What rows and columns are called.
    pub ends: Vec<String>,
    /// Row, column, and how much.
    pub cells: Vec<(usize, usize, u64)>,
    /// Cells with a `~`: not all of it is known.
    pub marked: BTreeSet<(usize, usize)>,
    /// The heaviest, one by one.
    pub list: Table,
    /// The list is wanted, even if there is room for the matrix.
    pub is_listed: bool,
    /// How much the list leaves out.
    pub more: Option<String>,
    pub legend: String,
}

/// One below the other.
pub struct Matrices(pub Vec<Matrix>);

impl Drawing for Matrices {
    fn draw(&self, document: &Document, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
        table::head(&document.head, terminal, out)?;
        self.0.iter().try_for_each(|matrix| matrix.draw(terminal, out))
    }
}

impl Matrix {
    fn draw(&self, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out)?;
        let title = visible(&self.title);
        writeln!(out, "{}", terminal.paint(Paint::Strong, &cut(&title, terminal.columns)))?;
        let digits = [Digits::Two, Digits::One].into_iter();
        // A column takes two characters at least: no need to lay out what cannot fit.
        let fitting = digits.filter(|_| !self.is_listed && 2 * self.ends.len() <= terminal.columns);
        let mut squares = fitting.map(|digits| Square::of(self, digits));
        match squares.find(|square| square.columns() <= terminal.columns) {
            Some(square) => {
                square.print(terminal, out)?;
                writeln!(out)?;
            }
            None => {
                if !self.is_listed {
                    self.shades(terminal, out)?;
                }
                table::rows(&self.list, terminal, out)?;
                writeln!(out)?;
                if let Some(more) = &self.more {
                    table::lines(more, Paint::Warning, terminal, out)?;
                }
            }
        }
        table::lines(&self.legend, Paint::Faint, terminal, out)
    }

    /// Where there is no room for numbers.
    fn shades(&self, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
        let ends: Vec<String> = self.ends.iter().map(|end| visible(end).into_owned()).collect();
        let Some(map) = HeatMap::of(&ends, &self.cells, terminal.columns) else { return Ok(()) };
        let mut lines = map.lines.iter();
        lines.next().map_or(Ok(()), |ticks| writeln!(out, "{}", terminal.paint(Paint::Faint, ticks)))?;
        lines.try_for_each(|line| writeln!(out, "{line}"))?;
        let edges: Vec<String> =
            map.edges.iter().map(|(shade, edge)| format!("{shade} up to {}", short(*edge, Digits::Two))).collect();
        let (rows, columns) = map.of_a_character;
        let each = format!("{}. A character is the sum of {rows} rows and {columns} columns.", edges.join(", "));
        table::lines(&each.replace(" and 1 columns", " and 1 column"), Paint::Faint, terminal, out)?;
        writeln!(out)
    }
}

/// How exact numbers are in a matrix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Digits {
    Two,
    One,
}

/// The whole matrix as text.
struct Square {
    ends: Vec<String>,
    cells: HashMap<(usize, usize), String>,
    label: usize,
    widths: Vec<usize>,
}

impl Square {
    fn of(matrix: &Matrix, digits: Digits) -> Square {
        let mark = |cell: &(usize, usize)| if matrix.marked.contains(cell) { "~" } else { "" };
        let text = |cell, weight| (cell, format!("{}{}", mark(&cell), short(weight, digits)));
        let cells = matrix.cells.iter().map(|(row, column, weight)| text((*row, *column), *weight));
        let cells: HashMap<(usize, usize), String> = cells.collect();
        let ends: Vec<String> = matrix.ends.iter().map(|end| visible(end).into_owned()).collect();
        let mut widths: Vec<usize> = ends.iter().map(|end| end.width()).collect();
        let label = widths.iter().copied().max().unwrap_or(0);
        for ((_, column), text) in &cells {
            widths[*column] = text.width().max(widths[*column]);
        }
        Square { ends, cells, label, widths }
    }

    fn columns(&self) -> usize {
        INDENT + self.label + self.widths.iter().map(|width| width + 1).sum::<usize>()
    }

    fn print(&self, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
        let line = |label: &str, cells: &mut dyn Iterator<Item = String>| {
            let mut line = format!("{:INDENT$}{label:>1$}", "", self.label);
            for (text, width) in cells.zip(&self.widths) {
                line += &format!(" {text:>width$}");
            }
            line
        };
        let titles = line("", &mut self.ends.iter().cloned());
        writeln!(out, "{}", terminal.paint(Paint::Faint, &titles))?;
        for (row, name) in self.ends.iter().enumerate() {
            let cell = |column| self.cells.get(&(row, column)).cloned().unwrap_or_else(|| "-".to_owned());
            writeln!(out, "{}", line(name, &mut (0..self.ends.len()).map(cell)))?;
        }
        Ok(())
    }
}

/// `512`, `1.5K`, `12M`, `340G`: at most four characters; or three: `2K`, `.3M`, `12M`.
fn short(quantity: u64, digits: Digits) -> String {
    if quantity < 1000 {
        return quantity.to_string();
    }
    let mut value = quantity as f64 / 1024.0;
    let mut units = "KMGTPE".chars();
    let mut unit = units.next().unwrap_or('K');
    // What would take a fourth digit, or in the short form a third one, belongs to the next unit.
    let limit = if digits == Digits::Two { 999.5 } else { 99.5 };
    while value >= limit {
        value /= 1024.0;
        unit = units.next().unwrap_or('?');
    }
    match digits {
        _ if value >= 9.95 => format!("{value:.0}{unit}"),
        Digits::Two => format!("{value:.1}{unit}"),
        Digits::One if value < 0.95 => format!("{value:.1}{unit}").trim_start_matches('0').to_owned(),
        Digits::One => format!("{value:.0}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_matrix_are_short() {
        let texts =
            |digits| [0, 999, 1000, 1536, 10 << 10, 1 << 20, 300 << 20, 1 << 40, u64::MAX].map(|n| short(n, digits));
        assert_eq!(texts(Digits::Two), ["0", "999", "1.0K", "1.5K", "10K", "1.0M", "300M", "1.0T", "16E"]);
        assert_eq!(texts(Digits::One), ["0", "999", "1K", "2K", "10K", "1M", ".3G", "1T", "16E"]);
        for quantity in (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + (1 << bit) / 3]) {
            assert!(short(quantity, Digits::Two).len() <= 4 && short(quantity, Digits::One).len() <= 3, "{quantity}");
        }
    }
}
