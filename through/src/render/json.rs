//! JSON: one document, an object with named arrays of objects. Rows are written one by one, since there may be millions.

use std::io::{self, BufWriter, Write};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::escaping::{Escaping, Text};
use crate::document::{Document, Head, Row, Subject, Table, Value};
use crate::query::overview::Overview;

/// A type of its own, not any writer: each row is many small writes.
type Out<'a> = BufWriter<Escaping<'a>>;

pub fn json(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let mut escaping = BufWriter::new(Escaping::new(out, Text::Json));
    object(document, &mut escaping)?;
    escaping.flush()?;
    drop(escaping);
    out.write_all(b"\n")
}

fn object(document: &Document, out: &mut Out) -> io::Result<()> {
    let Head { subject, path, meta, overview, filters, .. } = &document.head;
    write!(out, "{{\"{}\":", subject.name())?;
    serde_json::to_writer(&mut *out, &path.to_string_lossy())?;
    member("meta", meta, out)?;
    if *subject != Subject::Measurements {
        member("overview", &Numbers(overview), out)?;
    }
    member("filters", filters, out)?;
    member("hidden", &document.hidden, out)?;
    document.words.iter().try_for_each(|(name, word)| member(name, word, out))?;
    document.numbers.iter().try_for_each(|(name, value)| member(name, value, out))?;
    document.tables.iter().filter(|table| table.audience.json).try_for_each(|table| array(table, out))?;
    out.write_all(b"}")
}

fn member(name: &str, value: &impl Serialize, out: &mut Out) -> io::Result<()> {
    write!(out, ",\"{name}\":")?;
    Ok(serde_json::to_writer(out, value)?)
}

fn array(table: &Table, out: &mut Out) -> io::Result<()> {
    write!(out, ",\"{}\":[", table.name)?;
    let named = table.headings.iter().enumerate();
    let members: Vec<(usize, &str)> = named.filter_map(|(at, heading)| Some((at, heading.name?))).collect();
    let mut is_first = true;
    table.rows.each(&mut |row| {
        if !std::mem::take(&mut is_first) {
            out.write_all(b",")?;
        }
        Ok(serde_json::to_writer(&mut *out, &Object { row, members: &members })?)
    })?;
    out.write_all(b"]")
}

struct Object<'a> {
    row: &'a dyn Row,
    members: &'a [(usize, &'a str)],
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(self.members.len()))?;
        self.members.iter().try_for_each(|(column, name)| object.serialize_entry(name, &self.row.value(*column)))?;
        object.end()
    }
}

struct Numbers<'a>(&'a Overview);

impl Serialize for Numbers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let overview = self.0;
        let (wall, mpi) = (overview.wall_max, overview.mpi_max);
        let share = |part, whole| Value::Share { part, whole };
        let mut object = serializer.serialize_map(Some(10))?;
        object.serialize_entry("ranks", &overview.ranks)?;
        object.serialize_entry("hosts", &overview.hosts)?;
        object.serialize_entry("wall_max_s", &Value::Time(wall.ns))?;
        object.serialize_entry("wall_max_rank", &wall.rank)?;
        object.serialize_entry("wall_avg_s", &(overview.wall_avg_ns / 1e9))?;
        object.serialize_entry("mpi_max_s", &Value::Time(mpi.ns))?;
        object.serialize_entry("mpi_max_rank", &mpi.rank)?;
        object.serialize_entry("mpi_avg_s", &(overview.mpi_avg_ns / 1e9))?;
        object.serialize_entry("share_max", &share(overview.share_max, 1.0))?;
        object.serialize_entry("share_avg", &share(overview.mpi_avg_ns, overview.wall_avg_ns))?;
        object.end()
    }
}
