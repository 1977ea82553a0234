//! What layers with communicators of their own chose for what they were asked to move, by communicator, message size and function.

use std::collections::BTreeMap;

use commsee::ccl;
use commsee::shard::Role;

use super::calls::is_of;
use crate::query::catalog::Catalog;
use crate::query::filter::Filter;
use crate::query::transfers::{Group, Sums};

#[derive(Clone, Debug)]
pub struct Algorithm {
    /// The layer's communicator.
    pub comm: i64,
    pub bucket: i64,
    pub function: String,
    /// In the layer's own words; empty where it does not tell.
    pub protocol: String,
    /// Over all ranks.
    pub sums: Sums,
}

/// The communicators with most bytes first.
pub fn algorithms(groups: &[Group], catalog: &Catalog, filter: &Filter) -> Vec<Algorithm> {
    let mut rows: BTreeMap<(i64, i64, &str, &str), Sums> = BTreeMap::new();
    let mut bytes: BTreeMap<i64, u64> = BTreeMap::new();
    for group in groups.iter().filter(|group| filter.has_group(group)) {
        let (Some(comm), Some(route)) = (group.layer_comm, catalog.routes.get(&group.route)) else { continue };
        let module = catalog.communicators.get(&comm).and_then(|comm| comm.layer.as_deref());
        let is_own = module.is_some_and(|module| is_of(module, &route.layer));
        let moves = ccl::find(&route.function).is_some_and(|function| function.kind != ccl::Kind::Control);
        if is_own && moves && route.role == Role::Message && !route.arrives {
            rows.entry((comm, group.bucket, &route.function, &route.protocol)).or_default().add(&group.sums);
            let sum = bytes.entry(comm).or_default();
            *sum = sum.saturating_add(group.sums.bytes);
        }
    }
    let row = |((comm, bucket, function, protocol), sums): ((i64, i64, &str, &str), Sums)| Algorithm {
        comm,
        bucket,
        function: function.to_owned(),
        protocol: protocol.to_owned(),
        sums,
    };
    let mut rows: Vec<Algorithm> = rows.into_iter().map(row).collect();
    rows.sort_by_key(|row| (std::cmp::Reverse(bytes[&row.comm]), row.comm, row.bucket));
    rows
}
