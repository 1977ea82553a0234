//! Versions 1 and 2: one table of cells, which lie in the order of communicator, operation, bucket, rank and phase.

use super::{NUMBERS, Parameters, Relation};
use crate::query::filter::Filter;
use crate::query::range::TimeRange;

pub fn cells(filter: &Filter) -> Relation {
    let (condition, parameters) = condition(filter);
    let numbers = NUMBERS.map(|column| format!("x.{column}")).join(", ");
    let sql = format!(
        "SELECT x.comm, x.op, x.bucket, x.rank, {numbers}, NULL AS phase FROM {} x WHERE {condition}",
        whole(filter)
    );
    Relation { sql, values: parameters.0 }
}

pub fn parts(filter: &Filter) -> Relation {
    let (condition, parameters) = condition(filter);
    let numbers = |table: &str| NUMBERS.map(|column| format!("{table}.{column}")).join(", ");
    let cell = "x.comm, x.op, x.bucket, x.rank";
    let sql = match filter.is_phased {
        false => format!("SELECT {cell}, {}, 0 AS phase FROM cell x WHERE {condition}", numbers("x")),
        true => format!(
            "SELECT {cell}, {}, p.phase FROM {} x JOIN cell p ON p.comm = x.comm AND p.op = x.op AND \
             p.bucket = x.bucket AND p.rank = x.rank WHERE {condition} AND {}",
            numbers("p"),
            whole(filter),
            phase_condition(filter)
        ),
    };
    Relation { sql, values: parameters.0 }
}

/// The cells of the phases that are left as a table, what one rank did in several of them added up.
fn whole(filter: &Filter) -> String {
    if !filter.is_phased {
        return "cell".to_owned();
    }
    format!(
        "(SELECT comm, op, bucket, rank, sum(calls) AS calls, sum(failed) AS failed, sum(bytes_sent) AS bytes_sent, \
         sum(bytes_recv) AS bytes_recv, sum(time_ns) AS time_ns, min(time_min_ns) AS time_min_ns, \
         max(time_max_ns) AS time_max_ns FROM cell p WHERE {} GROUP BY comm, op, bucket, rank)",
        phase_condition(filter)
    )
}

/// That the phase of a cell, as `p`, is among those that are left.
fn phase_condition(filter: &Filter) -> String {
    match &filter.phases {
        Some(phases) if filter.is_phased => {
            let numbers: Vec<String> = phases.iter().map(i64::to_string).collect();
            format!("p.phase IN ({})", numbers.join(","))
        }
        _ => "true".to_owned(),
    }
}

/// A condition over these cells, as `x`.
fn condition(filter: &Filter) -> (String, Parameters) {
    let mut parameters = Parameters::default();
    let mut condition = "true".to_owned();
    for (column, numbers) in
        [("x.comm", &filter.comms), ("x.op", &filter.ops), ("x.bucket", &filter.buckets), ("x.rank", &filter.ranks)]
    {
        condition += &parameters.among(column, numbers);
    }
    if let Some(TimeRange { low_ns, high_ns }) = filter.time {
        let (low, high) = (parameters.bind(low_ns), parameters.bind(high_ns));
        condition += &format!(" AND x.time_ns BETWEEN {low} AND {high}");
    }
    (condition, parameters)
}
