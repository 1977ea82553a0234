//! What layers below MPI did: by rank, and on their own communicators.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};
use through_core::query::Error;
use through_core::query::catalog::Catalog;
use through_core::query::copies;
use through_core::query::filter::Filter;
use through_core::query::layers::calls as query;
use through_core::query::open::Profile;
use through_core::query::routes::Route;
use through_core::query::transfers::{self, Sums, groups};

use super::cells::part_of;
use super::lists::{Lists, text};
use crate::pack::{Columns, list};

/// Rows of sums.
const MOST_ROWS: usize = 20_000;
/// Of more transfers the sums over ranks are read, which a profile has.
const MOST_TRANSFERS: usize = 2_000_000;

/// The places of routes in the list of [`layers`].
pub fn places(catalog: &Catalog) -> HashMap<i64, usize> {
    catalog.routes.keys().enumerate().map(|(at, route)| (*route, at)).collect()
}

/// Route, communicator, operation, message size, and the rank; -1: all of them.
type Key = ([usize; 4], i64);

/// By rank, communicator, operation, message size and route.
pub fn layers(
    profile: &Profile,
    catalog: &Catalog,
    lists: &Lists,
    caps: &mut Vec<String>,
) -> Result<Option<Value>, Error> {
    let mut sums: BTreeMap<Key, Sums> = BTreeMap::new();
    let routes = places(catalog);
    let mut add = |[route, comm, op, bucket]: [i64; 4], rank: i64, of: &Sums| {
        if let Some(route) = routes.get(&route) {
            let key = [*route, lists.comm(comm), lists.op(op), lists.bucket(bucket)];
            sums.entry((key, rank)).or_default().add(of);
        }
    };
    let all = Filter::default();
    if transfers::count(profile, &all)? <= MOST_TRANSFERS {
        transfers::each(profile, &all, None, |row| {
            add([row.route, row.comm, row.op, row.bucket], row.rank.rank().unwrap_or(-1), &row.sums);
            Ok(())
        })?;
    } else {
        for group in groups(profile, &all)? {
            add([group.route, group.comm, group.op, group.bucket], -1, &group.sums);
        }
    }
    if sums.len() > MOST_ROWS {
        let by_rank = std::mem::take(&mut sums);
        by_rank.into_iter().for_each(|((key, _), of)| sums.entry((key, -1)).or_default().add(&of));
    }
    let mut rows: Vec<(Key, Sums)> = sums.into_iter().collect();
    if rows.len() > MOST_ROWS {
        rows.sort_by_key(|(_, sums)| std::cmp::Reverse(sums.bytes));
        caps.push(format!(
            "The page has only the heaviest rows of layers below MPI: {}.",
            part_of(MOST_ROWS, rows.len(), "row")
        ));
        rows.truncate(MOST_ROWS);
        rows.sort_by_key(|(key, _)| *key);
    }
    let mut columns = Columns::default();
    for (at, name) in ["route", "comm", "op", "bucket"].into_iter().enumerate() {
        columns.add_differences(name, rows.iter().map(|((key, _), _)| key[at] as i64));
    }
    columns.add_differences("rank", rows.iter().map(|((_, rank), _)| *rank));
    columns.add("calls", rows.iter().map(|(_, sums)| sums.calls));
    columns.add("bytes", rows.iter().map(|(_, sums)| sums.bytes.min(i64::MAX as u64) as i64));
    columns.add("later", rows.iter().map(|(_, sums)| sums.later));
    columns.add("time_ns", rows.iter().map(|(_, sums)| sums.time_ns));
    let are_ranks_told = rows.iter().all(|((_, rank), _)| *rank >= 0);
    let routes = list(catalog.routes.values().map(route).collect());
    Ok((!rows.is_empty()).then(|| json!({ "routes": routes, "ranks": are_ranks_told, "sums": columns.finish() })))
}

fn route(route: &Route) -> Value {
    let words = [&route.layer, &route.function, &route.protocol, &route.transport, &route.device, &route.kind];
    // Of a copy: the memories at both ends.
    let ends = copies::ends(route).map(|ends| ends.map(|gpu| text(gpu.unwrap_or("host"))));
    json!({ "words": words.map(|word| text(word)), "arrives": route.arrives, "ends": ends })
}

/// What was called on communicators of layers, by function, message size and algorithm.
pub fn calls(
    profile: &Profile,
    catalog: &Catalog,
    lists: &Lists,
    caps: &mut Vec<String>,
) -> Result<Option<Value>, Error> {
    let mut found = query::calls(profile, catalog, &Filter { has_layer_comms: true, ..Filter::default() })?;
    if found.len() > MOST_ROWS {
        found.sort_by_key(|calls| std::cmp::Reverse(calls.total.bytes));
        let part = part_of(MOST_ROWS, found.len(), "row");
        caps.push(format!("The page has only the calls with most bytes on communicators of layers: {part}."));
        found.truncate(MOST_ROWS);
    }
    let of_ranks: usize = found.iter().map(|calls| calls.ranks.len()).sum();
    let are_ranks_told = of_ranks <= MOST_ROWS && found.iter().all(|calls| calls.callers().is_some());
    let comm = |number: i64| catalog.communicators.get(&number);
    let same =
        |number: i64| comm(number).and_then(|comm| query::same_ranks(comm, catalog)).map(|comm| text(&comm.name));
    let row = |calls: &query::Calls| {
        let (sent, received) = calls.sent_and_received(calls.total.bytes);
        json!({
            "comm": lists.comm(calls.comm),
            "same": same(calls.comm),
            "layer": text(&calls.layer),
            "function": text(&calls.function),
            "protocol": text(&calls.protocol),
            "bucket": lists.bucket(calls.bucket),
            "calls": calls.performed,
            "sent": sent as f64,
            "received": received as f64,
            "time_ns": (calls.total.later > 0).then_some(calls.total.time_ns),
            // Calls, bytes and time of each rank.
            "ranks": are_ranks_told.then(|| calls.ranks.iter().map(of_rank).collect::<Vec<_>>()),
            "bus": calls.bandwidth.map(|bandwidth| bandwidth.bus),
        })
    };
    Ok((!found.is_empty()).then(|| list(found.iter().map(row).collect())))
}

fn of_rank((rank, sums): (&i64, &Sums)) -> Value {
    json!([rank, sums.calls, sums.bytes as f64, sums.time_ns])
}
