//! The table of runs on different numbers of ranks.

use std::rc::Rc;

use through_core::document::{Audience, Table, Unit, Value};
use through_core::views::{Column, column};

use crate::query::compare::scaling::{Scaled, Scaling};

type Of = Column<Scaled, Option<Scaling>>;

fn factor(factor: Option<f64>) -> Value<'static> {
    Value::some(factor, Value::Ratio)
}

pub const COLUMNS: &[Of] = &[
    Of::new("ranks", "ranks", Unit::Count, "number of ranks", |_, row| Value::Number(row.ranks as i64)),
    Of::new("runs", "runs", Unit::Count, "runs on so many; the one with the median run time is shown", |_, row| {
        Value::Number(row.runs as i64)
    }),
    Of::new("run_time_s", "run time", Unit::Seconds, "of the rank that ran longest", |_, row| {
        Value::Time(row.run_time_ns)
    }),
    Of::new(
        "global_efficiency",
        "global",
        Unit::Ratio,
        "parallel efficiency times computation scaling",
        |found, row| factor(found.as_ref().and_then(|found| found.global(row))),
    ),
    Of::new("parallel_efficiency", "parallel", Unit::Ratio, "load balance times communication efficiency", |_, row| {
        factor(row.factors.parallel_efficiency)
    }),
    Of::new("load_balance", "balance", Unit::Ratio, "mean over maximum of the time outside MPI", |_, row| {
        factor(row.factors.load_balance)
    }),
    Of::new(
        "communication_efficiency",
        "communication",
        Unit::Ratio,
        "maximum of the time outside MPI over the run time",
        |_, row| factor(row.factors.communication_efficiency),
    ),
    Of::new(
        "computation_scaling",
        "computation",
        Unit::Ratio,
        "time outside MPI of all ranks on the fewest ranks over that here; for weak scaling times the ratio of the ranks",
        |found, row| factor(found.as_ref().and_then(|found| found.computation(row))),
    ),
    Of::record("scaling", Unit::Text, "`strong` or `weak`, by the time outside MPI of all ranks", |found, _| {
        Value::maybe(found.as_ref().map(kind))
    }),
];

pub fn kind(scaling: &Scaling) -> &'static str {
    if scaling.is_weak { "weak" } else { "strong" }
}

/// Empty where all runs have the same number of ranks.
pub fn table(found: Option<Scaling>) -> Table {
    let audience = if found.is_some() { Audience::BESIDE } else { Audience::JSON };
    let rows = found.as_ref().map_or_else(Vec::new, |found| found.sizes.clone());
    let mut table =
        Table { audience, is_above: true, ..column::table("scaling", COLUMNS, &Rc::new(found.clone()), rows) };
    table.title = Some("Efficiencies by number of ranks");
    table.legend.extend(found.map(|found| {
        let why = if found.is_weak { "grows with the ranks" } else { "does not grow with the ranks" };
        format!(
            "{} scaling: the time outside MPI of all ranks {why}. computation: against the fewest ranks.",
            kind(&found)
        )
    }));
    table
}
