//! The columns of counters, in the order of their table: a counter that is added there is found here.

use commsee::counters::{Calls, Counter, Merge};
use commsee::profile::schema::{most_of, of_a_cell};

/// Which counters a profile has: one that came with a later version of the schema is 0.
#[derive(Clone, Copy)]
pub struct Columns {
    pub version: u32,
}

impl Columns {
    /// As a table, or what is made of one, has them.
    pub fn of(self, table: &str) -> String {
        joined(|counter| self.or_zero(counter, format!("{table}.{}", counter.name)))
    }

    /// The same with the rows of one cell made one.
    pub fn merged(self, table: &str) -> String {
        joined(|counter| self.or_zero(counter, format!("{} AS {}", merged(counter, table), counter.name)))
    }

    /// Of a cell as `x`, its row of sums being `s`, and `u` what it has of its own.
    pub fn of_cells(self) -> String {
        joined(|counter| self.or_zero(counter, of_a_cell(counter)))
    }

    /// What a row of `summary`, as `s`, tells beside its key.
    pub fn of_sums(self) -> String {
        let column = |counter: &Counter, name: &str| self.known(counter, name, format!("s.{name}"));
        grouped(["s.ranks", "s.rank_max_ns", "s.rank_min_ns"], column, column)
    }

    /// The rank of a row of `summary`, as `s`, that is its only cell, which came with version 6.
    pub fn only_rank(self) -> &'static str {
        if self.version >= 6 { "s.only_rank" } else { "NULL" }
    }

    fn or_zero(self, counter: &Counter, column: String) -> String {
        self.known(counter, counter.name, column)
    }

    fn known(self, counter: &Counter, name: &str, column: String) -> String {
        if counter.since <= self.version { column } else { format!("0 AS {name}") }
    }
}

/// Their names.
pub fn names() -> String {
    joined(|counter| counter.name.to_owned())
}

/// What [`Columns::of_sums`] tells, over cells as `n`. Single calls are left out where nobody shows them: that saves a fifth of the time.
pub fn added_up(with_single_calls: bool) -> String {
    let sum = |counter: &Counter, name: &str| match counter.is_sum() || with_single_calls {
        true => format!("{} AS {name}", merged(counter, "n")),
        false => format!("NULL AS {name}"),
    };
    let most = |counter: &Counter, most: &str| format!("max(n.{}) AS {most}", counter.name);
    grouped(["count(*) AS ranks", "max(n.time_ns) AS rank_max_ns", "min(n.time_ns) AS rank_min_ns"], sum, most)
}

/// `ranks`, the sums, with the most of one rank where it is told, the ranks that spent most and least, and the extremes.
fn grouped(
    [ranks, most_time, least_time]: [&str; 3],
    column: impl Fn(&Counter, &str) -> String,
    most: impl Fn(&Counter, &str) -> String,
) -> String {
    let mut columns = vec![ranks.to_owned()];
    for counter in Calls::TABLE.iter().filter(|counter| counter.is_sum()) {
        columns.push(column(counter, counter.name));
        columns.extend(counter.has_most.then(|| most(counter, &most_of(counter))));
    }
    columns.extend([most_time.to_owned(), least_time.to_owned()]);
    columns.extend(Calls::extremes().map(|(_, extreme)| column(extreme, extreme.name)));
    columns.join(", ")
}

fn merged(counter: &Counter, table: &str) -> String {
    let merge = match counter.merge {
        Merge::Sum => "sum",
        Merge::Least(_) => "min",
        Merge::Most(_) => "max",
    };
    format!("{merge}({table}.{})", counter.name)
}

fn joined(column: impl Fn(&Counter) -> String) -> String {
    Calls::TABLE.iter().map(column).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_a_profile_lacks_is_zero() {
        let new = Counter { since: 6, ..Calls::TABLE[0] };
        let column = |version| Columns { version }.or_zero(&new, "x.calls".to_owned());
        assert_eq!((column(5), column(6)), ("0 AS calls".to_owned(), "x.calls".to_owned()));
    }

    #[test]
    fn sums_and_what_is_added_up_have_the_same_columns() {
        let names = |columns: String| -> Vec<String> {
            columns.split(", ").map(|column| column.rsplit([' ', '.']).next().unwrap().to_owned()).collect()
        };
        let sums = names(Columns { version: commsee::profile::SCHEMA_VERSION }.of_sums());
        assert_eq!(sums, names(added_up(true)));
        assert_eq!(sums, names(added_up(false)));
        assert_eq!(sums.len(), 1 + Calls::COUNT + Calls::TABLE.iter().filter(|counter| counter.has_most).count() + 2);
    }
}
