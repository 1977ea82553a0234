//! The same numbers in profiles of different versions and details: what both know, both say alike, and what one does not
//! know is refused.

use std::fs;
use std::path::{Path, PathBuf};

use commsee::profile::SCHEMA_VERSION;
use rusqlite::Connection;

use crate::common::{Answer, Folder};
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

pub fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/version-2.db")
}

/// What a profile of version 2 says, as one of today's. Two ranks share a node.
pub fn converted(path: &Path, detail: &str) {
    let db = Connection::open(path).unwrap();
    db.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF").unwrap();
    db.execute_batch(&commsee::profile::SCHEMA).unwrap();
    db.execute("ATTACH ? AS old", [golden().to_str().unwrap()]).unwrap();
    let ranks = if detail == "rank" { "rank" } else { "-1" };
    db.execute_batch(&format!(
        "BEGIN; PRAGMA user_version = {SCHEMA_VERSION}; \
         INSERT INTO metadata SELECT * FROM old.metadata UNION ALL SELECT 'detail', '{detail}'; \
         INSERT INTO process SELECT * FROM old.process; INSERT INTO creator SELECT * FROM old.creator; \
         INSERT INTO operation SELECT * FROM old.operation; INSERT INTO bucket SELECT * FROM old.bucket; \
         INSERT INTO phase SELECT * FROM old.phase; INSERT INTO datatype SELECT * FROM old.datatype; \
         INSERT INTO members (ranks) SELECT DISTINCT ranks FROM old.communicator WHERE ranks IS NOT NULL; \
         INSERT INTO communicator (id, name, letter, size, remote_size, parent, root_rank, freed, members, time_ranks, time_ns, label) \
         SELECT c.id, c.name, c.letter, c.size, c.remote_size, c.parent, c.root_rank, c.freed, m.id, 0, 0, c.label \
         FROM old.communicator c LEFT JOIN members m ON m.ranks = c.ranks; \
         INSERT INTO involvement SELECT comm, op, {ranks}, phase, sum(calls) FROM old.involvement GROUP BY 1, 2, 3, 4; \
         INSERT INTO datatype_use SELECT comm, op, datatype, {ranks}, sum(calls), sum(bytes) FROM old.datatype_use \
         GROUP BY 1, 2, 3, 4"
    ))
    .unwrap();
    let mut cells = Cells::default();
    let mut query = db.prepare("SELECT * FROM old.cell").unwrap();
    let mut rows = query.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let number = |column: usize| row.get::<_, i64>(column).unwrap();
        let key = Key { comm: number(0), op: number(1), bucket: number(2), phase: Some(number(4)) };
        let counted = Counted {
            calls: number(5),
            failed: number(6),
            bytes_sent: number(7),
            bytes_recv: number(8),
            time_ns: number(9),
            time_min_ns: row.get(10).unwrap(),
            time_max_ns: row.get(11).unwrap(),
        };
        cells.add(key, number(3), counted);
    }
    let is_outside = |op: i64| commsee::calls::outside_span(op as u16);
    cells.store(&db, detail, |rank| rank / 2 * 2, is_outside);
    drop(rows);
    drop(query);
    db.execute_batch("COMMIT").unwrap();
}

/// What version 2 says, and today's with that detail.
fn both(detail: &str) -> (Folder, Folder) {
    let (old, new) = (Folder::empty(), Folder::empty());
    fs::copy(golden(), old.path("a.db")).unwrap();
    converted(&new.path("a.db"), detail);
    (old, new)
}

/// Both answers, without what only the newer knows of itself.
fn ask(old: &Folder, new: &Folder, words: &[&str]) -> (Answer, Answer) {
    let mut answer = new.through(words);
    let lines = answer.out.split_inclusive('\n').filter(|line| !line.starts_with("detail "));
    answer.out = lines.collect::<String>();
    for detail in ["rank", "node", "comm"] {
        answer.out = answer.out.replace(&format!("\"detail\":\"{detail}\","), "");
    }
    (old.through(words), answer)
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
fn version_2_and_todays_say_the_same_of_ranks() {
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
