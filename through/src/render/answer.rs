//! What SQL answered, row by row: a table, CSV or JSON. Nothing is kept but the first rows of a table, which say how wide it is.

use std::borrow::Cow;
use std::io::{self, Write};

use csv::{Writer, WriterBuilder};
use unicode_width::UnicodeWidthStr;

use super::csv::io_error;
use super::escaping::{Escaping, Text};
use crate::document::Format;
use crate::query::sql::{Answer, Cell};
use crate::text::escape::visible;
use crate::text::spreadsheet::{MARK, as_text};
use crate::text::terminal::{Paint, Terminal};

/// Prints rows in one of the formats that show text.
pub fn answer<'a>(format: Format, terminal: &Terminal, out: &'a mut dyn Write) -> io::Result<Box<dyn Answer + 'a>> {
    if format == Format::Spreadsheet {
        out.write_all(MARK.as_bytes())?;
    }
    Ok(match format {
        Format::Csv | Format::Spreadsheet => Box::new(Csv {
            writer: WriterBuilder::new().from_writer(Escaping::new(out, Text::Csv)),
            is_spreadsheet: format == Format::Spreadsheet,
        }),
        Format::Json => {
            Box::new(Json { out: io::BufWriter::new(Escaping::new(out, Text::Json)), names: Vec::new(), rows: 0 })
        }
        _ => Box::new(Table { out, terminal: *terminal, names: Vec::new(), first: Vec::new(), widths: Vec::new() }),
    })
}

/// Hexadecimal digits, as SQL's `hex` writes them.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// As programs read it back: a number that is whole stays a real.
fn real(number: f64) -> String {
    serde_json::Number::from_f64(number).map_or_else(|| number.to_string(), |number| number.to_string())
}

struct Csv<'a> {
    writer: Writer<Escaping<'a>>,
    is_spreadsheet: bool,
}

impl Csv<'_> {
    fn text<'b>(&self, text: &'b str) -> Cow<'b, str> {
        if self.is_spreadsheet { as_text(text) } else { text.into() }
    }
}

impl Answer for Csv<'_> {
    fn names(&mut self, names: Vec<String>) -> io::Result<()> {
        let names: Vec<Cow<str>> = names.iter().map(|name| self.text(name)).collect();
        self.writer.write_record(names.iter().map(|name| name.as_bytes())).map_err(io_error)
    }

    fn row(&mut self, row: &[Cell]) -> io::Result<()> {
        for cell in row {
            let written = match cell {
                Cell::Null => self.writer.write_field(""),
                Cell::Integer(number) => self.writer.write_field(number.to_string()),
                Cell::Real(number) => self.writer.write_field(real(*number)),
                Cell::Text(text) => self.writer.write_field(self.text(text).as_bytes()),
                Cell::Blob(bytes) => self.writer.write_field(self.text(&hex(bytes)).as_bytes()),
            };
            written.map_err(io_error)?;
        }
        self.writer.write_record(None::<&[u8]>).map_err(io_error)
    }

    fn end(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

struct Json<'a> {
    out: io::BufWriter<Escaping<'a>>,
    names: Vec<String>,
    rows: u64,
}

impl Answer for Json<'_> {
    fn names(&mut self, names: Vec<String>) -> io::Result<()> {
        self.names = names;
        self.out.write_all(b"[")
    }

    fn row(&mut self, row: &[Cell]) -> io::Result<()> {
        self.out.write_all(if self.rows > 0 { b",\n{" } else { b"{" })?;
        self.rows += 1;
        for (at, (name, cell)) in self.names.iter().zip(row).enumerate() {
            self.out.write_all(if at > 0 { b"," } else { b"" })?;
            serde_json::to_writer(&mut self.out, name)?;
            self.out.write_all(b":")?;
            match cell {
                Cell::Null => self.out.write_all(b"null")?,
                Cell::Integer(number) => write!(self.out, "{number}")?,
                Cell::Real(number) => serde_json::to_writer(&mut self.out, number)?,
                Cell::Text(text) => serde_json::to_writer(&mut self.out, text)?,
                Cell::Blob(bytes) => serde_json::to_writer(&mut self.out, &hex(bytes))?,
            }
        }
        self.out.write_all(b"}")
    }

    fn end(&mut self) -> io::Result<()> {
        self.out.write_all(b"]\n")?;
        self.out.flush()
    }
}

/// Rows that are looked at for the widths of columns. Wider ones behind them stick out.
const MEASURED: usize = 1000;
const GAP: &str = "  ";

struct Table<'a> {
    out: &'a mut dyn Write,
    terminal: Terminal,
    names: Vec<String>,
    first: Vec<Vec<Shown>>,
    widths: Vec<usize>,
}

struct Shown {
    text: String,
    is_number: bool,
    is_null: bool,
}

fn shown(cell: &Cell) -> Shown {
    let text = match cell {
        Cell::Null => "null".to_owned(),
        Cell::Integer(number) => number.to_string(),
        Cell::Real(number) => real(*number),
        Cell::Text(text) => visible(text).into_owned(),
        Cell::Blob(bytes) => hex(bytes),
    };
    Shown { text, is_number: matches!(cell, Cell::Integer(_) | Cell::Real(_)), is_null: *cell == Cell::Null }
}

impl Table<'_> {
    fn begin(&mut self) -> io::Result<()> {
        let first = std::mem::take(&mut self.first);
        let widest = |at: usize| first.iter().map(|row| row[at].text.width()).max().unwrap_or(0);
        self.widths = self.names.iter().enumerate().map(|(at, name)| widest(at).max(name.width())).collect();
        let is_number = |at: usize| {
            first.iter().any(|row| row[at].is_number) && first.iter().all(|row| row[at].is_number || row[at].is_null)
        };
        let names = self.names.iter().enumerate();
        let head = names.map(|(at, name)| Shown { text: name.clone(), is_number: is_number(at), is_null: false });
        self.line(&head.collect::<Vec<_>>())?;
        first.iter().try_for_each(|row| self.line(row))
    }

    fn line(&mut self, row: &[Shown]) -> io::Result<()> {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            let blanks = " ".repeat(self.widths[at].saturating_sub(cell.text.width()));
            let text =
                if cell.is_null { self.terminal.paint(Paint::Faint, &cell.text) } else { cell.text.as_str().into() };
            line += if at > 0 { GAP } else { "" };
            match cell.is_number {
                true => line += &format!("{blanks}{text}"),
                false => line += &format!("{text}{blanks}"),
            }
        }
        writeln!(self.out, "{}", line.trim_end())
    }
}

impl Answer for Table<'_> {
    fn names(&mut self, names: Vec<String>) -> io::Result<()> {
        self.names = names.iter().map(|name| visible(name).into_owned()).collect();
        Ok(())
    }

    fn row(&mut self, row: &[Cell]) -> io::Result<()> {
        let row: Vec<Shown> = row.iter().map(shown).collect();
        if !self.widths.is_empty() {
            return self.line(&row);
        }
        self.first.push(row);
        if self.first.len() == MEASURED { self.begin() } else { Ok(()) }
    }

    fn end(&mut self) -> io::Result<()> {
        if self.widths.is_empty() { self.begin() } else { Ok(()) }
    }
}
