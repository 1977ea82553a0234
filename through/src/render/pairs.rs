//! Who sent how much to whom, as records: one for each pair.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::csv;
use super::header::Head;
use super::json::{self, Overview};
use super::layers::{NoteRecord, UnlinkedRecord, notes, unlinked};
use crate::query::flows::Pair;
use crate::query::hosts::Places;
use crate::query::transfers::End;

pub struct Pairs<'a> {
    pub head: Head<'a>,
    /// Whose messages these are.
    pub layer: &'a str,
    /// In the order of the ranks.
    pub pairs: Vec<Pair>,
    /// What they are between.
    pub ends: &'a Places,
    /// By calls instead of bytes.
    pub counts: bool,
    pub top: Option<usize>,
}

impl Pairs<'_> {
    /// The quantity that is asked for.
    pub fn weight(&self, pair: &Pair) -> u64 {
        if self.counts { pair.calls.max(0) as u64 } else { pair.bytes }
    }

    /// The heaviest, and those that are left out.
    pub fn heaviest(&self, top: Option<usize>) -> (Vec<Pair>, Vec<Pair>) {
        let mut pairs = self.pairs.clone();
        // Stable: those that weigh the same stay in the order of the ranks.
        pairs.sort_by_key(|pair| Reverse(self.weight(pair)));
        let kept = top.filter(|top| *top > 0).unwrap_or(usize::MAX).min(pairs.len());
        let hidden = pairs.split_off(kept);
        (pairs, hidden)
    }

    fn listed(&self) -> (Vec<Pair>, usize) {
        match self.top {
            None => (self.pairs.clone(), 0),
            top => {
                let (shown, hidden) = self.heaviest(top);
                (shown, hidden.len())
            }
        }
    }
}

#[derive(Debug, Default, Serialize)]
struct PairRecord<'a> {
    src: Option<i64>,
    dst: Option<i64>,
    /// One of them belongs to another `MPI_COMM_WORLD`.
    remote: i64,
    calls: i64,
    bytes: u64,
    src_host: &'a str,
    dst_host: &'a str,
}

#[derive(Serialize)]
struct Document<'a> {
    profile: String,
    meta: &'a BTreeMap<String, String>,
    overview: Overview,
    filters: &'a [String],
    hidden: usize,
    layer: &'a str,
    matrix: Vec<PairRecord<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notes: Option<Vec<NoteRecord<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unlinked: Option<Vec<UnlinkedRecord<'a>>>,
}

pub fn csv(pairs: &Pairs, out: &mut dyn Write) -> io::Result<()> {
    csv::write::<PairRecord>(out, pairs.listed().0.iter().map(|pair| record(pair, pairs.ends)))
}

pub fn json(pairs: &Pairs, out: &mut dyn Write) -> io::Result<()> {
    let (shown, hidden) = pairs.listed();
    let head = &pairs.head;
    let document = Document {
        profile: head.path.to_string_lossy().into_owned(),
        meta: &head.catalog.meta,
        overview: json::overview(head.overview),
        filters: &head.filter.words,
        hidden,
        layer: pairs.layer,
        matrix: shown.iter().map(|pair| record(pair, pairs.ends)).collect(),
        notes: head.layers.map(notes),
        unlinked: head.layers.map(unlinked),
    };
    json::write(&document, out)
}

fn record<'a>(pair: &Pair, ends: &'a Places) -> PairRecord<'a> {
    PairRecord {
        src: pair.from.rank(),
        dst: pair.to.rank(),
        remote: i64::from(pair.from == End::Remote || pair.to == End::Remote),
        calls: pair.calls,
        bytes: pair.bytes,
        src_host: ends.host(pair.from),
        dst_host: ends.host(pair.to),
    }
}
