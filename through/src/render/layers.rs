//! What layers below MPI did, as records of exact numbers: the columns of CSV and the objects of JSON.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::csv;
use super::json::{self, Overview};
use super::records::{seconds, share};
use crate::layered::{Body, Layered};
use crate::query::catalog::Catalog;
use crate::query::layers::amplification::Amplification;
use crate::query::layers::contributors::{Contributor, Section, Subject};
use crate::query::layers::linkage::Layers;
use crate::query::layers::protocols::Protocols;

#[derive(Serialize)]
struct Document<'a> {
    profile: String,
    meta: &'a BTreeMap<String, String>,
    overview: Overview,
    filters: &'a [String],
    hidden: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    contributors: Option<Vec<ContributorRecord<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    protocols: Option<Vec<ProtocolsRecord<'a>>>,
    amplification: Vec<AmplificationRecord<'a>>,
    notes: Vec<NoteRecord<'a>>,
    unlinked: Vec<UnlinkedRecord<'a>>,
}

#[derive(Debug, Default, Serialize)]
pub struct ContributorRecord<'a> {
    /// With `--by comm`.
    comm: Option<&'a str>,
    /// With `--by op`.
    op: Option<&'a str>,
    layer: &'a str,
    function: &'a str,
    protocol: &'a str,
    transport: &'a str,
    device: &'a str,
    kind: &'a str,
    arrives: bool,
    calls: i64,
    bytes: u64,
    /// Of the layer's bytes.
    share: Option<f64>,
    /// Of those that were not complete when their call returned: how many, and how long they took.
    later: i64,
    time_s: Option<f64>,
    time_avg_s: Option<f64>,
    time_min_s: Option<f64>,
    time_max_s: Option<f64>,
}

#[derive(Debug, Default, Serialize)]
pub struct ProtocolsRecord<'a> {
    comm: &'a str,
    label: Option<&'a str>,
    bucket_lo: u64,
    bucket_hi: Option<u64>,
    eager_calls: i64,
    eager_bytes: u64,
    get_calls: i64,
    get_bytes: u64,
    put_calls: i64,
    put_bytes: u64,
    other_calls: i64,
    other_bytes: u64,
}

#[derive(Debug, Default, Serialize)]
struct AmplificationRecord<'a> {
    comm: &'a str,
    /// Null: all operations on the communicator.
    op: Option<&'a str>,
    asked_bytes: u64,
    wire_bytes: u64,
    ratio: f64,
}

#[derive(Debug, Default, Serialize)]
pub struct NoteRecord<'a> {
    module: &'a str,
    text: &'a str,
    ranks: i64,
}

#[derive(Debug, Default, Serialize)]
pub struct UnlinkedRecord<'a> {
    layer: &'a str,
    /// Null: all protocols.
    protocol: Option<&'a str>,
    calls: i64,
    calls_share: Option<f64>,
    bytes: u64,
    bytes_share: Option<f64>,
}

pub fn csv(report: &Layered, out: &mut dyn Write) -> io::Result<()> {
    match &report.body {
        Body::Contributors(sections) => {
            csv::write::<ContributorRecord>(out, contributors(&report.catalog, sections).into_iter())
        }
        Body::Protocols(rows) => {
            csv::write::<ProtocolsRecord>(out, rows.iter().map(|row| protocols(&report.catalog, row)))
        }
    }
}

pub fn json(report: &Layered, out: &mut dyn Write) -> io::Result<()> {
    let catalog = &report.catalog;
    let (mut of_contributors, mut of_protocols) = (None, None);
    match &report.body {
        Body::Contributors(sections) => of_contributors = Some(contributors(catalog, sections)),
        Body::Protocols(rows) => of_protocols = Some(rows.iter().map(|row| protocols(catalog, row)).collect()),
    }
    let document = Document {
        profile: report.path.to_string_lossy().into_owned(),
        meta: &catalog.meta,
        overview: json::overview(&report.overview),
        filters: &report.filter.words,
        hidden: report.hidden,
        contributors: of_contributors,
        protocols: of_protocols,
        amplification: report.amplifications.iter().map(|row| amplification(catalog, row)).collect(),
        notes: notes(&report.layers),
        unlinked: unlinked(&report.layers),
    };
    json::write(&document, out)
}

fn contributors<'a>(catalog: &'a Catalog, sections: &'a [Section]) -> Vec<ContributorRecord<'a>> {
    let of_section = |section: &'a Section| section.rows.iter().map(move |row| contributor(catalog, section, row));
    sections.iter().flat_map(of_section).collect()
}

fn contributor<'a>(catalog: &'a Catalog, section: &'a Section, row: &'a Contributor) -> ContributorRecord<'a> {
    let (way, sums) = (&row.way, &row.sums);
    let (comm, op) = match section.subject {
        Subject::All => (None, None),
        Subject::Comm(number) => (Some(comm(catalog, number)), None),
        Subject::Op(number) => (None, Some(op(catalog, number))),
    };
    ContributorRecord {
        comm,
        op,
        layer: &way.layer,
        function: &way.function,
        protocol: &way.protocol,
        transport: &way.transport,
        device: &way.device,
        kind: &way.kind,
        arrives: way.arrives,
        calls: sums.calls,
        bytes: sums.bytes,
        share: share(sums.bytes as f64, section.layer_total.bytes as f64),
        later: sums.later,
        time_s: (sums.later > 0).then(|| seconds(sums.time_ns)),
        time_avg_s: (sums.later > 0).then(|| seconds(sums.time_ns) / sums.later as f64),
        time_min_s: sums.time_min_ns.map(seconds),
        time_max_s: sums.time_max_ns.map(seconds),
    }
}

fn protocols<'a>(catalog: &'a Catalog, row: &Protocols) -> ProtocolsRecord<'a> {
    let bucket = catalog.buckets.get(&row.bucket);
    ProtocolsRecord {
        comm: comm(catalog, row.comm),
        label: catalog.communicators.get(&row.comm).and_then(|comm| comm.label.as_deref()),
        bucket_lo: bucket.map(|bucket| bucket.lo).unwrap_or_default(),
        bucket_hi: bucket.and_then(|bucket| bucket.hi),
        eager_calls: row.eager.calls,
        eager_bytes: row.eager.bytes,
        get_calls: row.get.calls,
        get_bytes: row.get.bytes,
        put_calls: row.put.calls,
        put_bytes: row.put.bytes,
        other_calls: row.other.calls,
        other_bytes: row.other.bytes,
    }
}

fn amplification<'a>(catalog: &'a Catalog, row: &Amplification) -> AmplificationRecord<'a> {
    AmplificationRecord {
        comm: comm(catalog, row.comm),
        op: row.op.map(|number| op(catalog, number)),
        asked_bytes: row.asked_bytes,
        wire_bytes: row.wire_bytes,
        ratio: row.ratio(),
    }
}

pub fn notes(layers: &Layers) -> Vec<NoteRecord<'_>> {
    layers.notes.iter().map(|note| NoteRecord { module: &note.module, text: &note.text, ranks: note.ranks }).collect()
}

/// Of each layer all, and then its protocols.
pub fn unlinked(layers: &Layers) -> Vec<UnlinkedRecord<'_>> {
    let mut records = Vec::new();
    for links in &layers.links {
        let record = |protocol, sums: &crate::query::transfers::Sums| UnlinkedRecord {
            layer: &links.layer,
            protocol,
            calls: sums.calls,
            calls_share: share(sums.calls as f64, links.total.calls as f64),
            bytes: sums.bytes,
            bytes_share: share(sums.bytes as f64, links.total.bytes as f64),
        };
        records.push(record(None, &links.unlinked));
        records.extend(links.parts.iter().map(|(protocol, sums)| record(Some(protocol.as_str()), sums)));
    }
    records
}

fn comm(catalog: &Catalog, number: i64) -> &str {
    catalog.communicators.get(&number).map(|comm| comm.name.as_str()).unwrap_or_default()
}

fn op(catalog: &Catalog, number: i64) -> &str {
    catalog.operations.get(&number).map(|operation| operation.name.as_str()).unwrap_or_default()
}
