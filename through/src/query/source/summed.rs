//! The view `summary` has the sums over all ranks, per phase and, in a run with phases, over all phases. The
//! cells of a row of it lie together and are found by their number, which is the row's `first_cell` and the rank.

use std::collections::BTreeSet;

use super::columns;
use super::{ALL_RANKS, GROUP, Parameters, Relation, SUM};
use crate::query::filter::Filter;
use crate::query::range::TimeRange;

/// Whether a group is left by the filter of times in part only: its cells must be looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Groups {
    All,
    Divided,
}

/// Rows that hold exactly what the filter leaves of a group, if there are such rows: not where several phases are to be
/// added up, and not for single ranks. The filter of times is left to the caller.
pub fn groups(filter: &Filter) -> Option<Relation> {
    let sums = columns::of_sums();
    let wanted = wanted_phase(filter, "s").filter(|_| filter.ranks.is_none())?;
    let mut parameters = Parameters::default();
    let condition = key_condition(filter, "s", &mut parameters);
    let sql = format!("SELECT s.comm, s.op, s.bucket, {sums} FROM summary s WHERE {wanted}{condition}");
    Some(Relation { sql, values: parameters.0 })
}

/// The same with a filter of times, which leaves most groups whole, or nothing of them: their extremes tell. Only the others
/// are added up from their cells.
pub fn groups_in_time(filter: &Filter) -> Relation {
    let sums = columns::of_sums();
    let mut parameters = Parameters::default();
    let key = if is_whole(filter) { SUM } else { GROUP };
    let cells = cells_of(filter, Groups::Divided, &mut parameters);
    let divided = super::added_up(Relation { sql: cells, values: Vec::new() }, GROUP, key, true).sql;
    let wanted = wanted_phase(filter, "s").unwrap_or_else(|| "false".to_owned());
    let condition = key_condition(filter, "s", &mut parameters);
    let whole = whole_in_time(filter, "s", &mut parameters);
    let sql = format!(
        "SELECT s.comm, s.op, s.bucket, {sums} FROM summary s WHERE {wanted}{condition} AND {whole} UNION ALL {divided}"
    );
    Relation { sql, values: parameters.0 }
}

pub fn groups_by_phase(filter: &Filter) -> Relation {
    let sums = columns::of_sums();
    let mut parameters = Parameters::default();
    let (phases, condition) = (phase_condition(filter), key_condition(filter, "s", &mut parameters));
    let sql = format!("SELECT s.comm, s.op, s.bucket, s.phase, {sums} FROM summary s WHERE {phases}{condition}");
    Relation { sql, values: parameters.0 }
}

pub fn cells(filter: &Filter) -> Relation {
    let mut parameters = Parameters::default();
    let sql = cells_of(filter, Groups::All, &mut parameters);
    Relation { sql, values: parameters.0 }
}

pub fn parts(filter: &Filter) -> Relation {
    let mut parameters = Parameters::default();
    let parts = parts_of(filter, Groups::All, "s.phase", &mut parameters);
    let sql = match filter.time.filter(|_| !is_whole(filter)) {
        None => parts,
        Some(TimeRange { low_ns, high_ns }) => {
            let (low, high) = (parameters.bind(low_ns), parameters.bind(high_ns));
            format!(
                "SELECT comm, op, bucket, rank, {}, phase FROM (SELECT *, sum(time_ns) OVER (PARTITION BY comm, op, \
                 bucket, rank) AS whole_ns FROM ({parts})) WHERE whole_ns BETWEEN {low} AND {high}",
                columns::names()
            )
        }
    };
    Relation { sql, values: parameters.0 }
}

/// The rows of sums in the form of cells, for profiles that hold nothing finer.
pub fn without_ranks(filter: &Filter) -> Relation {
    let mut parameters = Parameters::default();
    let condition = key_condition(filter, "s", &mut parameters);
    let (phases, phase) = match filter.phases {
        Some(_) => (phase_condition(filter), "s.phase"),
        None => (wanted_phase(filter, "s").unwrap_or_default(), "NULL"),
    };
    let counters = columns::of("s");
    let sql = format!(
        "SELECT s.comm, s.op, s.bucket, {ALL_RANKS} AS rank, {counters}, {phase} AS phase, s.id AS sum \
         FROM summary s \
         WHERE {phases}{condition}"
    );
    Relation { sql, values: parameters.0 }
}

/// Of everything that was done on a communicator.
pub fn spreads() -> Relation {
    let sql = "SELECT c.id AS comm, c.time_ranks AS ranks, c.time_ns, coalesce(c.rank_max_ns, c.time_ns) AS rank_max_ns, \
               coalesce(c.rank_min_ns, c.time_ns) AS rank_min_ns FROM communicator c WHERE c.time_ranks > 0";
    Relation { sql: sql.to_owned(), values: Vec::new() }
}

/// Of communicators of which the filter leaves one row: its spread is theirs.
pub fn spreads_of_single_groups(filter: &Filter, mpi_time: impl Fn(&str) -> String) -> Relation {
    let mut parameters = Parameters::default();
    let wanted = wanted_phase(filter, "n").unwrap_or_else(|| "false".to_owned());
    let condition = key_condition(filter, "n", &mut parameters);
    let [time, most, least] = ["n.time_ns", "n.rank_max_ns", "n.rank_min_ns"].map(mpi_time);
    let sql = format!(
        "SELECT n.comm, n.ranks, {time} AS time_ns, {most} AS rank_max_ns, {least} AS rank_min_ns FROM summary n \
         WHERE {wanted}{condition} GROUP BY n.comm HAVING count(*) = 1"
    );
    Relation { sql, values: parameters.0 }
}

fn cells_of(filter: &Filter, groups: Groups, parameters: &mut Parameters) -> String {
    if is_whole(filter) {
        return parts_of(filter, groups, "NULL", parameters);
    }
    let parts = parts_of(filter, groups, "s.phase", parameters);
    let in_time = match filter.time {
        Some(TimeRange { low_ns, high_ns }) => {
            format!(" HAVING sum(time_ns) BETWEEN {} AND {}", parameters.bind(low_ns), parameters.bind(high_ns))
        }
        None => String::new(),
    };
    format!(
        "SELECT comm, op, bucket, rank, {}, NULL AS phase FROM ({parts}) p GROUP BY comm, op, bucket, rank{in_time}",
        columns::merged("p")
    )
}

/// The cells of all ranks and phases that are left: a cell as `x`, its row of sums being `s`, or that row where it is the only one. Of
/// times only what a cell can be measured by alone.
fn parts_of(filter: &Filter, groups: Groups, phase: &str, parameters: &mut Parameters) -> String {
    let (mut with, mut tables, mut cells) = (String::new(), "summary s".to_owned(), "s.first_cell AND s.last_cell");
    let mut is_there = "(x.id IS NOT NULL OR s.only_rank IS NOT NULL)";
    let mut condition = phase_condition(filter) + &key_condition(filter, "s", parameters);
    let is_whole = is_whole(filter);
    if filter.time.is_some() {
        // The row that tells how long ranks spent in all: that of the cells, or the one over all phases.
        let total = if is_whole { "s" } else { "t" };
        if !is_whole && filter.phases.is_none() {
            tables =
                "summary t CROSS JOIN summary s ON s.comm = t.comm AND s.op = t.op AND s.bucket = t.bucket".to_owned();
            condition += " AND t.phase IS NULL";
        }
        if is_whole || filter.phases.is_none() {
            condition += &format!(" AND {}", partly_in_time(filter, total, parameters));
            if groups == Groups::Divided {
                condition += &format!(" AND NOT ({})", whole_in_time(filter, total, parameters));
            }
        }
    }
    if let Some(ranks) = &filter.ranks {
        let ranges = parameters.bind(ranges(ranks));
        with = format!(
            "WITH wanted(low, high) AS MATERIALIZED (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') \
             FROM json_each({ranges})) "
        );
        tables += " CROSS JOIN wanted w";
        cells = "s.first_cell + w.low AND min(s.last_cell, s.first_cell + w.high)";
        is_there = "(x.id IS NOT NULL OR s.only_rank BETWEEN w.low AND w.high)";
    }
    if let Some(TimeRange { low_ns, high_ns }) = filter.time.filter(|_| is_whole) {
        condition += &format!(
            " AND coalesce(x.time_ns, s.time_ns) BETWEEN {} AND {}",
            parameters.bind(low_ns),
            parameters.bind(high_ns)
        );
    }
    format!(
        "{with}SELECT s.comm AS comm, s.op AS op, s.bucket AS bucket, coalesce(x.id - s.first_cell, s.only_rank) AS rank, {}, \
         {phase} AS phase, s.id AS sum FROM {tables} LEFT JOIN cell x ON x.id BETWEEN {cells} \
         LEFT JOIN uneven_cell u ON u.id = x.id WHERE {condition} AND {is_there}",
        columns::of_cells()
    )
}

/// Whether what a rank did in one group is one cell, or in several phases several.
pub fn is_whole(filter: &Filter) -> bool {
    !filter.is_phased || filter.phases.as_ref().is_some_and(|phases| phases.len() == 1)
}

/// The rows over all phases that are left together, if there are such rows.
fn wanted_phase(filter: &Filter, table: &str) -> Option<String> {
    match &filter.phases {
        _ if !filter.is_phased => Some(format!("{table}.phase IS NOT NULL")),
        None => Some(format!("{table}.phase IS NULL")),
        Some(phases) if phases.len() == 1 => Some(format!("{table}.phase = {}", phases.first()?)),
        Some(_) => None,
    }
}

/// The rows of single phases.
fn phase_condition(filter: &Filter) -> String {
    match &filter.phases {
        Some(phases) if filter.is_phased => {
            let numbers: Vec<String> = phases.iter().map(i64::to_string).collect();
            format!("s.phase IN ({})", numbers.join(","))
        }
        _ => "s.phase IS NOT NULL".to_owned(),
    }
}

fn key_condition(filter: &Filter, table: &str, parameters: &mut Parameters) -> String {
    [("comm", &filter.comms), ("op", &filter.ops), ("bucket", &filter.buckets)]
        .map(|(column, numbers)| parameters.among(&format!("{table}.{column}"), numbers))
        .concat()
}

/// That any rank of the group may have spent such a time.
fn partly_in_time(filter: &Filter, table: &str, parameters: &mut Parameters) -> String {
    let Some(TimeRange { low_ns, high_ns }) = filter.time else { return "true".to_owned() };
    let (low, high) = (parameters.bind(low_ns), parameters.bind(high_ns));
    format!("{table}.rank_max_ns >= {low} AND {table}.rank_min_ns <= {high}")
}

/// That all ranks of the group spent such a time.
fn whole_in_time(filter: &Filter, table: &str, parameters: &mut Parameters) -> String {
    let Some(TimeRange { low_ns, high_ns }) = filter.time else { return "true".to_owned() };
    let (low, high) = (parameters.bind(low_ns), parameters.bind(high_ns));
    format!("{table}.rank_min_ns >= {low} AND {table}.rank_max_ns <= {high}")
}

/// Ranks as ranges in JSON: there may be a hundred thousand of them, to be looked up in each of a thousand groups.
fn ranges(ranks: &BTreeSet<i64>) -> String {
    let mut ranges: Vec<(i64, i64)> = Vec::new();
    for rank in ranks.iter().copied().filter(|rank| *rank >= 0) {
        match ranges.last_mut() {
            Some((_, last)) if rank - 1 == *last => *last = rank,
            _ => ranges.push((rank, rank)),
        }
    }
    let words: Vec<String> = ranges.iter().map(|(first, last)| format!("[{first},{last}]")).collect();
    format!("[{}]", words.join(","))
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn ranks_are_looked_up_in_ranges() {
        let of = |ranks: &[i64]| ranges(&ranks.iter().copied().collect());
        assert_eq!(of(&[0, 1, 2, 5, 7, 8]), "[[0,2],[5,5],[7,8]]");
        assert_eq!((of(&[]), of(&[-3, i64::MAX])), ("[]".to_owned(), format!("[[{0},{0}]]", i64::MAX)));
    }
}
