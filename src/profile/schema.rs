//! The schema of a profile: `schema.sql`, with the columns that follow from the table of counters.

use std::sync::LazyLock;

use crate::counters::{Arguments, Calls, Completions, Counter, FileCalls, Merge, Messages, SiteCalls, Stored};
use crate::stream::NO_RANK;

/// `PRAGMA user_version` of the file. Raised with every change of the schema from the first release on: a reader accepts its own alone.
pub const SCHEMA_VERSION: u32 = 1;

/// `total.phase` of a sum over all phases.
pub const OVER_PHASES: i64 = -1;
/// `total.last_rank` of a sum that has no cells.
pub const NO_CELLS: i64 = -1;

/// `PRAGMA application_id` of the file: "msee" in ASCII.
pub const APPLICATION_ID: u32 = 0x6d73_6565;

/// The statements that make an empty profile. SQLite keeps their text in each file: blanks that align it stay out.
pub static SCHEMA: LazyLock<String> = LazyLock::new(|| {
    let mut sql = include_str!("schema.sql").to_owned();
    for (mark, columns) in columns() {
        sql = sql.replace(&format!("@{mark}@"), &columns.join(",\n"));
    }
    sql.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect()
});

/// What the marks of `schema.sql` stand for.
fn columns() -> [(&'static str, Vec<String>); 24] {
    let calls = || Calls::TABLE.iter();
    let sums = || calls().filter(|counter| counter.is_sum());
    let extremes = || Calls::extremes().map(|(_, extreme)| extreme);
    let (messages, arguments) = (|| Messages::TABLE.iter(), || Arguments::TABLE.iter());
    let site_calls = || SiteCalls::TABLE.iter();
    let cell = |counter: &Counter| if counter.is_sum() { not_null(counter.name) } else { integer(counter.name) };
    [
        ("sums", calls().filter(|counter| is_in_total(counter)).map(|counter| not_null(counter.name)).collect()),
        (
            "extremes",
            extremes()
                .flat_map(|extreme| [extreme.name.to_owned(), rank_of(extreme)])
                .map(|name| integer(&name))
                .collect(),
        ),
        ("uneven totals", uneven_total()),
        ("cell", calls().filter(|counter| !counter.is_common()).map(cell).collect()),
        ("uneven cell", calls().filter(|counter| counter.is_common()).map(|counter| not_null(counter.name)).collect()),
        ("messages", messages().map(|counter| not_null(counter.name)).collect()),
        ("site calls", site_calls().map(|counter| not_null(counter.name)).collect()),
        ("completions", Completions::TABLE.iter().map(|counter| not_null(counter.name)).collect()),
        ("of completions", Completions::TABLE.iter().map(|counter| shown("x", counter, counter.name)).collect()),
        ("file calls", FileCalls::TABLE.iter().map(|counter| not_null(counter.name)).collect()),
        ("of file calls", FileCalls::TABLE.iter().map(|counter| shown("x", counter, counter.name)).collect()),
        ("arguments", arguments().map(|counter| not_null(counter.name)).collect()),
        ("summed", sums().flat_map(summed).collect()),
        ("summed extremes", extremes().flat_map(summed_extreme).collect()),
        ("of most cells", calls().filter_map(of_most_cells).collect()),
        ("of a cell", calls().map(of_a_cell).collect()),
        ("cell counters", calls().map(|counter| counter.name.to_owned()).collect()),
        ("merged cells", calls().map(merged).collect()),
        ("shown", calls().map(|counter| shown("x", counter, counter.name)).collect()),
        ("shown sums", sums().flat_map(shown_sum).collect()),
        ("shown extremes", extremes().flat_map(shown_extreme).collect()),
        ("of messages", messages().map(|counter| shown("e", counter, counter.name)).collect()),
        ("of site calls", site_calls().map(|counter| shown("x", counter, counter.name)).collect()),
        ("of arguments", arguments().map(|counter| shown("u", counter, counter.name)).collect()),
    ]
}

fn integer(name: &str) -> String {
    format!("{name} INTEGER")
}

fn not_null(name: &str) -> String {
    format!("{name} INTEGER NOT NULL")
}

/// A rank as tables have it: -1 is none, or all.
pub fn known(rank: u32) -> i64 {
    if rank == NO_RANK { -1 } else { rank.into() }
}

/// Whether its sum is a column of `total`.
pub fn is_in_total(counter: &Counter) -> bool {
    counter.is_sum() && !is_rare(counter)
}

pub fn is_rare(counter: &Counter) -> bool {
    matches!(counter.stored, Stored::Rare(_))
}

/// The statement that adds a row of `key_columns` and counters to a table, or adds it up with the one of the same key.
pub fn adding(table: &str, key_columns: usize, counters: &[Counter]) -> String {
    let merged = |counter: &Counter| {
        let name = counter.name;
        match counter.merge {
            // A sum that overflows would become a floating-point number.
            Merge::Sum => format!("{name} = CAST({name} + excluded.{name} AS INTEGER)"),
            Merge::Least(_) => format!("{name} = coalesce(min({name}, excluded.{name}), {name}, excluded.{name})"),
            Merge::Most(_) => format!("{name} = coalesce(max({name}, excluded.{name}), {name}, excluded.{name})"),
        }
    };
    let places = vec!["?"; key_columns + counters.len()].join(", ");
    let merged: Vec<String> = counters.iter().map(merged).collect();
    format!("INSERT INTO {table} VALUES ({places}) ON CONFLICT DO UPDATE SET {}", merged.join(", "))
}

/// The column of the rank that has an extreme.
fn rank_of(extreme: &Counter) -> String {
    format!("{}_rank", extreme.stem())
}

/// The column with the most of one rank.
pub fn most_of(counter: &Counter) -> String {
    format!("{}_max", counter.name)
}

/// The column with what most cells have.
fn common(counter: &Counter) -> Option<&'static str> {
    match counter.stored {
        Stored::Common(column) | Stored::Rare(column) => Some(column),
        Stored::Each | Stored::Column => None,
    }
}

fn uneven_total() -> Vec<String> {
    let numbers = Calls::TABLE.iter().flat_map(|counter| {
        let rare = is_rare(counter).then(|| not_null(counter.name));
        rare.into_iter().chain(counter.has_most.then(|| not_null(&most_of(counter))))
    });
    numbers.chain(Calls::TABLE.iter().filter_map(common).map(integer)).collect()
}

/// How many ranks, as `t` has it.
const RANKS: &str = "coalesce(t.ranks, 1)";

/// Over all ranks, as `t` and `u` have it.
fn summed(counter: &Counter) -> Vec<String> {
    let (name, most) = (counter.name, most_of(counter));
    let (sum, mean) = match counter.stored {
        Stored::Rare(_) => (format!("coalesce(u.{name}, 0) AS {name}"), "0".to_owned()),
        _ => (format!("t.{name} AS {name}"), format!("t.{name} / {RANKS}")),
    };
    let most = counter.has_most.then(|| format!("coalesce(u.{most}, {mean}) AS {most}"));
    [sum].into_iter().chain(most).collect()
}

fn summed_extreme(extreme: &Counter) -> [String; 2] {
    let (name, rank) = (extreme.name, rank_of(extreme));
    let (of, of_rank, rank_left_out) = match extreme.merge {
        Merge::Least(of) => (of, "t.rank_min_ns", "t.rank_min, 0"),
        Merge::Most(of) => (of, "t.rank_max_ns", "t.rank_max, t.rank_min, 0"),
        Merge::Sum => (name, "NULL", "NULL"),
    };
    [
        // Where each rank made one call, its time is that of the call.
        format!(
            "CASE t.calls WHEN 1 THEN t.{of} WHEN {RANKS} THEN coalesce(t.{name}, {of_rank}) ELSE t.{name} END AS {name}"
        ),
        format!("CASE WHEN t.calls > 0 THEN coalesce(t.{rank}, {rank_left_out}) END AS {rank}"),
    ]
}

fn of_most_cells(counter: &Counter) -> Option<String> {
    let mean = if is_in_total(counter) { format!("t.{} / {RANKS}", counter.name) } else { "0".to_owned() };
    common(counter).map(|column| format!("coalesce(u.{column}, {mean}) AS {column}"))
}

/// A column of the cell `x` whose row of sums is `s`, `u` being what it has of its own. Where there is no cell, the sum is all there is.
pub fn of_a_cell(counter: &Counter) -> String {
    let name = counter.name;
    let of_cell = match (common(counter), counter.merge) {
        (Some(column), _) => format!("coalesce(u.{name}, s.{column})"),
        (None, Merge::Sum) => format!("x.{name}"),
        // One call is the shortest and the longest.
        (None, Merge::Least(of) | Merge::Most(of)) => {
            format!("CASE coalesce(u.calls, s.cell_calls) WHEN 1 THEN x.{of} ELSE x.{name} END")
        }
    };
    format!("CASE WHEN x.id IS NULL THEN s.{name} ELSE {of_cell} END AS {name}")
}

/// A column of several cells that become one.
fn merged(counter: &Counter) -> String {
    let merge = match counter.merge {
        Merge::Sum => "sum",
        Merge::Least(_) => "min",
        Merge::Most(_) => "max",
    };
    format!("{merge}({0}) AS {0}", counter.name)
}

/// A column of a view, in the unit of views.
fn shown(table: &str, counter: &Counter, name: &str) -> String {
    let in_view = counter.in_view(name);
    if in_view == name { format!("{table}.{name} AS {name}") } else { format!("{table}.{name} / 1e9 AS {in_view}") }
}

fn shown_sum(counter: &Counter) -> Vec<String> {
    // That of failed calls is there for `through`.
    let most = (counter.has_most && is_in_total(counter)).then(|| shown("s", counter, &most_of(counter)));
    [shown("s", counter, counter.name)].into_iter().chain(most).collect()
}

fn shown_extreme(extreme: &Counter) -> [String; 2] {
    let rank = rank_of(extreme);
    [shown("s", extreme, extreme.name), format!("s.{rank} AS {rank}")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_is_known() {
        let sql = SCHEMA.split_once("CREATE").unwrap().1;
        assert!(!sql.contains('@'), "{sql}");
    }
}
