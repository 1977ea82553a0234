//! What layers below MPI did, and between whom.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};
use through_core::query::Error;
use through_core::query::catalog::Catalog;
use through_core::query::copies;
use through_core::query::filter::Filter;
use through_core::query::flows::each;
use through_core::query::layers::calls as query;
use through_core::query::open::Profile;
use through_core::query::routes::Route;
use through_core::query::transfers::{End, REMOTE, Sums, groups};

use super::cells::part_of;
use super::lists::{Lists, text};
use crate::pack::{Columns, list};

/// Rows of sums, and of pairs of ranks.
const MOST_ROWS: usize = 20_000;

/// By communicator, operation, message size and route.
pub fn layers(
    profile: &Profile,
    catalog: &Catalog,
    lists: &Lists,
    caps: &mut Vec<String>,
) -> Result<Option<Value>, Error> {
    let mut sums: BTreeMap<[usize; 4], Sums> = BTreeMap::new();
    let routes: HashMap<i64, usize> = catalog.routes.keys().enumerate().map(|(at, route)| (*route, at)).collect();
    for group in groups(profile, &Filter::default())? {
        let Some(route) = routes.get(&group.route) else { continue };
        let key = [*route, lists.comm(group.comm), lists.op(group.op), lists.bucket(group.bucket)];
        sums.entry(key).or_default().add(&group.sums);
    }
    let mut rows: Vec<([usize; 4], Sums)> = sums.into_iter().collect();
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
        columns.add_differences(name, rows.iter().map(|(key, _)| key[at] as i64));
    }
    columns.add("calls", rows.iter().map(|(_, sums)| sums.calls));
    columns.add("bytes", rows.iter().map(|(_, sums)| sums.bytes.min(i64::MAX as u64) as i64));
    columns.add("later", rows.iter().map(|(_, sums)| sums.later));
    columns.add("time_ns", rows.iter().map(|(_, sums)| sums.time_ns));
    let named = catalog.routes.values().map(|route| {
        let words = [&route.layer, &route.function, &route.protocol, &route.transport, &route.device, &route.kind];
        json!({ "words": words.map(|word| text(word)), "arrives": route.arrives })
    });
    let routes = list(named.collect());
    Ok((!rows.is_empty()).then(|| json!({ "routes": routes, "sums": columns.finish() })))
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
            "bus": calls.bandwidth.map(|bandwidth| bandwidth.bus),
        })
    };
    Ok((!found.is_empty()).then(|| list(found.iter().map(row).collect())))
}

/// Calls and bytes by layer, source, destination, communicator and operation.
type Flows<'a> = BTreeMap<(&'a str, i64, i64, usize, usize), (i64, u64)>;

/// Between ranks, by layer, and by communicator and operation where these are few.
pub fn flows(
    profile: &Profile,
    catalog: &Catalog,
    lists: &Lists,
    caps: &mut Vec<String>,
) -> Result<Option<Value>, Error> {
    if catalog.routes.is_empty() {
        return Ok(None);
    }
    let number = |end: End| match end {
        End::Rank(rank) => rank,
        End::Memory(_) | End::Unknown => -1,
        End::Remote => REMOTE,
    };
    // Copies of GPUs are between no ranks: the graph of devices has them.
    let is_between_ranks = |route: &&Route| !route.arrives && copies::ends(route).is_none();
    let known = |route: i64| catalog.routes.get(&route).filter(is_between_ranks);
    let mut sums: Flows = BTreeMap::new();
    each(profile, catalog, &Filter::default(), false, |sent| {
        // What arrived is the other end of what was sent.
        let Some(route) = known(sent.route) else { return };
        let (comm, op) = (lists.comm(sent.comm), lists.op(sent.op));
        let key = (route.layer.as_str(), number(sent.from), number(sent.to), comm, op);
        let (calls, bytes) = sums.entry(key).or_default();
        *calls = calls.saturating_add(sent.calls);
        *bytes = bytes.saturating_add(sent.bytes);
    })?;
    let of_calls = sums.len() <= MOST_ROWS;
    if !of_calls {
        let mut over_all: Flows = BTreeMap::new();
        for ((layer, src, dst, ..), (calls, bytes)) in sums {
            let sum = over_all.entry((layer, src, dst, 0, 0)).or_default();
            *sum = (sum.0.saturating_add(calls), sum.1.saturating_add(bytes));
        }
        sums = over_all;
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    if rows.len() > MOST_ROWS {
        rows.sort_by_key(|(_, (_, bytes))| std::cmp::Reverse(*bytes));
        caps.push(format!(
            "The page has only the heaviest pairs of the matrices of layers: {}.",
            part_of(MOST_ROWS, rows.len(), "pair")
        ));
        rows.truncate(MOST_ROWS);
        rows.sort_by_key(|(key, _)| *key);
    }
    let mut layers: Vec<&str> = rows.iter().map(|((layer, ..), _)| *layer).collect();
    layers.sort_unstable();
    layers.dedup();
    let layer = |name: &str| layers.binary_search(&name).unwrap_or_default() as i64;
    let mut columns = Columns::default();
    columns.add_differences("layer", rows.iter().map(|((name, ..), _)| layer(name)));
    columns.add_differences("src", rows.iter().map(|((_, src, ..), _)| *src));
    columns.add_differences("dst", rows.iter().map(|((_, _, dst, ..), _)| *dst));
    columns.add_differences("comm", rows.iter().map(|((.., comm, _), _)| *comm as i64));
    columns.add_differences("op", rows.iter().map(|((.., op), _)| *op as i64));
    columns.add("calls", rows.iter().map(|(_, (calls, _))| *calls));
    columns.add("bytes", rows.iter().map(|(_, (_, bytes))| (*bytes).min(i64::MAX as u64) as i64));
    let names: Vec<String> = layers.iter().map(|name| text(name)).collect();
    Ok((!rows.is_empty()).then(|| json!({ "layers": names, "of_calls": of_calls, "pairs": columns.finish() })))
}
