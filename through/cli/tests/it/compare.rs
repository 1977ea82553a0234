//! Runs side by side: `through compare` of two programs, and of many runs.

use std::path::Path;

use insta::assert_snapshot;
use serde_json::Value;

use crate::common::{Answer, Builder, Did, Folder, MS};
use crate::details::converted;
use crate::golden::golden;

/// What is different in a run of the stencil.
#[derive(Clone, Copy, Default)]
pub struct Change {
    pub more_calls: i64,
    /// Of the messages between neighbours.
    pub times_size: i64,
    /// Of each Alltoallv on the rows.
    pub delay_ms: i64,
    /// That rank 0 works longer before the barrier.
    pub imbalance_ms: i64,
}

/// Numbers of a run that are the same each time, about 1000.
fn noise(seed: i64, number: i64) -> i64 {
    let mixed = (seed * 7919 + number * 104_729 + 12_345).wrapping_mul(6_364_136_223_846_793_005);
    1000 + (mixed >> 33).rem_euclid(21) - 10
}

/// A stencil on a grid of rows: `rows` rows of `columns` ranks.
pub fn stencil(path: &Path, (rows, columns): (usize, usize), seed: i64, change: Change) {
    let ranks = rows * columns;
    let mut profile = Builder::new(path, ranks);
    profile.meta("command", "./heat --steps 2000");
    profile.meta("mpi_library", "Open MPI v4.1.4");
    profile.meta("ranks", &ranks.to_string());
    let all = format!("0-{}", ranks - 1);
    profile.comm("W0.0", None, None, ranks as u32, &all);
    profile.comm("a0.1", Some("grid"), Some("W0.0"), ranks as u32, &all);
    for row in 0..rows {
        let first = row * columns;
        let members = format!("{first}-{}", first + columns - 1);
        profile.comm(&format!("s{first}.2"), Some(&format!("row {row}")), Some("a0.1"), columns as u32, &members);
    }
    for column in 0..columns {
        let members: Vec<String> = (0..rows).map(|row| (row * columns + column).to_string()).collect();
        let name = format!("s{column}.3");
        profile.comm(&name, None, Some("a0.1"), rows as u32, &members.join(","));
    }
    let of = |number: i64, ms: i64| ms * MS / 1000 * noise(seed, number);
    let mut spent = vec![0; ranks];
    for (rank, spent) in spent.iter_mut().enumerate() {
        let each = 100 * rank as i64;
        let is_first = rank == 0;
        let mut cell = |comm: &str, op: &str, bucket: i64, did: Did| {
            *spent += did.3;
            profile.cell(comm, op, bucket, rank, did);
        };
        let calls = 2000 + change.more_calls;
        let size = 4096 * change.times_size.max(1);
        let time = of(1 + each, 400) / 2000 * calls * change.times_size.max(1);
        cell("a0.1", "MPI_Sendrecv", 2, Did(calls, calls * size, calls * size, time));
        let row = format!("s{}.2", rank / columns * columns);
        cell(&row, "MPI_Alltoallv", 3, Did(48, 48 << 20, 48 << 20, of(2, 900) + 48 * change.delay_ms * MS));
        cell(&format!("s{}.3", rank % columns), "MPI_Bcast", 0, Did(10, 80, 80, of(3 + each, 20)));
        let waits = if is_first { 0 } else { change.imbalance_ms };
        cell("W0.0", "MPI_Barrier", 0, Did(100, 0, 0, of(4, 10) + waits * MS));
    }
    let longest = spent.iter().max().copied().unwrap();
    let work = of(5, 3000) + change.imbalance_ms * MS;
    profile.finish(|_| work + longest);
}

/// Five runs of a program as it was, and five as it is.
pub fn study(folder: &Folder, change: Change) {
    for run in 1..=5 {
        stencil(&folder.path(&format!("old-{run}.db")), (2, 4), run, Change::default());
        stencil(&folder.path(&format!("new-{run}.db")), (2, 4), 50 + run, change);
    }
}

fn sides() -> Vec<String> {
    let names = |side: &str| (1..=5).map(|run| format!("{side}-{run}.db")).collect::<Vec<_>>();
    [names("old"), vec!["--".to_owned()], names("new")].concat()
}

fn diff(folder: &Folder, words: &[&str]) -> Answer {
    let sides = sides();
    let all: Vec<&str> =
        ["compare"].into_iter().chain(sides.iter().map(String::as_str)).chain(words.iter().copied()).collect();
    folder.through(&all)
}

fn rows(document: &Value) -> &Vec<Value> {
    document["changes"].as_array().unwrap()
}

fn row<'a>(document: &'a Value, comm: &str, op: &str) -> &'a Value {
    rows(document).iter().find(|row| row["comm"] == comm && row["op"] == op).unwrap()
}

#[test]
fn the_table_of_changes_looks_like_this() {
    let folder = Folder::empty();
    study(&folder, Change { delay_ms: 5, ..Change::default() });
    assert_snapshot!(diff(&folder, &[]).ok());
}

/// Of a table that has no room, names are cut and counts left out first.
#[test]
fn verdicts_are_never_cut() {
    let folder = Folder::empty();
    study(&folder, Change { more_calls: 1000, times_size: 2, delay_ms: 5, imbalance_ms: 500 });
    let sides = sides();
    let runs: Vec<&str> = sides.iter().map(String::as_str).collect();
    let of_both: Vec<&str> = runs.iter().copied().filter(|run| *run != "--").collect();
    for (words, verdict) in
        [([&["compare"], &runs[..]].concat(), "slower"), ([&["compare"], &of_both[..]].concat(), "correlates")]
    {
        let narrow = Answer::of(folder.command(&words).env("COLUMNS", "60").output().unwrap()).ok();
        let wide = Answer::of(folder.command(&words).env("COLUMNS", "200").output().unwrap()).ok();
        let verdicts = |table: &str| -> Vec<String> {
            let mut rows =
                table.lines().skip_while(|line| !line.ends_with(" verdict")).take_while(|line| !line.is_empty());
            let at = rows.next().map_or(0, |titles| titles.chars().count() - "verdict".len());
            rows.map(|line| line.chars().skip(at).collect()).collect()
        };
        assert!(wide.contains(verdict), "{wide}");
        assert!(!verdicts(&wide).is_empty() && verdicts(&narrow) == verdicts(&wide), "{narrow}{wide}");
    }
}

/// The contract, with options behind the other side.
#[test]
fn changes_are_told_to_programs() {
    let folder = Folder::empty();
    study(&folder, Change { more_calls: 1, ..Change::default() });
    let document = diff(&folder, &["--format", "json"]).json();
    assert!(document["delta_run_time_s"].is_number());
    let keys =
        ["comm", "op", "delta_rank_s", "reason", "calls_a", "calls_b", "bytes_a", "bytes_b", "p", "shift_s", "verdict"];
    for row in rows(&document) {
        assert!(keys.iter().all(|key| row.get(*key).is_some()), "{row}");
    }
    let sum: f64 = rows(&document).iter().map(|row| row["delta_rank_s"].as_f64().unwrap()).sum();
    assert!((sum - document["delta_rank_s"].as_f64().unwrap()).abs() < 1e-7);
    assert!((sum / 8.0 - document["delta_run_time_s"].as_f64().unwrap()).abs() < 1e-8);
    let sends = row(&document, "a0.1", "MPI_Sendrecv");
    // A call of each of the eight ranks.
    assert_eq!((sends["calls_a"].as_i64(), sends["calls_b"].as_i64()), (Some(16_000), Some(16_008)));
    assert_eq!((&sends["reason"], &sends["calls_vary"]), (&Value::from("more calls"), &Value::from(false)));
    let csv = diff(&folder, &["--format", "csv"]).csv();
    assert_eq!(csv.len(), rows(&document).len());
}

#[test]
fn each_change_is_named_and_no_other() {
    let change = Change::default();
    for (change, comm, op, reason, is_slower) in [
        (Change { more_calls: 1, ..change }, "a0.1", "MPI_Sendrecv", "more calls", false),
        (Change { times_size: 2, ..change }, "a0.1", "MPI_Sendrecv", "bigger", true),
        (Change { delay_ms: 5, ..change }, "s0.2", "MPI_Alltoallv", "slower per byte", true),
        (Change { imbalance_ms: 500, ..change }, "W0.0", "MPI_Barrier", "more waiting", true),
    ] {
        let folder = Folder::empty();
        study(&folder, change);
        let document = diff(&folder, &["--format", "json"]).json();
        let planted = row(&document, comm, op);
        assert_eq!(planted["reason"], reason, "{planted}");
        assert_eq!(planted["verdict"] == "slower", is_slower, "{planted}");
        for row in rows(&document).iter().filter(|row| !row["reason"].is_null()) {
            let is_twin = row["comm"] == "s4.2" && comm == "s0.2";
            let is_other = row["comm"] != comm && !is_twin;
            // Who works longer works longer, and ranks that waited less in the program's barrier end with the others.
            assert!(
                !is_other || matches!(row["reason"].as_str(), Some("more work" | "more end skew")),
                "{reason}: {row}"
            );
        }
    }
}

#[test]
fn equal_runs_are_equal() {
    let folder = Folder::with_sample();
    let document = folder.through(&["compare", "sample.db", "sample.db", "--format", "json"]).json();
    assert_eq!(document["delta_run_time_s"], 0.0);
    for row in rows(&document) {
        assert_eq!(
            (&row["delta_rank_s"], &row["reason"], &row["verdict"]),
            (&Value::from(0.0), &Value::Null, &Value::Null)
        );
    }
    let matches = document["matches"].as_array().unwrap();
    assert!(matches.len() == 5 && matches.iter().all(|row| row["matched_by"] == "identity"), "{matches:?}");
}

#[test]
fn all_communicators_are_matched_on_other_numbers_of_ranks() {
    let folder = Folder::empty();
    let grids = [(2, 2), (2, 4), (4, 2), (4, 4), (1, 8)];
    for (rows, columns) in grids {
        stencil(&folder.path(&format!("{rows}x{columns}.db")), (rows, columns), 1, Change::default());
    }
    for (a, b) in grids.into_iter().flat_map(|a| grids.map(|b| (a, b))).filter(|((a, b), (c, d))| a * b != c * d) {
        let names = [a, b].map(|(rows, columns)| format!("{rows}x{columns}.db"));
        let document = folder.through(&["compare", &names[0], &names[1], "--format", "json"]).json();
        let matches = document["matches"].as_array().unwrap();
        assert!(matches.iter().all(|row| !row["matched_by"].is_null()), "{names:?}: {matches:?}");
        let of = |name: &str| matches.iter().find(|row| row["comm_a"] == name).unwrap();
        // Communicators of one call are one.
        assert_eq!((&of("s0.2")["comm_b"], &of("s0.3")["comm_b"]), (&Value::from("s0.2"), &Value::from("s0.3")));
        let counts = |row: &Value| [&row["comms_a"], &row["comms_b"]].map(|count| count.as_u64().unwrap() as usize);
        assert_eq!((counts(of("s0.2")), counts(of("s0.3"))), ([a.0, b.0], [a.1, b.1]));
        let sum: f64 = rows(&document).iter().map(|row| row["delta_rank_s"].as_f64().unwrap()).sum();
        assert!((sum - document["delta_rank_s"].as_f64().unwrap()).abs() < 1e-7);
    }
}

/// The names of all others have changed.
#[test]
fn a_communicator_more_does_not_confuse_the_others() {
    let folder = Folder::empty();
    let make = |name: &str, is_new: bool| {
        let mut profile = Builder::new(&folder.path(name), 4);
        profile.comm("W0.0", None, None, 4, "0-3");
        let more = i64::from(is_new);
        if is_new {
            profile.comm("d0.1", None, Some("W0.0"), 4, "0-3");
            profile.cell("d0.1", "MPI_Barrier", 0, 0, Did(1, 0, 0, MS));
        }
        for (made, sets) in [(1, ["0,1", "2,3"]), (2, ["0,2", "1,3"])] {
            for set in sets {
                let name = format!("s{}.{}", &set[..1], made + more);
                profile.comm(&name, None, Some("W0.0"), 2, set);
                profile.cell(&name, "MPI_Allreduce", 0, set[..1].parse().unwrap(), Did(made, 8, 8, made * MS));
            }
        }
        profile.finish(|_| 100 * MS);
    };
    make("a.db", false);
    make("b.db", true);
    let document = folder.through(&["compare", "a.db", "b.db", "--format", "json"]).json();
    let matches = document["matches"].as_array().unwrap();
    for (a, b) in [("s0.1", "s0.2"), ("s2.1", "s2.2"), ("s0.2", "s0.3"), ("s1.2", "s1.3")] {
        let row = matches.iter().find(|row| row["comm_a"] == a).unwrap();
        assert_eq!((&row["comm_b"], &row["matched_by"]), (&Value::from(b), &Value::from("shape")), "{matches:?}");
    }
    let new = matches.iter().find(|row| row["comm_b"] == "d0.1").unwrap();
    assert_eq!((&new["comm_a"], &new["matched_by"]), (&Value::Null, &Value::Null));
    assert_eq!(row(&document, "d0.1", "MPI_Barrier")["reason"], "more calls");
    assert_eq!(rows(&document).iter().filter(|row| !row["reason"].is_null() && row["entry"] == "calls").count(), 1);
    let table = folder.through(&["compare", "a.db", "b.db"]).ok();
    assert!(
        table.contains("only in B: 1 communicator (d0.1)") && table.contains("matched by shape: s0.1 = s0.2"),
        "{table}"
    );
}

#[test]
fn the_exit_status_is_for_ci() {
    let folder = Folder::empty();
    study(&folder, Change { delay_ms: 5, ..Change::default() });
    // 48 times 5 ms more, of some 4.3 s.
    for (words, status) in [
        (&["--fail-above", "1%"][..], 1),
        (&["--fail-above", "100ms"], 1),
        (&["--fail-above", "0.1"], 1),
        (&["--fail-above", "20%"], 0),
        (&["--fail-above", "1s"], 0),
        (&[], 0),
        (&["--fail-above", "much"], 2),
    ] {
        assert_eq!(diff(&folder, words).status, status, "{words:?}");
    }
    let said = diff(&folder, &["--fail-above", "1%"]).err;
    assert!(said.contains("the run time rose by") && said.contains("MPI_Alltoallv on s0.2 rose by"), "{said}");
    let back: Vec<&str> = vec!["compare", "new-1.db", "--", "old-1.db", "--fail-above=1%"];
    assert_eq!(folder.through(&back).status, 0);
    assert_eq!(folder.through(&["compare", "old-1.db", "new-1.db", "--fail-above=1%"]).status, 1);
    for words in
        [&["compare", "old-1.db"][..], &["compare", "old-1.db", "none.db"], &["compare", "a", "b", "c"], &["compare"]]
    {
        assert_eq!(folder.through(words).status, 2, "{words:?}");
    }
}

/// The ledger is that of `through show --efficiency`.
#[test]
fn entries_are_those_of_the_ledger() {
    let folder = Folder::with_sample();
    let mut none = Builder::new(&folder.path("none.db"), 4);
    none.comm("W0.0", None, None, 4, "0-3");
    none.finish(|_| 0);
    let document = folder.through(&["compare", "none.db", "sample.db", "--format", "json"]).json();
    let ledger = folder.through(&["show", "--efficiency", "sample.db", "--format", "json"]).json();
    let of = |entry: &str| {
        let row = rows(&document).iter().find(|row| row["entry"] == entry).unwrap();
        row["delta_rank_s"].as_f64().unwrap()
    };
    assert_eq!(of("working"), ledger["working_rank_s"].as_f64().unwrap());
    assert_eq!(of("end skew"), ledger["end_skew_rank_s"].as_f64().unwrap());
    for entry in ledger["ledger"].as_array().unwrap() {
        let (comm, op) = (entry["comm"].as_str().unwrap(), entry["op"].as_str().unwrap());
        assert_eq!(row(&document, comm, op)["delta_rank_s"], entry["rank_s"], "{entry}");
    }
}

#[test]
fn correlations_look_like_this() {
    let folder = Folder::empty();
    study(&folder, Change { delay_ms: 5, ..Change::default() });
    let names = sides();
    let names = names.iter().map(String::as_str).filter(|name| *name != "--");
    let words: Vec<&str> = ["compare"].into_iter().chain(names).collect();
    assert_snapshot!(folder.through(&words).ok());
    let document = folder.through(&[&words[..], &["--format", "json"]].concat()).json();
    let rows = document["correlations"].as_array().unwrap();
    let both = rows.iter().find(|row| row["op"] == "MPI_Alltoallv" && row["comms"] == 2).unwrap();
    assert_eq!((&both["verdict"], &both["waiting"]), (&Value::from("correlates"), &Value::from("bound")));
    assert!(both["r"].as_f64().unwrap() > 0.95 && both["r_low"].as_f64().unwrap() > 0.8, "{both}");
    assert_eq!(document["runs"].as_array().unwrap().len(), 10);
    assert_eq!(folder.through(&[&words[..], &["--by", "phase of the moon"]].concat()).status, 2);
    let csv = folder.through(&[&words[..], &["--by", "command", "--format", "csv"]].concat()).csv();
    assert_eq!(csv.len(), rows.len());
}

#[test]
fn a_profile_that_is_named_twice_is_one_run() {
    let folder = Folder::empty();
    study(&folder, Change::default());
    std::os::unix::fs::symlink("old-1.db", folder.path("link.db")).unwrap();
    let words = ["compare", "old-1.db", "old-2.db", "./old-1.db", "link.db", "--", "new-1.db", "--format", "json"];
    let answer = folder.through(&words);
    let said: Vec<&str> = answer.err.lines().collect();
    let twice = |name: &str| format!("through: {name}: named twice, counted once");
    assert_eq!((answer.status, said), (0, vec![twice("./old-1.db").as_str(), twice("link.db").as_str()]));
    let document: Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(document["runs_a"], 2);
    let answer = folder.through(&["compare", "old-1.db", "--", "old-1.db", "new-1.db"]);
    assert_eq!((answer.status, answer.err.as_str()), (0, "through: old-1.db: on both sides\n"));
    let answer = folder.through(&["compare", "old-1.db", "old-1.db", "old-2.db", "--format", "json"]);
    assert_eq!(answer.err.lines().count(), 1, "{}", answer.err);
    let document: Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!(document["runs"].as_array().unwrap().len(), 2);
}

/// Each run has an output file of its own.
#[test]
fn settings_that_only_say_where_things_are_make_no_configuration() {
    let folder = Folder::empty();
    study(&folder, Change::default());
    let names: Vec<String> = sides().into_iter().filter(|name| name != "--").collect();
    for (number, name) in names.iter().enumerate() {
        let sites = number % 2;
        let options = format!("COMMSEE_OUT=/scratch/run {number}.db COMMSEE_LOG=warn COMMSEE_SITES={sites}");
        let db = rusqlite::Connection::open(folder.path(name)).unwrap();
        db.execute("INSERT INTO metadata VALUES ('options', ?)", [options]).unwrap();
    }
    let words: Vec<&str> =
        ["compare", "--format", "json"].into_iter().chain(names.iter().map(String::as_str)).collect();
    let document = folder.through(&words).json();
    let titles: Vec<&str> =
        document["configurations"].as_array().unwrap().iter().filter_map(|row| row["configuration"].as_str()).collect();
    assert_eq!(titles, ["options COMMSEE_SITES=0", "options COMMSEE_SITES=1"]);
}

/// Profiles with sums over nodes or over all ranks say what those of single ranks say.
#[test]
fn every_detail_is_compared() {
    let folder = Folder::empty();
    std::fs::copy(golden("version-1.db"), folder.path("rank.db")).unwrap();
    for detail in ["node", "comm"] {
        converted(&folder.path(&format!("{detail}.db")), detail);
    }
    for other in ["node.db", "comm.db"] {
        let document = folder.through(&["compare", "rank.db", other, "--format", "json"]).json();
        assert!(rows(&document).len() > 5);
        for row in rows(&document) {
            assert_eq!(
                (&row["delta_rank_s"], &row["calls_a"], &row["bytes_a"]),
                (&Value::from(0.0), &row["calls_b"], &row["bytes_b"])
            );
        }
        let matches = document["matches"].as_array().unwrap();
        assert!(matches.iter().all(|row| row["matched_by"] == "identity"), "{matches:?}");
    }
}

/// Numbers at their limits, parents in a circle, ranks that nobody has room for.
#[test]
fn hostile_profiles_are_compared() {
    let folder = Folder::with_sample();
    for name in ["a.db", "b.db"] {
        std::fs::copy(folder.path("sample.db"), folder.path(name)).unwrap();
        let db = rusqlite::Connection::open(folder.path(name)).unwrap();
        let most = i64::MAX;
        let least = if name == "a.db" { i64::MIN } else { 7 };
        db.execute_batch(&format!(
            "UPDATE total SET time_ns = {most}, calls = {most}, bytes_sent = -1, bytes_recv = {least}; \
             UPDATE process SET wall_ns = {most}, mpi_ns = {least}; UPDATE members SET ranks = '0-4294967295'; \
             UPDATE communicator SET parent = id, size = 4294967295 WHERE id > 2"
        ))
        .unwrap();
    }
    for words in
        [&["compare", "a.db", "b.db"][..], &["compare", "a.db", "sample.db"], &["compare", "a.db", "b.db", "sample.db"]]
    {
        for format in ["table", "csv", "json"] {
            let answer = folder.through(&[words, &["--format", format]].concat());
            assert!(answer.status <= 2 && !answer.err.contains("panicked"), "{words:?}: {}", answer.err);
        }
    }
}
