//! The same numbers in profiles of different details: what both know, both say alike, and what one does not know is refused.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use commsee::calls::{CALLS, outside_span};
use rusqlite::Connection;

use crate::common::{Answer, Folder};
use crate::golden::golden;
use crate::summed::{Cells, Counted, Key};

const VIEWS: [&str; 5] = ["--top=0", "-a", "-u", "-e", "--phases"];
const FILTERS: [&[&str]; 18] = [
    &[],
    &["--comm", "W0.0,d0.1"],
    &["--op", "allreduce,send"],
    &["-p"],
    &["--bytes", "1K:"],
    &["--bucket", "0"],
    &["--rank", "1"],
    &["--rank", "0,2-3"],
    &["--rank", "1-2", "--op", "sendrecv"],
    &["--time", "0.01:"],
    &["--time", "0.001:0.02"],
    &["--time", "0.001:", "--rank", "1-2", "-c"],
    &["--phase", "solve"],
    &["--phase", ""],
    &["--phase", "solve,quiet,assembly"],
    &["--phase", "solve", "--time", "0.001:"],
    &["--phase", "solve,", "--time", "0.001:"],
    &["--phase", "solve,", "--rank", "0-1"],
];

/// The golden profile with that detail, stored in the simplest way. Two ranks share a node.
pub fn converted(path: &Path, detail: &str) {
    fs::copy(golden("version-1.db"), path).unwrap();
    let db = Connection::open(path).unwrap();
    db.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN").unwrap();
    let mut cells = Cells::default();
    let sql = "SELECT comm, op, bucket, phase, rank, calls, failed, bytes_sent, bytes_recv, time_ns, time_min_ns, time_max_ns FROM cells";
    let mut query = db.prepare(sql).unwrap();
    let mut rows = query.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let number = |column: usize| row.get::<_, i64>(column).unwrap();
        let key = Key { comm: number(0), op: number(1), bucket: number(2), phase: Some(number(3)) };
        let counted = Counted {
            calls: number(5),
            failed: number(6),
            bytes_sent: number(7),
            bytes_recv: number(8),
            time_ns: number(9),
            time_min_ns: row.get(10).unwrap(),
            time_max_ns: row.get(11).unwrap(),
        };
        cells.add(key, number(4), counted);
    }
    db.execute_batch("DELETE FROM total; DELETE FROM uneven_total; DELETE FROM cell; DELETE FROM uneven_cell").unwrap();
    if detail != "rank" {
        db.execute_batch(&format!(
            "UPDATE metadata SET value = '{detail}' WHERE key = 'detail'; \
             CREATE TEMP TABLE involved_all AS SELECT comm, op, -1, phase, sum(calls) FROM involvement GROUP BY comm, op, phase; \
             DELETE FROM involvement; INSERT INTO involvement SELECT * FROM involved_all; \
             CREATE TEMP TABLE used_by_all AS SELECT comm, op, datatype, -1, sum(calls), sum(bytes) FROM datatype_use \
             GROUP BY comm, op, datatype; \
             DELETE FROM datatype_use; INSERT INTO datatype_use SELECT * FROM used_by_all; \
             CREATE TEMP TABLE completed_by_all AS SELECT comm, op, phase, -1, started, bucket, peer, sum(requests), sum(bytes), \
             sum(time_ns) FROM completed GROUP BY comm, op, phase, started, bucket, peer; \
             DELETE FROM completed; INSERT INTO completed SELECT * FROM completed_by_all"
        ))
        .unwrap();
    }
    let names: HashMap<i64, String> = db
        .prepare("SELECT id, name FROM operation")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let number = |op: i64| CALLS.iter().position(|call| call.name == names[&op]);
    let is_outside = |op: i64| number(op).is_some_and(|number| outside_span(number as u16));
    cells.store(&db, detail, |rank| rank / 2 * 2, is_outside);
    drop(rows);
    drop(query);
    db.execute_batch("COMMIT").unwrap();
}

/// What the golden profile says, and one with that detail.
fn both(detail: &str) -> (Folder, Folder) {
    let (whole, other) = (Folder::empty(), Folder::empty());
    fs::copy(golden("version-1.db"), whole.path("a.db")).unwrap();
    converted(&other.path("a.db"), detail);
    (whole, other)
}

/// Both answers, without the detail itself.
fn ask(whole: &Folder, other: &Folder, words: &[&str]) -> (Answer, Answer) {
    let told = |folder: &Folder| {
        let mut answer = folder.through(words);
        answer.out = answer.out.split_inclusive('\n').filter(|line| !line.starts_with("detail ")).collect();
        for detail in ["rank", "node", "comm"] {
            answer.out = answer.out.replace(&format!("\"detail\":\"{detail}\","), "");
        }
        answer
    };
    (told(whole), told(other))
}

#[track_caller]
fn alike(old: &Folder, new: &Folder, words: &[&str]) {
    let (mut old, mut new) = ask(old, new, words);
    for answer in [&mut old, &mut new] {
        answer.out = without_findings(&answer.out);
    }
    assert_eq!((old.status, &old.out, &old.err), (new.status, &new.out, &new.err), "{words:?}");
}

/// Who waits for whom is only told where single ranks are known.
fn without_findings(text: &str) -> String {
    let mut is_finding = false;
    let is_kept = |line: &&str| {
        is_finding = line.starts_with("findings ")
            || is_finding && line.starts_with("           ") && !line.contains("run time");
        !is_finding
    };
    text.split_inclusive('\n').filter(is_kept).collect()
}

#[track_caller]
fn refused(new: &Folder, words: &[&str], asked: &str) {
    let answer = new.through(words);
    assert_eq!(
        (answer.status, answer.out.as_str(), answer.err.lines().count()),
        (2, "", 1),
        "{words:?}: {}",
        answer.err
    );
    assert!(answer.err.contains("COMMSEE_DETAIL=rank") && answer.err.contains(asked), "{words:?}: {}", answer.err);
}

#[test]
fn both_ways_to_store_ranks_say_the_same() {
    let (old, new) = both("rank");
    for (view, filter) in VIEWS.iter().flat_map(|view| FILTERS.map(|filter| (*view, filter))) {
        for format in ["table", "csv", "json"] {
            alike(&old, &new, &[&[view, "--format", format], filter].concat());
        }
    }
    for words in [&["--datatypes"][..], &["--datatypes", "--rank", "1"], &["-a", "--sort", "time", "--top", "9"]] {
        alike(&old, &new, words);
    }
}

#[test]
fn sums_say_the_same_as_ranks_or_refuse() {
    for detail in ["node", "comm"] {
        let (old, new) = both(detail);
        for format in ["table", "csv", "json"] {
            for filter in FILTERS {
                let several = filter.iter().any(|word| word.contains(',') && filter[0] == "--phase");
                let asked = match filter {
                    _ if filter.contains(&"--rank") => Some("--rank"),
                    _ if filter.contains(&"--time") => Some("--time"),
                    _ if several => Some("several phases"),
                    _ => None,
                };
                let words = [&["--top=0", "--format", format], filter].concat();
                // JSON holds how time spreads over ranks, too, which sums over operations do not tell.
                let has_spreads = format == "json" && !filter.is_empty() && filter[0] != "--comm";
                match asked {
                    Some(asked) => refused(&new, &words, asked),
                    None if has_spreads => _ = new.through(&words).json(),
                    None => alike(&old, &new, &words),
                }
                if filter.contains(&"--rank") || filter.contains(&"--time") {
                    let words = [&["-a", "--format", format], filter].concat();
                    refused(&new, &words, asked.unwrap());
                }
            }
            for words in [&["-u"][..], &["-u", "--comm", "d0.1"], &["-e"], &["-e", "--rank", "1-2"]] {
                alike(&old, &new, &[words, &["--format", format]].concat());
            }
        }
        refused(&new, &["-e", "--op", "allreduce"], "-e with filters");
        refused(&new, &["--datatypes", "--rank", "1"], "--rank");
        let table = new.through(&[]).ok();
        assert!(table.contains("detail     per "), "{table}");
    }
}

#[test]
fn nodes_have_rows_and_so_have_sums_over_all_ranks() {
    let sum = |rows: &[std::collections::HashMap<String, String>]| {
        rows.iter().map(|row| row["calls"].parse::<i64>().unwrap()).sum::<i64>()
    };
    for filter in [&[][..], &["--op", "allreduce"], &["--phase", "solve,quiet"]] {
        let words = [&["-a", "--format", "csv"], filter].concat();
        let (old, nodes) = both("node");
        let ranks = old.through(&words).csv();
        let nodes = nodes.through(&words).csv();
        assert_eq!(sum(&nodes), sum(&ranks), "{filter:?}");
        assert!(nodes.len() < ranks.len() && nodes.iter().all(|row| row["rank"] == "0" || row["rank"] == "2"));
        let all = both("comm").1.through(&words).csv();
        assert_eq!(sum(&all), sum(&ranks), "{filter:?}");
        assert!(all.len() < nodes.len() && all.iter().all(|row| row["rank"].is_empty()));
    }
    let table = both("node").1.through(&["-a"]).ok();
    assert!(table.contains("  node  calls") && table.contains("a node is named by its lowest rank"), "{table}");
}

/// Of one row on a communicator the sums tell how its time spreads; of several they do not.
#[test]
fn spreads_that_sums_do_not_know_are_left_empty() {
    let (old, new) = both("comm");
    alike(&old, &new, &["-u", "--op", "comm_dup"]);
    let rows = new.through(&["-u", "--op", "allreduce,sendrecv", "--comm", "W0.0", "--format", "csv"]).csv();
    assert_eq!((rows[0]["ranks_calling"].as_str(), rows[0]["rank_max_s"].as_str()), ("", ""));
    assert!(!rows[0]["mpi_s"].is_empty());
    let phases = new.through(&["--phases", "--format", "csv"]).csv();
    let known = old.through(&["--phases", "--format", "csv"]).csv();
    for (phase, known) in phases.iter().zip(&known) {
        assert_eq!(
            (&phase["calls"], &phase["mpi_s"], phase["rank_max_s"].as_str()),
            (&known["calls"], &known["mpi_s"], "")
        );
    }
    let uses = new.through(&["--datatypes", "--format", "csv"]).csv();
    assert!(!uses.is_empty() && uses.iter().all(|row| row["ranks"].is_empty() && !row["calls"].is_empty()));
}
