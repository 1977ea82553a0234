//! How messages were sent, by communicator and size: at once (eager), or after an agreement, in which the receiver gets the
//! data or the sender puts it.

use std::collections::BTreeMap;

use commsee::ccl;

use super::known::MESSAGES;
use crate::query::catalog::Catalog;
use crate::query::filter::Filter;
use crate::query::transfers::{Group, Sums};

#[derive(Clone, Copy, Debug, Default)]
pub struct Protocols {
    pub comm: i64,
    pub bucket: i64,
    pub eager: Sums,
    pub get: Sums,
    pub put: Sums,
    /// Any other, among them rendezvous of which nobody could tell put from get.
    pub other: Sums,
}

impl Protocols {
    pub fn bytes(&self) -> u64 {
        [self.eager, self.get, self.put, self.other].iter().fold(0, |sum, sums| sum.saturating_add(sums.bytes))
    }
}

/// Of the layer of messages, unless the filter names layers. The communicators with most bytes first.
pub fn protocols(groups: &[Group], catalog: &Catalog, filter: &Filter, has_layers: bool) -> Vec<Protocols> {
    let mut rows: BTreeMap<(i64, i64), Protocols> = BTreeMap::new();
    for group in groups.iter().filter(|group| filter.has_group(group)) {
        let Some(route) = catalog.routes.get(&group.route) else { continue };
        // Layers with communicators of their own have algorithms in place of these.
        if !has_layers && route.layer != MESSAGES || group.layer_comm.is_some() && ccl::find(&route.function).is_some()
        {
            continue;
        }
        let row = rows.entry((group.comm, group.bucket)).or_insert(Protocols {
            comm: group.comm,
            bucket: group.bucket,
            ..Protocols::default()
        });
        let sums = match route.protocol.as_str() {
            "eager" => &mut row.eager,
            "rndv-get" => &mut row.get,
            "rndv-put" => &mut row.put,
            _ => &mut row.other,
        };
        sums.add(&group.sums);
    }
    let mut bytes: BTreeMap<i64, u64> = BTreeMap::new();
    for row in rows.values() {
        let sum = bytes.entry(row.comm).or_default();
        *sum = sum.saturating_add(row.bytes());
    }
    let mut rows: Vec<Protocols> = rows.into_values().collect();
    let is_special = |comm: i64| catalog.communicators.get(&comm).is_none_or(|comm| comm.is_special());
    rows.sort_by_key(|row| (is_special(row.comm), std::cmp::Reverse(bytes[&row.comm]), row.comm, row.bucket));
    rows
}
