//! Many runs: their configurations, how far runs of each lie apart, and the time of each entry against the run time.

use insight::query::compare::correlate::Correlations;
use insight::query::compare::run::Run;
use serde_json::{Value, json};
use through_core::text::escape::path;
use through_core::text::path::relative;

use super::lists::text;
use crate::pack::list;

/// Entries, those that go together with most of the run time first.
const MOST_ENTRIES: usize = 200;
const MOST_BOXES: usize = 1_000;

/// Fewer runs are compared one by one.
const LEAST: usize = 3;

pub fn runs(runs: &[Run]) -> Option<Value> {
    if runs.len() < LEAST {
        return None;
    }
    let found = Correlations::of(runs, &[]);
    let configurations = found.configurations.iter().map(|one| {
        json!({
            "title": text(&one.title), "runs": one.runs, "mean_s": one.mean_s, "mean_mpi_s": one.mean_mpi_s,
            "median_s": one.median.map(|median| median.median), "quarter_s": one.quarter_s, "three_quarters_s": one.three_quarters_s,
        })
    });
    let told = found.runs.iter().zip(runs).map(|(point, run)| {
        json!({
            "path": path(&relative(&run.path)), "configuration": point.configuration, "is_outlier": point.is_outlier,
            "run_time_s": point.run_time_ns as f64 / 1e9, "mpi_s": point.mpi_s,
        })
    });
    let entries = found.rows.iter().take(MOST_ENTRIES).map(|row| {
        json!({
            "comm": text(&row.comm), "label": row.label.as_deref().map(text), "comms": row.members, "size": row.size, "op": text(&row.op),
            "r": row.pearson.map(|found| found.r), "verdict": row.verdict.map(|verdict| verdict.name()), "times_s": row.times_s,
        })
    });
    let boxes = found.spreads.iter().take(MOST_BOXES).map(|one| {
        json!({
            "op": text(&one.op), "size": one.size, "configuration": one.configuration, "runs": one.runs,
            "least_s": one.least_s, "low_s": one.low_s, "quarter_s": one.quarter_s, "median_s": one.median_s,
            "three_quarters_s": one.three_quarters_s, "high_s": one.high_s, "most_s": one.most_s, "outliers_s": one.outliers_s,
        })
    });
    Some(json!({
        "configurations": configurations.collect::<Value>(),
        "runs": told.collect::<Value>(),
        "entries": list(entries.collect()),
        "boxes": list(boxes.collect()),
    }))
}
