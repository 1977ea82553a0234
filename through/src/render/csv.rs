//! CSV: one flat table with a line of names, which stands there even if nothing matches. Exact for programs, or for spreadsheets.

use std::io::{self, Write};

use csv::WriterBuilder;
use serde::ser::SerializeTuple;
use serde::{Serialize, Serializer};

use super::escaping::{Escaping, Text};
use crate::document::{Document, Row, Value};
use crate::text::spreadsheet;

pub fn csv(document: &Document, is_spreadsheet: bool, out: &mut dyn Write) -> io::Result<()> {
    let Some(table) = document.flat() else { return Err(io::Error::other("no table for CSV")) };
    let named = |(at, heading): (usize, &crate::document::Heading)| Some((at, heading.name?));
    let (columns, names): (Vec<usize>, Vec<&str>) = table.headings.iter().enumerate().filter_map(named).unzip();
    writeln!(out, "{}{}", if is_spreadsheet { spreadsheet::MARK } else { "" }, names.join(","))?;
    let mut writer = WriterBuilder::new().has_headers(false).from_writer(Escaping::new(out, Text::Csv));
    table
        .rows
        .each(&mut |row| writer.serialize(Record { row, columns: &columns, is_spreadsheet }).map_err(io_error))?;
    writer.flush()
}

struct Record<'a> {
    row: &'a dyn Row,
    columns: &'a [usize],
    is_spreadsheet: bool,
}

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_tuple(self.columns.len())?;
        for column in self.columns {
            let value = self.row.value(*column);
            match field(&value) {
                Value::Text(text) if self.is_spreadsheet => fields.serialize_element(&spreadsheet::as_text(&text))?,
                Value::Communicator { name, .. } if self.is_spreadsheet => {
                    fields.serialize_element(&spreadsheet::as_text(name))?;
                }
                value => fields.serialize_element(&value)?,
            }
        }
        fields.end()
    }
}

/// A value without parts.
pub fn field<'a>(value: &'a Value<'a>) -> Value<'a> {
    match value {
        Value::Frames(frames) => Value::owned(callers(frames)),
        Value::Records(_) => Value::owned(serde_json::to_string(value).unwrap_or_default()),
        value => value.clone(),
    }
}

/// A line and its callers in one field.
fn callers(frames: &[(&str, Option<&str>)]) -> String {
    frames.iter().map(|(site, _)| *site).collect::<Vec<_>>().join(" < ")
}

pub fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
