//! Bytes on the wire over bytes that MPI calls asked to be moved.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::known::WIRE;
use crate::query::Error;
use crate::query::catalog::Catalog;
use crate::query::filter::Filter;
use crate::query::open::Profile;
use crate::query::operations::operations;
use crate::query::transfers::Group;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amplification {
    pub comm: i64,
    /// `None`: all operations on the communicator together.
    pub op: Option<i64>,
    pub asked_bytes: u64,
    pub wire_bytes: u64,
}

impl Amplification {
    pub fn ratio(&self) -> f64 {
        self.wire_bytes as f64 / self.asked_bytes.max(1) as f64
    }
}

/// By communicator: all its operations together, then those of which both is known; most bytes on the wire first. Nothing
/// where the filter leaves parts of messages, or a window, which have no counterpart in MPI.
pub fn amplifications(
    profile: &Profile,
    groups: &[Group],
    catalog: &Catalog,
    filter: &Filter,
) -> Result<Vec<Amplification>, Error> {
    if filter.buckets.is_some() || filter.routes.is_some() || filter.window.is_some() {
        return Ok(Vec::new());
    }
    let mut wire: BTreeMap<(i64, i64), u64> = BTreeMap::new();
    let is_wire =
        |group: &&Group| catalog.routes.get(&group.route).is_some_and(|route| route.layer == WIRE && !route.arrives);
    for group in groups.iter().filter(|group| filter.has_group(group)).filter(is_wire) {
        let sum = wire.entry((group.comm, group.op)).or_default();
        *sum = sum.saturating_add(group.sums.bytes);
    }
    if wire.is_empty() {
        return Ok(Vec::new());
    }
    let mut asked: BTreeMap<(i64, i64), u64> = BTreeMap::new();
    for row in operations(profile, catalog, filter, false)? {
        let bytes = match catalog.operations.get(&row.op).map(|operation| operation.class.as_str()) {
            // Data that a one-sided call fetches is asked for by no other call.
            Some("rma") => row.bytes_sent.saturating_add(row.bytes_recv),
            Some("io") | None => 0,
            Some(_) => row.bytes_sent,
        };
        let sum = asked.entry((row.comm, row.op)).or_default();
        *sum = sum.saturating_add(bytes);
    }
    Ok(compared(&asked, &wire, catalog))
}

fn compared(
    asked: &BTreeMap<(i64, i64), u64>,
    wire: &BTreeMap<(i64, i64), u64>,
    catalog: &Catalog,
) -> Vec<Amplification> {
    let of_comm = |bytes: &BTreeMap<(i64, i64), u64>, comm: i64| {
        let of_comm = bytes.range((comm, i64::MIN)..=(comm, i64::MAX));
        of_comm.fold((0u64, 0), |(sum, ops), (_, bytes)| (sum.saturating_add(*bytes), ops + 1))
    };
    let mut comms: Vec<i64> = wire.keys().map(|(comm, _)| *comm).collect();
    comms.dedup();
    comms.retain(|comm| catalog.communicators.get(comm).is_some_and(|comm| !comm.is_special()));
    comms.sort_by_key(|comm| (Reverse(of_comm(wire, *comm).0), *comm));
    let mut rows = Vec::new();
    for comm in comms {
        let ((wire_bytes, ops), (asked_bytes, _)) = (of_comm(wire, comm), of_comm(asked, comm));
        if asked_bytes == 0 {
            continue;
        }
        if ops > 1 {
            rows.push(Amplification { comm, op: None, asked_bytes, wire_bytes });
        }
        let both = wire.range((comm, i64::MIN)..=(comm, i64::MAX)).filter_map(|(key, wire_bytes)| {
            let asked_bytes = *asked.get(key).filter(|bytes| **bytes > 0)?;
            Some(Amplification { comm, op: Some(key.1), asked_bytes, wire_bytes: *wire_bytes })
        });
        let mut both: Vec<Amplification> = both.collect();
        both.sort_by_key(|row| (Reverse(row.wire_bytes), row.op));
        rows.extend(both);
    }
    rows
}
