//! Versions 1 and 2: one table of cells, which lie in the order of communicator, operation, bucket, rank and phase.

use super::columns::Columns;
use super::{Parameters, Relation};
use crate::query::filter::Filter;
use crate::query::range::TimeRange;

pub fn cells(filter: &Filter, columns: Columns) -> Relation {
    let (condition, parameters) = condition(filter);
    let sql = format!(
        "SELECT x.comm, x.op, x.bucket, x.rank, {}, NULL AS phase FROM {} x WHERE {condition}",
        columns.of("x"),
        whole(filter, columns)
    );
    Relation { sql, values: parameters.0 }
}

pub fn parts(filter: &Filter, columns: Columns) -> Relation {
    let (condition, parameters) = condition(filter);
    let cell = "x.comm, x.op, x.bucket, x.rank";
    let sql = match filter.is_phased {
        false => format!("SELECT {cell}, {}, 0 AS phase FROM cell x WHERE {condition}", columns.of("x")),
        true => format!(
            "SELECT {cell}, {}, p.phase FROM {} x JOIN cell p ON p.comm = x.comm AND p.op = x.op AND \
             p.bucket = x.bucket AND p.rank = x.rank WHERE {condition} AND {}",
            columns.of("p"),
            whole(filter, columns),
            phase_condition(filter)
        ),
    };
    Relation { sql, values: parameters.0 }
}

/// The cells of the phases that are left as a table, what one rank did in several of them added up.
fn whole(filter: &Filter, columns: Columns) -> String {
    if !filter.is_phased {
        return "cell".to_owned();
    }
    format!(
        "(SELECT comm, op, bucket, rank, {} FROM cell p WHERE {} GROUP BY comm, op, bucket, rank)",
        columns.merged("p"),
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
