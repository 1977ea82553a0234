//! The columns of counters, in the order of their table: a counter that is added there is found here.

use commsee::counters::{Calls, Counter, Merge};
use commsee::profile::schema::{most_of, of_a_cell};

/// Their names.
pub fn names() -> String {
    joined(|counter| counter.name.to_owned())
}

/// As a table, or what is made of one, has them.
pub fn of(table: &str) -> String {
    joined(|counter| format!("{table}.{}", counter.name))
}

/// The same with the rows of one cell made one.
pub fn merged(table: &str) -> String {
    joined(|counter| format!("{} AS {}", merge(counter, table), counter.name))
}

/// Of a cell as `x`, its row of sums being `s`, and `u` what it has of its own.
pub fn of_cells() -> String {
    joined(of_a_cell)
}

/// What a row of `summary`, as `s`, tells beside its key.
pub fn of_sums() -> String {
    let column = |_: &Counter, name: &str| format!("s.{name}");
    grouped(["s.ranks", "s.rank_max_ns", "s.rank_min_ns"], column, column)
}

/// What [`of_sums`] tells, over cells as `n`. Single calls are left out where nobody shows them: that saves a fifth of the time.
pub fn added_up(with_single_calls: bool) -> String {
    let sum = |counter: &Counter, name: &str| match counter.is_sum() || with_single_calls {
        true => format!("{} AS {name}", merge(counter, "n")),
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

fn merge(counter: &Counter, table: &str) -> String {
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
    fn sums_and_what_is_added_up_have_the_same_columns() {
        let names = |columns: String| -> Vec<String> {
            columns.split(", ").map(|column| column.rsplit([' ', '.']).next().unwrap().to_owned()).collect()
        };
        let sums = names(of_sums());
        assert_eq!(sums, names(added_up(true)));
        assert_eq!(sums, names(added_up(false)));
        assert_eq!(sums.len(), 1 + Calls::COUNT + Calls::TABLE.iter().filter(|counter| counter.has_most).count() + 2);
    }
}
