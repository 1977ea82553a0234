//! What was measured of the machine: bandwidths and times by size, by groups, and by active ranks with the model that suits them.

use insight::query::bench::models::{Fitted, fitted};
use insight::query::bench::{Case, Measured, Measurements};
use insight::views::bench::{head, pattern, title};
use serde_json::{Value, json};
use through_core::text::path::relative;

use super::cells::part_of;
use super::lists::text;
use crate::pack::list;

/// Measurements, the first of the list.
const MOST: usize = 5000;
/// A line of a model is drawn to so many ranks.
const MOST_RANKS: u64 = 256;

/// Nothing: there are none.
pub fn bench(measured: Option<&Measurements>, caps: &mut Vec<String>) -> Option<Value> {
    let measured = measured.filter(|measured| !measured.results.is_empty())?;
    let all = measured.results.len();
    if all > MOST {
        caps.push(format!("The page has {} of the measurements of the machine.", part_of(MOST, all, "row")));
    }
    let rows: Vec<Value> = measured.results.iter().take(MOST).map(row).collect();
    let models: Vec<Value> = fitted(&measured.results, None).iter().filter_map(model).take(MOST).collect();
    let lines: Vec<[String; 2]> =
        head(measured).into_iter().map(|line| [line.name.to_owned(), text(&line.text)]).collect();
    Some(json!({
        "path": measured.paths.first().map(|path| text(&relative(path).to_string_lossy())),
        "lines": lines,
        "rows": list(Value::Array(rows)),
        "models": list(Value::Array(models)),
    }))
}

/// `dense omni`.
fn family(case: &Case) -> String {
    format!("{} {}", case.family, case.direction)
}

fn row(row: &Measured) -> Value {
    let interval = row.time_s.interval;
    json!({
        "pattern": text(&pattern(&row.case)),
        "family": text(&family(&row.case)),
        "n": row.case.n,
        "g": row.case.g,
        "k": row.case.k,
        "library": text(&row.case.library),
        "buffers": text(&row.case.buffers),
        "bytes": row.case.bytes,
        "step": row.case.step,
        "steps_s": row.steps_s,
        "gained_s": row.gained_s(),
        "message_bytes": row.message_bytes,
        "median_s": row.time_s.median,
        "ci_lo_s": interval.map(|interval| interval.low),
        "ci_hi_s": interval.map(|interval| interval.high),
        "p99_s": row.time_s.p99,
        "bandwidth": row.bandwidth(),
        "bandwidth_lo": interval.and_then(|interval| row.bandwidth_at(interval.high)),
        "bandwidth_hi": interval.and_then(|interval| row.bandwidth_at(interval.low)),
        "half_trip_s": row.half_trip_s,
        "reps": row.reps,
        "launches": row.launches,
        "wrong": row.wrong,
        "flag": row.flag.as_deref().map(text),
    })
}

/// Nothing of one k, which tells nothing of network interfaces.
fn model(fitted: &Fitted) -> Option<Value> {
    let best = fitted.fits.first().filter(|_| fitted.ks().len() > 1)?;
    let said = |k: u64| json!([k, best.nic_bandwidth * best.model.scale(k)]);
    let alike = fitted.alike().map(|fit| title(&fit.model)).collect::<Vec<_>>();
    Some(json!({
        "pattern": text(&pattern(&fitted.case)),
        "family": text(&family(&fitted.case)),
        "library": text(&fitted.case.library),
        "buffers": text(&fitted.case.buffers),
        "bytes": fitted.case.bytes,
        "model": title(&best.model),
        "nic_bandwidth": best.nic_bandwidth,
        "residual": best.residual,
        "alike": alike,
        "line": (1..=fitted.case.g.min(MOST_RANKS)).map(said).collect::<Vec<_>>(),
    }))
}
