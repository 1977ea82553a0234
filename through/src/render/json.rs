//! JSON: one document, an object with named arrays.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};

use serde::{Serialize, Serializer};

use super::harmless::{Harmless, Text};
use super::layers::{NoteRecord, UnlinkedRecord, notes, unlinked};
use super::records::{
    self, CommunicatorRecord, InvolvedRecord, OperationsRecord, PhaseRecord, RankRecord, StoodRecord, UseRecord,
    seconds, share,
};
use crate::query::cells::Cells;
use crate::query::overview::{self, Peak};
use crate::query::standing::Group;
use crate::report::{Body, Report, Section};

#[derive(Serialize)]
struct Document<'a> {
    profile: String,
    meta: &'a BTreeMap<String, String>,
    overview: Overview,
    /// The filters in words; empty where everything is shown.
    filters: &'a [String],
    /// How many entries `--top` left out.
    hidden: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    communicators: Option<Vec<CommunicatorRecord<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operations: Option<Vec<OperationsRecord<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    involved: Option<Vec<InvolvedRecord<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<Rows<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<Vec<RankRecord<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phases: Option<Vec<PhaseRecord<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    datatypes: Option<Vec<UseRecord<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stood: Option<Vec<StoodRecord<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<Vec<NoteRecord<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unlinked: Option<Vec<UnlinkedRecord<'a>>>,
}

/// Made one by one, since there may be millions.
struct Rows<'a> {
    report: &'a Report,
    cells: &'a Cells,
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Rows { report, cells } = self;
        serializer.collect_seq(cells.rows.iter().map(|cell| records::cell(report, cells.group(cell), cell)))
    }
}

#[derive(Serialize)]
pub struct Overview {
    ranks: u64,
    hosts: u64,
    wall_max_s: f64,
    wall_max_rank: i64,
    wall_avg_s: f64,
    mpi_max_s: f64,
    mpi_max_rank: i64,
    mpi_avg_s: f64,
    /// Of the run time; 0.25 is a quarter.
    share_max: Option<f64>,
    share_avg: Option<f64>,
}

pub fn json(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut document = Document {
        profile: report.path.to_string_lossy().into_owned(),
        meta: &report.catalog.meta,
        overview: overview(&report.overview),
        filters: &report.filter.words,
        hidden: report.hidden,
        communicators: None,
        operations: None,
        involved: None,
        rows: None,
        ranks: None,
        phases: None,
        datatypes: None,
        notes: report.layers.as_ref().map(notes),
        unlinked: report.layers.as_ref().map(unlinked),
        stood: (!report.stood.is_empty()).then(|| stood(report, &report.stood)),
    };
    match &report.body {
        Body::Operations(sections) => {
            let rows = sections.iter().flat_map(|section| section.rows.iter().map(move |row| (section, row)));
            document.communicators = Some(communicators(report, sections));
            document.operations = Some(rows.map(|(section, row)| records::operations(report, section, row)).collect());
            document.involved = Some(report.involved.iter().map(|part| records::involved(report, part)).collect());
        }
        Body::Cells(cells) => document.rows = Some(Rows { report, cells }),
        Body::Communicators(sections) => document.communicators = Some(communicators(report, sections)),
        Body::Phases(rows) => {
            let mpi_ns = report.mpi_ns();
            document.phases = Some(rows.iter().map(|row| records::phase_record(report, row, mpi_ns)).collect());
        }
        Body::Datatypes(rows) => {
            document.datatypes = Some(rows.iter().map(|row| records::used(report, row)).collect());
        }
        Body::Stood(groups) => document.stood = Some(stood(report, groups)),
        Body::Ranks(ranks) => document.ranks = Some(ranks.iter().map(records::rank).collect()),
    }
    write(&document, out)
}

/// One document on a line of its own.
pub fn write(document: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut harmless = BufWriter::new(Harmless::new(out, Text::Json));
    serde_json::to_writer(&mut harmless, document)?;
    harmless.flush()?;
    drop(harmless);
    out.write_all(b"\n")
}

fn communicators<'a>(report: &Report, sections: &'a [Section]) -> Vec<CommunicatorRecord<'a>> {
    let mpi_ns = report.mpi_ns();
    sections.iter().map(|section| records::section(section, mpi_ns)).collect()
}

fn stood<'a>(report: &'a Report, groups: &[Group]) -> Vec<StoodRecord<'a>> {
    groups.iter().map(|group| records::stood(report, group)).collect()
}

pub fn overview(overview: &overview::Overview) -> Overview {
    let (Peak { ns: wall_ns, rank: wall_max_rank }, Peak { ns: mpi_ns, rank: mpi_max_rank }) =
        (overview.wall_max, overview.mpi_max);
    Overview {
        ranks: overview.ranks,
        hosts: overview.hosts,
        wall_max_s: seconds(wall_ns),
        wall_max_rank,
        wall_avg_s: overview.wall_avg_ns / 1e9,
        mpi_max_s: seconds(mpi_ns),
        mpi_max_rank,
        mpi_avg_s: overview.mpi_avg_ns / 1e9,
        share_max: share(mpi_ns as f64, wall_ns as f64),
        share_avg: share(overview.mpi_avg_ns, overview.wall_avg_ns),
    }
}
