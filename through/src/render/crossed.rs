//! A table for each layer: a row for each function, a column for each transport. Where that is too wide, transports follow below.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use super::table;
use crate::document::{Document, Drawing};
use crate::query::layers::crossed::Crossing;
use crate::query::transfers::Sums;
use crate::text::escape::visible;
use crate::text::terminal::{Paint, Terminal};
use crate::text::units;

/// Layer by layer, function by function.
pub struct Crossed(pub Vec<Crossing>);

const LEGEND: &str = "Percent of the bytes of the layer and, in brackets, of its operations, over all ranks.";

impl Drawing for Crossed {
    fn draw(&self, document: &Document, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
        table::head(&document.head, terminal, out)?;
        for cells in self.0.chunk_by(|a, b| a.layer == b.layer) {
            writeln!(out)?;
            writeln!(out, "{}", terminal.paint(Paint::Strong, &visible(&cells[0].layer)))?;
            layer(cells, terminal, out)?;
        }
        if document.hidden > 0 {
            let functions = units::count(document.hidden as u64, "more function");
            writeln!(out, "\n{}", terminal.paint(Paint::Warning, &format!("and {functions}: --top 0 shows all")))?;
        }
        writeln!(out)?;
        table::lines(LEGEND, Paint::Faint, terminal, out)
    }
}

fn layer(cells: &[Crossing], terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    let total = cells[0].total;
    let share = |sums: &Sums| {
        let bytes = units::percent(sums.bytes as f64, total.bytes as f64);
        format!("{bytes} ({})", units::percent(sums.calls as f64, total.calls as f64))
    };
    let rows: Vec<&[Crossing]> = cells.chunk_by(|a, b| a.function == b.function).collect();
    let sum = |cells: &mut dyn Iterator<Item = &Crossing>| {
        let mut sum = Sums::default();
        cells.for_each(|cell| sum.add(&cell.sums));
        sum
    };
    let mut transports: Vec<&str> = cells.iter().map(|cell| cell.transport.as_str()).collect();
    transports.sort_unstable();
    transports.dedup();
    transports
        .sort_by_key(|name| std::cmp::Reverse(sum(&mut cells.iter().filter(|cell| cell.transport == **name)).bytes));
    // Title, what stands in each row, and the sum below.
    let column = |title: String, of: &dyn Fn(&Crossing) -> bool| {
        let cell = |row: &&[Crossing]| {
            let mut found = row.iter().filter(|cell| of(cell)).peekable();
            if found.peek().is_none() { "-".to_owned() } else { share(&sum(&mut found)) }
        };
        let all = share(&sum(&mut cells.iter().filter(|cell| of(cell))));
        [title].into_iter().chain(rows.iter().map(cell)).chain([all]).collect::<Vec<String>>()
    };
    let named = |name: &&str| if name.is_empty() { "(none)".to_owned() } else { visible(name).into_owned() };
    let mut columns = vec![column("all".to_owned(), &|_| true)];
    if transports.len() > 1 {
        columns.extend(transports.iter().map(|name| column(named(name), &|cell| cell.transport == *name)));
    } else {
        columns[0][0] = named(&transports[0]);
    }
    let names = rows.iter().map(|row| visible(&row[0].function).into_owned());
    let names: Vec<String> = ["function".to_owned()].into_iter().chain(names).chain(["all".to_owned()]).collect();
    let width = |column: &[String]| column.iter().map(|text| text.width()).max().unwrap_or(0);
    let label = width(&names);
    let mut left = columns.as_slice();
    while !left.is_empty() {
        let mut room = terminal.columns.saturating_sub(2 + label);
        let fitting = left.iter().take_while(|column| {
            let wide = width(column) + 2;
            let fits = wide <= room;
            room = room.saturating_sub(wide);
            fits
        });
        let (now, later) = left.split_at(fitting.count().max(1));
        for (at, name) in names.iter().enumerate() {
            let mut line = format!("  {name}{:1$}", "", label - name.width());
            for column in now {
                line += &format!("  {:1$}{2}", "", width(column) - column[at].width(), column[at]);
            }
            match at {
                0 => writeln!(out, "{}", terminal.paint(Paint::Faint, &line))?,
                _ => writeln!(out, "{line}")?,
            }
        }
        left = later;
        if !left.is_empty() {
            writeln!(out)?;
        }
    }
    Ok(())
}
