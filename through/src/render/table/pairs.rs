//! Who sent how much to whom: rows send, columns receive. Where that is too wide, the heaviest pairs one by one.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::remark;
use crate::query::flows::Pair;
use crate::query::transfers::End;
use crate::render::grid::{Column, Grid, number, text};
use crate::render::header::header;
use crate::render::pairs::Pairs;
use crate::terminal::{Paint, Terminal};
use crate::units;

const INDENT: usize = 2;
/// Pairs that are listed unless told otherwise.
const SHOWN: usize = 20;

const COLUMNS: [Column; 5] = [text("from"), text("to"), number("bytes"), number("share"), number("calls")];

pub fn print(pairs: &Pairs, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    header(&pairs.head, terminal, out)?;
    writeln!(out)?;
    let what = if pairs.counts { "calls" } else { "bytes" };
    let end = if pairs.ends.are_hosts() { "host" } else { "rank" };
    let title = format!("{what} of {} from {end} (row) to {end} (column)", crate::escape::visible(pairs.layer));
    writeln!(out, "{}", terminal.paint(Paint::Strong, &crate::escape::cut(&title, terminal.columns)))?;
    if pairs.top.is_none() {
        let ends = ends(pairs);
        // A column takes two characters at least: no need to lay out what cannot fit.
        for digits in [Digits::Two, Digits::One].into_iter().filter(|_| 2 * ends.len() <= terminal.columns) {
            let square = Square::of(pairs, &ends, digits);
            if square.columns() <= terminal.columns {
                square.print(terminal, out)?;
                writeln!(out)?;
                return legend(pairs, terminal, out);
            }
        }
    }
    list(pairs, terminal, out)?;
    legend(pairs, terminal, out)
}

fn legend(pairs: &Pairs, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let is_there = |end| pairs.pairs.iter().any(|pair| pair.from == end || pair.to == end);
    let mut words = vec!["K, M, G, T are powers of 1024."];
    if pairs.head.catalog.ways.values().any(|way| way.layer == pairs.layer && !way.arrives) {
        words.push("The row is who issued it, also where it gets data.");
    }
    if is_there(End::Unknown) {
        words.push("?: not known, or nobody.");
    }
    if is_there(End::Remote) {
        words.push("other world: processes of another MPI_COMM_WORLD.");
    }
    remark(&words.join(" "), terminal, out)
}

/// What an end is called.
fn name(pairs: &Pairs, end: End) -> String {
    crate::escape::visible(&pairs.ends.name(end)).into_owned()
}

/// All ranks or hosts, also those that sent and received nothing, and who else took part.
fn ends(pairs: &Pairs) -> Vec<End> {
    let ranks = pairs.head.catalog.processes.iter().filter(|process| pairs.head.filter.has_rank(process.rank));
    let all = ranks.map(|process| End::of_rank(process.rank)).filter(|end| *end != End::Unknown);
    let all = all.map(|end| pairs.ends.place(end));
    let ends: BTreeSet<End> = pairs.pairs.iter().flat_map(|pair| [pair.from, pair.to]).chain(all).collect();
    ends.into_iter().collect()
}

/// How exact numbers are in a matrix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Digits {
    Two,
    One,
}

/// The whole matrix as text.
struct Square {
    ends: Vec<End>,
    names: HashMap<End, String>,
    cells: HashMap<(End, End), String>,
    label: usize,
    widths: Vec<usize>,
}

impl Square {
    fn of(pairs: &Pairs, ends: &[End], digits: Digits) -> Square {
        let cell = |pair: &Pair| ((pair.from, pair.to), short(pairs.weight(pair), digits));
        let cells: HashMap<(End, End), String> = pairs.pairs.iter().map(cell).collect();
        let names: HashMap<End, String> = ends.iter().map(|end| (*end, name(pairs, *end))).collect();
        let mut widths: HashMap<End, usize> = names.iter().map(|(end, name)| (*end, name.width())).collect();
        for ((_, to), text) in &cells {
            let width = widths.entry(*to).or_default();
            *width = text.width().max(*width);
        }
        let label = names.values().map(|name| name.width()).max().unwrap_or(0);
        let widths = ends.iter().map(|end| widths[end]).collect();
        Square { ends: ends.to_vec(), names, cells, label, widths }
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
        let titles = line("", &mut self.ends.iter().map(|end| self.names[end].clone()));
        writeln!(out, "{}", terminal.paint(Paint::Faint, &titles))?;
        for from in &self.ends {
            let cell = |to: &End| self.cells.get(&(*from, *to)).cloned().unwrap_or_else(|| "-".to_owned());
            writeln!(out, "{}", line(&self.names[from], &mut self.ends.iter().map(cell)))?;
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

/// The heaviest pairs, and how much those carry that are left out.
fn list(pairs: &Pairs, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let (shown, hidden) = pairs.heaviest(pairs.top.or(Some(SHOWN)));
    let sum = |pairs: &[Pair]| {
        pairs.iter().fold((0u64, 0i64), |(bytes, calls), pair| {
            (bytes.saturating_add(pair.bytes), calls.saturating_add(pair.calls))
        })
    };
    let whole = sum(&pairs.pairs);
    let share = |pair: &Pair| match pairs.counts {
        true => units::percent(pair.calls as f64, whole.1 as f64),
        false => units::percent(pair.bytes as f64, whole.0 as f64),
    };
    let cells = |pair: &Pair| {
        vec![
            name(pairs, pair.from),
            name(pairs, pair.to),
            units::bytes(pair.bytes),
            share(pair),
            pair.calls.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = shown.iter().map(cells).collect();
    Grid::fit(&COLUMNS, rows.iter(), terminal).print(&rows, terminal, out)?;
    writeln!(out)?;
    if !hidden.is_empty() {
        let (bytes, calls) = sum(&hidden);
        let more = format!(
            "{}, with {} in {}: --top N shows N pairs, --top 0 all.",
            units::count(hidden.len() as u64, "more pair"),
            units::bytes(bytes),
            units::count(calls.max(0) as u64, "call")
        );
        for line in super::words::wrap(&more, terminal.columns) {
            writeln!(out, "{}", terminal.paint(Paint::Warning, &line))?;
        }
    }
    Ok(())
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
