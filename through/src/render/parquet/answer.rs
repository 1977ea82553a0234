//! What SQL answered, as Parquet. A column of SQLite may hold anything in any row, one of Parquet holds one kind: all rows say which.

use std::io::{self, Write};

use super::column::{Column, Kind};
use super::file::File;
use crate::query::sql::{Answer, Cell};

/// Looks at all rows for what each column holds.
#[derive(Default)]
pub struct Kinds {
    names: Vec<String>,
    seen: Vec<Seen>,
}

#[derive(Clone, Copy, Default)]
struct Seen {
    integer: bool,
    /// One that a double does not hold.
    great: bool,
    real: bool,
    text: bool,
    blob: bool,
}

const EXACT: u64 = 1 << 53;

impl Seen {
    fn kind(self) -> Kind {
        match self {
            Seen { blob: true, .. } => Kind::Binary,
            Seen { text: true, .. } | Seen { real: true, great: true, .. } => Kind::Text,
            Seen { real: true, .. } => Kind::Double,
            Seen { integer: true, .. } => Kind::Integer,
            _ => Kind::Text,
        }
    }
}

impl Kinds {
    pub fn columns(self) -> Vec<(String, Kind)> {
        self.names.into_iter().zip(self.seen.into_iter().map(Seen::kind)).collect()
    }
}

impl Answer for Kinds {
    fn names(&mut self, names: Vec<String>) -> io::Result<()> {
        self.seen = vec![Seen::default(); names.len()];
        self.names = names;
        Ok(())
    }

    fn row(&mut self, row: &[Cell]) -> io::Result<()> {
        for (seen, cell) in self.seen.iter_mut().zip(row) {
            match cell {
                Cell::Null => {}
                Cell::Integer(number) => {
                    seen.integer = true;
                    seen.great |= number.unsigned_abs() > EXACT;
                }
                Cell::Real(_) => seen.real = true,
                Cell::Text(_) => seen.text = true,
                Cell::Blob(_) => seen.blob = true,
            }
        }
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes the rows whose kinds are known.
pub struct Rows<'a>(Option<File<'a>>);

impl<'a> Rows<'a> {
    pub fn begin(kinds: Kinds, out: &'a mut dyn Write) -> io::Result<Rows<'a>> {
        Ok(Rows(Some(File::begin(kinds.columns(), out)?)))
    }
}

impl Answer for Rows<'_> {
    fn names(&mut self, _: Vec<String>) -> io::Result<()> {
        Ok(())
    }

    fn row(&mut self, row: &[Cell]) -> io::Result<()> {
        let Some(file) = &mut self.0 else { return Ok(()) };
        file.columns.iter_mut().zip(row).for_each(|(column, cell)| put(column, cell));
        file.row()
    }

    fn end(&mut self) -> io::Result<()> {
        self.0.take().map_or(Ok(()), File::end)
    }
}

fn put(column: &mut Column, cell: &Cell) {
    match (column.kind, cell) {
        (_, Cell::Null) => column.null(),
        (Kind::Integer, Cell::Integer(number)) => column.integer(*number),
        (Kind::Double, Cell::Integer(number)) => column.double(*number as f64),
        (Kind::Double, Cell::Real(number)) => column.double(*number),
        (Kind::Text | Kind::Binary, Cell::Integer(number)) => column.bytes(number.to_string().as_bytes()),
        (Kind::Text | Kind::Binary, Cell::Real(number)) => column.bytes(number.to_string().as_bytes()),
        (Kind::Text | Kind::Binary, Cell::Text(text)) => column.bytes(text.as_bytes()),
        (Kind::Binary, Cell::Blob(bytes)) => column.bytes(bytes),
        // Only of a statement that answers otherwise when it is asked again, as random() does.
        _ => column.null(),
    }
}
