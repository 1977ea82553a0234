//! Profiles of mpisee 4.x, made here by its schema: <https://github.com/variemai/mpisee>

use std::path::Path;

use rusqlite::{Connection, params};
use serde_json::Value;

use crate::common::Folder;

/// In the order of its table of operations, which counts from 0.
const OPERATIONS: [&str; 12] = [
    "Send",
    "Recv",
    "Isend",
    "Irecv",
    "Sendrecv",
    "Waitall",
    "Fence",
    "Bcast",
    "Barrier",
    "Allreduce",
    "Alltoallv",
    "Init",
];
const EDGES: [i64; 7] = [128, 1024, 8192, 65_536, 262_144, 1_048_576, 33_554_432];

/// Communicator, operation, bucket, rank, calls, milliseconds, volume.
type Row = (&'static str, &'static str, usize, i64, i64, f64, i64);

const ROWS: [Row; 17] = [
    ("W0.0", "Init", 0, 0, 1, 4000.0, 0),
    ("W0.0", "Init", 0, 1, 1, 4000.0, 0),
    ("W0.0", "Send", 2, 0, 100, 20.0, 400_000),
    ("W0.0", "Recv", 2, 1, 100, 35.0, 400_000),
    ("W0.0", "Sendrecv", 1, 2, 50, 10.0, 25_000),
    ("W0.0", "Sendrecv", 1, 3, 50, 12.0, 25_000),
    ("W0.0", "Barrier", 0, 0, 3, 1.0, 0),
    ("W0.0", "Barrier", 0, 1, 3, 2.0, 0),
    ("W0.0", "Barrier", 0, 2, 3, 3.0, 0),
    ("W0.0", "Barrier", 0, 3, 3, 4.0, 0),
    ("s0.1", "Alltoallv", 6, 0, 24, 300.0, 48_000_000),
    ("s0.1", "Alltoallv", 6, 2, 24, 320.0, 48_000_000),
    ("s1.1", "Alltoallv", 7, 1, 24, 500.0, 1_200_000_000),
    ("s1.1", "Alltoallv", 7, 3, 24, 480.0, 1_200_000_000),
    // Two communicators that it gave one name.
    ("s1.1", "Alltoallv", 7, 3, 1, 20.0, 50_000_000),
    ("d0.2", "Fence", 0, 0, 6, 6.0, 0),
    ("d0.2", "Waitall", 0, 0, 2, 1.5, 0),
];

/// More message sizes than a profile can have, one without an edge, and a time that is none: nothing gets lost.
#[test]
fn rows_that_fit_no_bucket_are_counted() {
    let folder = Folder::empty();
    let path = folder.path("many.db");
    profile(&path);
    let db = Connection::open(&path).unwrap();
    let insert = "INSERT INTO data (rank, comm_id, operation_id, buffer_size_min, buffer_size_max, calls, time, volume) \
                  SELECT 0, id, 7, ?1, ?2, 1, ?3, 10 FROM comms WHERE name = 'W0.0'";
    for edge in 0..100 {
        db.execute(insert, params![edge * 1000 + 1, edge * 1000 + 1000, 0.001]).unwrap();
    }
    db.execute(insert, params![None::<i64>, None::<i64>, 0.001]).unwrap();
    db.execute(insert, params![-5, 128, f64::INFINITY]).unwrap();
    db.execute("INSERT OR REPLACE INTO metadata VALUES ('written_by', 'somebody')", []).unwrap();
    db.close().unwrap();
    let rows = folder.through(&["many.db", "-a", "--op", "Bcast", "--format", "csv"]).csv();
    let sum = |column: &str| rows.iter().map(|row| row[column].parse::<f64>().unwrap()).sum::<f64>();
    assert_eq!((sum("calls"), sum("bytes_sent")), (102.0, 1020.0));
    assert!((sum("time_s") - 0.101).abs() < 1e-9, "{}", sum("time_s"));
}

pub fn profile(path: &Path) {
    let db = Connection::open(path).unwrap();
    db.execute_batch(
        "CREATE TABLE mappings (id INTEGER PRIMARY KEY AUTOINCREMENT, machine TEXT);
         CREATE TABLE exectimes (id INTEGER PRIMARY KEY AUTOINCREMENT, time REAL);
         CREATE TABLE metadata (key TEXT PRIMARY KEY, value TEXT);
         CREATE TABLE operations (id INTEGER PRIMARY KEY AUTOINCREMENT, operation TEXT);
         CREATE TABLE comms (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, size INTEGER);
         CREATE TABLE data (id INTEGER PRIMARY KEY AUTOINCREMENT, rank INTEGER, comm_id INTEGER, operation_id INTEGER,
             buffer_size_min INTEGER, buffer_size_max INTEGER, calls INTEGER, time REAL, volume INTEGER);
         INSERT INTO metadata VALUES ('MPI Library', 'Open MPI v4.1.6'), ('Processes', '4'), ('Run command', './fft 64'),
             ('mpisee version', '4.1'), ('Profile date', 'Sat Nov 21 07:15:00 2026');
         INSERT INTO comms (name, size) VALUES ('W0.0', 4), ('s0.1', 2), ('s1.1', 2), ('d0.2', 4);",
    )
    .unwrap();
    for (id, operation) in OPERATIONS.iter().enumerate() {
        db.execute("INSERT INTO operations VALUES (?, ?)", params![id as i64, operation]).unwrap();
    }
    for rank in 0..4 {
        db.execute("INSERT INTO mappings VALUES (?, ?)", params![rank, format!("node{}", rank / 2)]).unwrap();
        db.execute("INSERT INTO exectimes VALUES (?, ?)", params![rank, 1.0 + rank as f64 / 10.0]).unwrap();
    }
    for (comm, op, bucket, rank, calls, ms, volume) in ROWS {
        let op = OPERATIONS.iter().position(|known| *known == op).unwrap() as i64;
        let lo = if bucket == 0 { 0 } else { EDGES[bucket - 1] };
        let hi = EDGES.get(bucket).copied().unwrap_or(i64::from(i32::MAX));
        let sql = "INSERT INTO data (rank, comm_id, operation_id, buffer_size_min, buffer_size_max, calls, time, volume) \
                   SELECT ?1, id, ?2, ?3, ?4, ?5, ?6, ?7 FROM comms WHERE name = ?8";
        db.execute(sql, params![rank, op, lo, hi, calls, ms / 1000.0, volume, comm]).unwrap();
    }
}

fn folder() -> Folder {
    let folder = Folder::empty();
    profile(&folder.path("fft.db"));
    folder
}

/// Rows of the view of single ranks, by what is asked: communicator, operation, lower edge, rank, calls, bytes both ways, microseconds.
fn cells(folder: &Folder, words: &[&str]) -> Vec<(String, String, i64, i64, i64, i64, i64)> {
    let rows = folder.through(&[&["fft.db", "-a", "--format", "csv"], words].concat()).csv();
    let number = |row: &std::collections::HashMap<String, String>, key: &str| row[key].parse::<f64>().unwrap_or(0.0);
    rows.iter()
        .map(|row| {
            let bytes = number(row, "bytes_sent") + number(row, "bytes_recv");
            let time = (number(row, "time_s") * 1e6).round() as i64;
            let of = |key| number(row, key) as i64;
            (row["comm"].clone(), row["op"].clone(), of("bucket_lo"), of("rank"), of("calls"), bytes as i64, time)
        })
        .collect()
}

/// What was put into the file.
fn wanted(is_meant: impl Fn(&Row) -> bool) -> Vec<(String, String, i64, i64, i64, i64, i64)> {
    let mut sums = std::collections::BTreeMap::new();
    for row in ROWS.iter().filter(|row| is_meant(row)) {
        let (comm, op, bucket, rank, calls, ms, volume) = *row;
        let name = if op == "Fence" { "MPI_Win_fence".to_owned() } else { format!("MPI_{op}") };
        let lo = if bucket == 0 { 0 } else { EDGES[bucket - 1] };
        let sum = sums.entry((comm.to_owned(), name, lo, rank)).or_insert((0, 0, 0));
        *sum = (sum.0 + calls, sum.1 + volume, sum.2 + (ms * 1000.0) as i64);
    }
    sums.into_iter()
        .map(|((comm, op, lo, rank), (calls, bytes, time))| (comm, op, lo, rank, calls, bytes, time))
        .collect()
}

fn sorted<T: Ord>(mut rows: Vec<T>) -> Vec<T> {
    rows.sort();
    rows
}

#[test]
fn its_numbers_are_told_by_rank_bucket_and_communicator() {
    let folder = folder();
    assert_eq!(sorted(cells(&folder, &[])), wanted(|_| true));
    assert_eq!(sorted(cells(&folder, &["--comm", "s1.1"])), wanted(|row| row.0 == "s1.1"));
    assert_eq!(sorted(cells(&folder, &["--op", "alltoallv"])), wanted(|row| row.1 == "Alltoallv"));
}

/// `-i -a -c -p -u -e -s -r -b -t -o` do what they did there.
#[test]
fn its_switches_select_the_same() {
    let folder = folder();
    let is_p2p = |row: &Row| matches!(row.1, "Send" | "Recv" | "Sendrecv");
    let is_collective = |row: &Row| matches!(row.1, "Barrier" | "Alltoallv");
    assert_eq!(sorted(cells(&folder, &["-p"])), wanted(is_p2p));
    assert_eq!(sorted(cells(&folder, &["-c"])), wanted(is_collective));
    assert_eq!(sorted(cells(&folder, &["-r", "0,2"])), wanted(|row| [0, 2].contains(&row.3)));
    assert_eq!(sorted(cells(&folder, &["-b", "1024:8192"])), wanted(|row| [1, 2].contains(&row.2)));
    // Both rows of one cell count.
    let is_long = |row: &Row| row.0 == "s1.1" || (20.0..=800.0).contains(&row.5);
    assert_eq!(sorted(cells(&folder, &["-t", "0.02:0.8"])), wanted(is_long));
    folder.through(&["-i", "fft.db", "-a", "-c", "-o", "out.csv"]).ok();
    let rows = std::fs::read_to_string(folder.path("out.csv")).unwrap();
    assert_eq!(rows.lines().count(), 1 + wanted(is_collective).len());

    let ranks = folder.through(&["-i", "fft.db", "-e", "--format", "csv"]).csv();
    let times: Vec<(&str, f64, f64)> = ranks
        .iter()
        .map(|row| (row["host"].as_str(), row["wall_s"].parse().unwrap(), row["mpi_s"].parse().unwrap()))
        .collect();
    // Without MPI_Init, which is no part of the run time.
    assert_eq!(times, [("node0", 1.0, 0.3285), ("node0", 1.1, 0.537), ("node1", 1.2, 0.333), ("node1", 1.3, 0.516)]);
    let comms = folder.through(&["fft.db", "-u", "--format", "csv"]).csv();
    let named: Vec<&str> = comms.iter().map(|row| row["comm"].as_str()).collect();
    assert_eq!(named.len(), 4);
    assert!(
        named.contains(&"s1.1") && comms.iter().all(|row| row["comm"] != "s1.1" || row["size"] == "2"),
        "{comms:?}"
    );
}

/// 0 communicator, 1 and 2 time, 3 operation, 4 and 5 message size, 6 and 7 calls.
#[test]
fn its_numbers_for_orders_are_understood() {
    let folder = folder();
    let order = |key: &str| -> Vec<(String, String, i64, i64, i64, i64, i64)> { cells(&folder, &["-s", key]) };
    assert!(order("0").is_sorted_by_key(|row| row.0 != "W0.0"), "{:?}", order("0"));
    assert!(order("1").is_sorted_by_key(|row| -row.6));
    assert!(order("2").is_sorted_by_key(|row| row.6));
    assert!(order("3").is_sorted_by_key(|row| row.1.clone()));
    assert!(order("4").is_sorted_by_key(|row| -row.2));
    assert!(order("5").is_sorted_by_key(|row| row.2));
    assert!(order("6").is_sorted_by_key(|row| -row.4));
    assert!(order("7").is_sorted_by_key(|row| row.4));
    assert!(folder.through(&["fft.db", "-s", "8"]).err.contains("8"));
    assert_eq!(order("time"), order("1"));
}

#[test]
fn every_view_answers_or_says_what_is_missing() {
    let folder = folder();
    for words in [
        &["fft.db"][..],
        &["fft.db", "--no-families"],
        &["show", "--efficiency", "fft.db"],
        &["waits", "fft.db"],
        &["waits", "--imbalance", "fft.db"],
        &["show", "--flat", "fft.db"],
        &["show", "--sizes", "fft.db"],
        &["comms", "--tree", "fft.db"],
        &["show", "--hosts", "fft.db"],
        &["advise", "fft.db"],
        &["compare", "fft.db", "fft.db"],
        &["report", "fft.db", "-o", "page.html"],
    ] {
        folder.through(words).ok();
    }
    for words in [
        &["fft.db", "--files"][..],
        &["fft.db", "--phases"],
        &["fft.db", "--in-flight"],
        &["fft.db", "--sites"],
        &["fft.db", "--datatypes"],
        &["traffic", "fft.db"],
        &["traffic", "--patterns", "fft.db"],
        &["traffic", "--graph", "fft.db"],
        &["layers", "fft.db"],
        &["export", "perfetto", "fft.db"],
        &["traffic", "--reorder", "fft.db"],
    ] {
        let answer = folder.through(words);
        assert!(matches!(answer.status, 0..=2) && !answer.err.contains("panicked"), "{words:?}: {answer:?}");
        if answer.status != 0 {
            let lines = answer.err.lines().filter(|line| line.starts_with("through: ")).count();
            assert_eq!(lines, 1, "{words:?}: {answer:?}");
        }
    }
    let page = std::fs::read_to_string(folder.path("page.html")).unwrap();
    assert!(page.contains("./fft 64") && page.contains("Open MPI v4.1.6"));
    let head: Value = folder.through(&["fft.db", "-u", "--format", "json"]).json();
    assert!(head.to_string().contains("./fft 64"), "{head}");
}

/// The tables of the page name commands that there are.
#[test]
fn the_commands_of_the_page_are_understood() {
    let folder = folder();
    crate::common::heat(&folder.path("heat.db"));
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/howto/coming-from.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut commands = 0;
    for cell in page.lines().filter_map(|line| line.strip_prefix("| ")?.rsplit('|').nth(1)) {
        for command in cell.split('`').skip(1).step_by(2).filter_map(|words| words.strip_prefix("through ")) {
            let words: Vec<&str> = command.split(' ').collect();
            if words[0] == "run" {
                let program = folder.through(&["run", "--", "true"]);
                assert!(program.err.contains("nothing was profiled"), "{program:?}");
            } else {
                let answer = folder.through(&words);
                assert!(matches!(answer.status, 0 | 1), "{command}: {answer:?}");
            }
            commands += 1;
        }
    }
    assert!(commands > 10, "{commands}");
}

/// Nothing is written beside it or into it, and one that is damaged harms nobody.
#[test]
fn the_file_stays_as_it_is() {
    let folder = folder();
    let before = std::fs::read(folder.path("fft.db")).unwrap();
    let names = folder.names();
    folder.through(&["fft.db"]).ok();
    assert_eq!(before, std::fs::read(folder.path("fft.db")).unwrap());
    assert_eq!(names, folder.names());
    for change in [
        "UPDATE data SET time = 1e300, calls = 9223372036854775807, volume = -1",
        "UPDATE data SET rank = 9223372036854775807 - id",
        "UPDATE data SET buffer_size_min = -id, operation_id = 99",
        "DELETE FROM exectimes",
        "DELETE FROM operations",
        "DELETE FROM comms",
        "UPDATE comms SET name = NULL, size = -5",
        "DROP TABLE data; CREATE TABLE data (id)",
    ] {
        let folder = Folder::empty();
        profile(&folder.path("fft.db"));
        let db = Connection::open(folder.path("fft.db")).unwrap();
        db.execute_batch(change).unwrap();
        db.close().unwrap();
        for words in [&["fft.db"][..], &["fft.db", "-e"], &["report", "fft.db", "-o", "page.html"]] {
            let answer = folder.through(words);
            assert!(
                matches!(answer.status, 0..=2) && !answer.err.contains("panicked"),
                "{change} {words:?}: {answer:?}"
            );
        }
    }
}
