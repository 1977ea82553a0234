//! Parquet: the flat table that CSV has, with types. Counts, ranks and bytes are 64-bit integers, times and ratios doubles, all else text.

mod answer;
mod column;
mod file;
mod thrift;

use std::io::{self, Write};

use serde_json::Value as Json;

pub use answer::{Kinds, Rows};

use column::Kind;
use file::File;

use super::csv::field;
use crate::document::{Document, Unit, Value};

pub fn parquet(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let Some(table) = document.flat() else { return Err(io::Error::other("no table for Parquet")) };
    let named = table.headings.iter().enumerate().filter_map(|(at, heading)| Some((at, (heading.name?, heading.unit))));
    let (columns, names): (Vec<usize>, Vec<(&str, Unit)>) = named.unzip();
    let kinds = names.into_iter().map(|(name, unit)| (name.to_owned(), kind(unit))).collect();
    let mut file = File::begin(kinds, out)?;
    table.rows.each(&mut |row| {
        for (column, at) in file.columns.iter_mut().zip(&columns) {
            let value = row.value(*at);
            match (column.kind, &value) {
                (_, Value::Unknown) => column.null(),
                (Kind::Integer, Value::Number(number)) => column.integer(*number),
                (Kind::Integer, Value::Bytes(bytes)) => column.integer(i64::try_from(*bytes).unwrap_or(i64::MAX)),
                (Kind::Boolean, Value::Flag(flag)) => column.flag(*flag),
                (Kind::Double, value) => match serde_json::to_value(value).ok().and_then(|json| json.as_f64()) {
                    Some(number) => column.double(number),
                    None => column.null(),
                },
                (Kind::Text, value) => match serde_json::to_value(field(value)) {
                    Ok(Json::String(text)) => column.bytes(text.as_bytes()),
                    _ => column.null(),
                },
                _ => column.null(),
            }
        }
        file.row()
    })?;
    file.end()
}

fn kind(unit: Unit) -> Kind {
    match unit {
        Unit::YesNo => Kind::Boolean,
        Unit::Count | Unit::Rank | Unit::Bytes | Unit::Bucket => Kind::Integer,
        Unit::Seconds | Unit::Share | Unit::Bar | Unit::Ratio | Unit::Rate => Kind::Double,
        Unit::Text | Unit::Communicator | Unit::Operation | Unit::Ranks | Unit::Frames | Unit::Records => Kind::Text,
    }
}
