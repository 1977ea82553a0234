//! Several runs side by side: what changed from the first to the last one, and time by the size of communicators in each.

use std::collections::{BTreeMap, HashMap};

use insight::query::compare::changes::Comparison;
use insight::query::compare::layers::{Beside, Layers};
use insight::query::compare::run::Run;
use insight::views::diff_layers::sentence;
use serde_json::{Value, json};
use through_core::Error;
use through_core::query::catalog::Catalog;
use through_core::query::edges::edges;
use through_core::query::filter::Filter;
use through_core::query::open::Profile;
use through_core::text::escape::path;
use through_core::text::path::relative;

use super::lists::text;
use crate::pack::{Columns, list};

/// Entries of the ledger, the largest changes first.
const MOST_ENTRIES: usize = 500;
/// Pairs of ranks whose bytes changed, the largest changes first.
const MOST_PAIRS: usize = 20_000;

/// All of them; none where there is only one.
pub fn runs(profile: &Profile, others: &[Profile]) -> Result<Vec<Run>, Error> {
    let all = [profile].into_iter().chain(others).filter(|_| !others.is_empty());
    Ok(all.map(Run::read).collect::<Result<_, _>>()?)
}

/// Nothing: there is one run.
pub fn diff(
    profile: &Profile,
    catalog: &Catalog,
    others: &[Profile],
    mut runs: Vec<Run>,
) -> Result<Option<Value>, Error> {
    let Some(last) = others.last() else { return Ok(None) };
    let changes = pairs(profile, catalog, last)?;
    let below = {
        let [Some(first), Some(last)] = [runs.first(), runs.last()] else { return Ok(None) };
        layers(&Layers::of([std::slice::from_ref(first), std::slice::from_ref(last)]))
    };
    let sizes: Vec<Value> = runs.iter().map(by_size).collect();
    let told: Vec<Value> = runs
        .iter()
        .zip(sizes)
        .map(|(run, sizes)| {
            json!({
                "path": path(&relative(&run.path)),
                "command": run.meta.get("command").map(|command| text(command)),
                "ranks": run.ranks,
                "run_time_s": run.run_time_ns as f64 / 1e9,
                "working_rank_s": run.working_ns as f64 / 1e9,
                "sizes": sizes,
            })
        })
        .collect();
    let (Some(b), true) = (runs.pop(), !runs.is_empty()) else { return Ok(None) };
    let comparison = Comparison::of(vec![runs.swap_remove(0)], vec![b]);
    let entries: Vec<Value> = comparison
        .entries
        .iter()
        .filter(|entry| entry.delta_ns != 0 || entry.has_changed != (false, false))
        .take(MOST_ENTRIES)
        .map(|entry| {
            json!({
                "what": entry.what.words(),
                "op": entry.what.op().map(text),
                "comms": entry.comm.names.clone().map(|name| name.as_deref().map(text)),
                "label": entry.comm.label.as_deref().map(text),
                "delta_rank_s": entry.delta_ns as f64 / 1e9,
                "per_rank_s": entry.per_rank_ns as f64 / 1e9,
                "parts_rank_s": entry.parts_ns.map(|part| part as f64 / 1e9),
                "reason": entry.because_of(),
                "calls": entry.calls,
                "bytes": entry.bytes.map(|bytes| bytes as f64),
            })
        })
        .collect();
    Ok(Some(json!({
        "runs": told,
        "run_time_s": comparison.run_time_ns.map(|ns| ns as f64 / 1e9),
        "delta_rank_s": comparison.delta_whole_ns as f64 / 1e9,
        "entries": list(Value::Array(entries)),
        "is_by_call": comparison.is_by_call,
        "pairs": changes,
        "layers": below,
    })))
}

/// What layers did on both sides, and what took the place of what.
fn layers(layers: &Layers) -> Value {
    let row = |row: &Beside| {
        json!([
            text(&row.layer),
            text(&row.protocol),
            text(&row.transport),
            row.calls,
            row.bytes.map(|bytes| bytes as f64)
        ])
    };
    json!({
        "turns": layers.turns.iter().map(|turn| text(&sentence(turn))).collect::<Vec<_>>(),
        "rows": list(layers.rows.iter().take(MOST_ENTRIES).map(row).collect()),
    })
}

/// Size of the communicators, operation, time in rank-seconds.
fn by_size(run: &Run) -> Value {
    let mut sums: BTreeMap<(u64, &str), i128> = BTreeMap::new();
    for cell in &run.cells {
        let size = run.comms.get(cell.comm).and_then(|comm| comm.size).unwrap_or(0);
        *sums.entry((size, &cell.op)).or_default() += cell.time_ns;
    }
    sums.into_iter().take(MOST_ENTRIES).map(|((size, op), ns)| json!([size, text(op), ns as f64 / 1e9])).collect()
}

/// Bytes from rank to rank, before and after.
fn pairs(profile: &Profile, catalog: &Catalog, last: &Profile) -> Result<Value, Error> {
    let mut sums: HashMap<(i64, i64), [u64; 2]> = HashMap::new();
    for (side, profile) in [profile, last].into_iter().enumerate() {
        for edge in edges(profile, &Filter::default())? {
            let sum = &mut sums.entry((edge.src, edge.dst)).or_default()[side];
            *sum = sum.saturating_add(edge.bytes);
        }
    }
    let ranks = catalog.processes.len();
    let mut rows: Vec<((i64, i64), [u64; 2])> = sums.into_iter().filter(|(_, [a, b])| a != b).collect();
    rows.sort_by_key(|(ends, [a, b])| (std::cmp::Reverse(a.abs_diff(*b)), *ends));
    let all = rows.len();
    rows.truncate(MOST_PAIRS);
    rows.sort_unstable();
    let mut columns = Columns::default();
    columns.add_differences("src", rows.iter().map(|((src, _), _)| *src));
    columns.add_differences("dst", rows.iter().map(|((_, dst), _)| *dst));
    for side in [0, 1] {
        let name = ["bytes_a", "bytes_b"][side];
        columns.add(name, rows.iter().map(|(_, bytes)| bytes[side].min(i64::MAX as u64) as i64));
    }
    Ok(json!({ "ranks": ranks, "all": all, "shown": rows.len(), "changes": columns.finish() }))
}
