//! CSV: one flat table with a line of names, which stands there even if nothing matches.

use std::io::{self, Write};

use csv::{Writer, WriterBuilder};
use serde::Serialize;

use super::harmless::{Harmless, Text};
use super::records::{
    self, CellRecord, CommunicatorRecord, OperationsRecord, PhaseRecord, RankRecord, StoodRecord, UseRecord,
};
use crate::report::{Body, Report};

pub fn csv(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    match &report.body {
        Body::Operations(sections) => {
            let rows = sections.iter().flat_map(|section| section.rows.iter().map(move |row| (section, row)));
            write::<OperationsRecord>(out, rows.map(|(section, row)| records::operations(report, section, row)))
        }
        Body::Cells(cells) => {
            write::<CellRecord>(out, cells.rows.iter().map(|cell| records::cell(report, cells.group(cell), cell)))
        }
        Body::Communicators(sections) => {
            let mpi_ns = report.mpi_ns();
            write::<CommunicatorRecord>(out, sections.iter().map(|section| records::section(section, mpi_ns)))
        }
        Body::Phases(rows) => {
            let mpi_ns = report.mpi_ns();
            write::<PhaseRecord>(out, rows.iter().map(|row| records::phase_record(report, row, mpi_ns)))
        }
        Body::Datatypes(rows) => write::<UseRecord>(out, rows.iter().map(|row| records::used(report, row))),
        Body::Stood(groups) => write::<StoodRecord>(out, groups.iter().map(|group| records::stood(report, group))),
        Body::Ranks(ranks) => write::<RankRecord>(out, ranks.iter().map(records::rank)),
    }
}

pub fn write<R: Default + Serialize>(out: &mut dyn Write, rows: impl Iterator<Item = R>) -> io::Result<()> {
    out.write_all(&names::<R>()?)?;
    let mut writer = WriterBuilder::new().has_headers(false).from_writer(Harmless::new(out, Text::Csv));
    for row in rows {
        writer.serialize(row).map_err(io_error)?;
    }
    writer.flush()
}

/// The line of names, which the writer itself makes of the first record only.
pub fn names<R: Default + Serialize>() -> io::Result<Vec<u8>> {
    let mut writer = Writer::from_writer(Vec::new());
    writer.serialize(R::default()).map_err(io_error)?;
    let mut lines = writer.into_inner().map_err(|error| error.into_error())?;
    let end = lines.iter().position(|byte| *byte == b'\n').map_or(lines.len(), |at| at + 1);
    lines.truncate(end);
    Ok(lines)
}

pub fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_a_table_per_rank_are_those_of_the_view_profile() {
        let names = String::from_utf8(names::<CellRecord>().unwrap()).unwrap();
        let view =
            commsee::profile::SCHEMA.split_once("CREATE VIEW profile AS").unwrap().1.split_once("FROM").unwrap().0;
        let columns: Vec<&str> = view.lines().filter_map(|line| Some(line.split_once(" AS ")?.1)).collect();
        assert_eq!(names.trim_end(), columns.join("").replace(' ', ""));
    }
}
