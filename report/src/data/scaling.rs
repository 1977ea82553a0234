//! Several runs: on different numbers of ranks how they scale, and on the same one how they went over time.

use insight::query::compare::run::Run;
use insight::query::compare::scaling::{Scaled, Scaling};
use serde_json::{Value, json};
use through_core::text::escape::path;
use through_core::text::path::relative;

use super::lists::text;

/// Families of communicators, those with most time first.
const MOST_FAMILIES: usize = 100;

/// Nothing: all runs have the same number of ranks.
pub fn scaling(runs: &[Run]) -> Option<Value> {
    let found = Scaling::of(runs)?;
    let size = |size: &Scaled| {
        json!({
            "ranks": size.ranks, "runs": size.runs, "path": path(&relative(&runs[size.run].path)),
            "run_time_s": size.run_time_ns as f64 / 1e9,
            "mpi_s": size.mpi_ns as f64 / size.ranks as f64 / 1e9,
            "working_rank_s": size.working_ns as f64 / 1e9,
            "parallel_efficiency": size.factors.parallel_efficiency,
            "load_balance": size.factors.load_balance,
            "load_balance_in_nodes": size.factors.load_balance_in_nodes,
            "load_balance_between_nodes": size.factors.load_balance_between_nodes,
            "communication_efficiency": size.factors.communication_efficiency,
            "strong": size.strong, "weak": size.weak,
        })
    };
    let families = found.families.iter().take(MOST_FAMILIES);
    let family = |family: &insight::query::compare::scaling::Family| json!({ "comm": text(&family.comm), "label": family.label.as_deref().map(text), "times_s": family.times_s });
    Some(json!({
        "is_weak": found.is_weak,
        "sizes": found.sizes.iter().map(size).collect::<Vec<_>>(),
        "families": families.map(family).collect::<Vec<_>>(),
    }))
}

/// Nothing: no two runs of the same number of ranks say when they began.
pub fn history(runs: &[Run]) -> Option<Value> {
    let dated: Vec<(&String, &Run)> = runs.iter().filter_map(|run| Some((run.meta.get("start_time")?, run))).collect();
    let has_kin =
        |(start, run): &(&String, &Run)| dated.iter().any(|(other, of)| of.ranks == run.ranks && other != start);
    let mut kept: Vec<(&String, &Run)> = dated.iter().copied().filter(has_kin).collect();
    kept.sort_by_key(|(start, _)| *start);
    let told = |(start, run): &(&String, &Run)| {
        json!({
            "start": text(start), "path": path(&relative(&run.path)), "ranks": run.ranks,
            "run_time_s": run.run_time_ns as f64 / 1e9, "mpi_s": run.per_rank_s(run.mpi_ns),
        })
    };
    (!kept.is_empty()).then(|| kept.iter().map(told).collect())
}
