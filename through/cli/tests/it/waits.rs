//! Who waited for whom: what counters tell, and what a timeline does.

use rusqlite::Connection;

use crate::common::{Builder, Did, Folder, MS};
use crate::insight::{EXACT, number};

/// Four ranks, of which rank 2 is late in each of ten barriers: the others wait 90 ms each time, and a barrier takes 10 ms.
/// In a Bcast nothing can be told, and in one Allreduce ranks made different numbers of calls.
fn late(folder: &Folder) {
    let mut profile = Builder::new(&folder.path("late.db"), 4);
    profile.meta("ranks", "4");
    profile.comm("W0.0", None, None, 4, "0-3");
    for rank in 0..4 {
        let waited = if rank == 2 { 0 } else { 900 };
        profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(10, 0, 0, (100 + waited) * MS));
        profile.cell("W0.0", "MPI_Bcast", 0, rank, Did(1, 40, 0, 500 * MS));
        profile.cell("W0.0", "MPI_Allreduce", 0, rank, Did(1 + rank as i64, 8, 8, 5 * MS));
    }
    profile.finish(|_| 2000 * MS);
}

#[test]
fn bounds_of_waiting_follow_from_counters() {
    let folder = Folder::empty();
    late(&folder);
    let document = folder.through(&["waits", "--format", "json"]).json();
    let waits = document["waits"].as_array().unwrap();
    assert_eq!(waits.len(), 4, "{document}");
    for row in waits {
        let rank = row["rank"].as_i64().unwrap();
        // The builder's shortest call is half of the mean: 5 ms.
        let (least, most) = if rank == 2 { (0.0, 0.05) } else { (0.9, 0.95) };
        assert!(
            (number(row, "wait_min_s") - least).abs() < EXACT && (number(row, "wait_max_s") - most).abs() < EXACT,
            "{row}"
        );
        assert_eq!((row["op"].as_str(), row["late_ranks"].as_str()), (Some("MPI_Barrier"), Some("2")));
        assert!(row["state"].is_null() && row["wait_s"].is_null());
    }
    let operations = document["operations"].as_array().unwrap();
    assert_eq!(operations[0]["late"].as_str(), Some("same"));
    let refused = operations.iter().find(|row| row["op"] == "MPI_Allreduce").unwrap();
    assert_eq!(refused["refused"].as_str(), Some("calls differ"));
    let one = folder.through(&["waits", "--rank", "1", "--format", "csv"]).csv();
    assert_eq!((one.len(), one[0]["wait_min_s"].as_str()), (1, "0.9"));
    // Those of one rank are its own.
    for (rank, least, time) in [("1", 0.9, 1.0), ("2", 0.0, 0.1), ("1-2", 0.9, 1.1)] {
        let document = folder.through(&["waits", "--rank", rank, "--format", "json"]).json();
        let barrier = &document["operations"][0];
        assert_eq!(barrier["op"].as_str(), Some("MPI_Barrier"), "{document}");
        assert!((number(barrier, "wait_min_s") - least).abs() < EXACT, "{barrier}");
        assert!((number(barrier, "time_s") - time).abs() < EXACT, "{barrier}");
        assert_eq!(barrier["late_ranks"].as_str(), Some("2"));
    }
    let table = folder.through(&["waits"]).ok();
    assert!(table.contains("and 1 operation whose ranks made different numbers of calls"), "{table}");
}

#[test]
fn why_nothing_can_be_said_is_told_of_each_operation() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("a.db"), 4);
    profile.comm("W0.0", None, None, 4, "0-3");
    profile.comm("i0.1", None, Some("W0.0"), 4, "0-3");
    for rank in 0..4 {
        profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(10, 0, 0, 100 * MS));
        profile.cell("W0.0", "MPI_Allreduce", 0, rank, Did(1 + rank as i64, 8, 8, 5 * MS));
        profile.cell("i0.1", "MPI_Allreduce", 0, rank, Did(10, 8, 8, 5 * MS));
        profile.cell("i0.1", "MPI_Barrier", 0, rank, Did(10, 8, 8, 5 * MS));
    }
    profile.finish(|_| 2000 * MS);
    let db = Connection::open(folder.path("a.db")).unwrap();
    db.execute("UPDATE communicator SET size = 2, remote_size = 2 WHERE name = 'i0.1'", []).unwrap();
    db.close().unwrap();
    let told = |words: &[&str]| {
        folder.through(&[&["waits"], words].concat()).ok().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for words in [&[][..], &["--top", "1"]] {
        let whole = told(words);
        assert!(whole.contains("and 1 operation whose ranks made different numbers of calls, or "), "{whole}");
        assert!(whole.contains("and 2 operations on intercommunicators, where ranks wait for the other"), "{whole}");
        assert!(!whole.contains("not shown"), "{whole}");
    }
    // Nothing else is said of what has no rows.
    let one = told(&["--comm", "i0.1", "--op", "barrier"]);
    assert!(
        one.contains(" 1 operation on an intercommunicator, where ") && one.ends_with("waiting is unknown"),
        "{one}"
    );
    assert!(!one.contains("and 1") && !one.contains("at most"), "{one}");
}

#[test]
fn operations_that_counters_do_not_tell_of_are_no_missing_ones() {
    let folder = Folder::empty();
    late(&folder);
    let answer = folder.through(&["waits", "--op", "bcast"]);
    assert_eq!((answer.status, answer.err.lines().count()), (1, 1), "{}", answer.err);
    let why = "counters do not show waiting in MPI_Bcast: a timeline does (through run --trace)";
    assert!(answer.err.contains(why), "{}", answer.err);
    let answer = timeline().through(&["waits", "--op", "recv,send", "--rank", "2"]);
    assert!(answer.err.contains("waiting in these operations: and the timeline has none"), "{}", answer.err);
}

#[test]
fn collectives_without_a_known_root_are_told_where_they_are_asked_for() {
    let folder = timeline();
    let db = Connection::open(folder.path("timed.db")).unwrap();
    db.execute_batch(
        "INSERT INTO operation VALUES (60000, 'MPI_Scatter', 'collective'); \
         UPDATE event SET op = 60000 WHERE op = (SELECT id FROM operation WHERE name = 'MPI_Bcast')",
    )
    .unwrap();
    db.close().unwrap();
    let told = |words: &[&str]| folder.through(&[&["waits"], words].concat()).err;
    let whole = told(&[]);
    assert!(whole.contains("1 collective with a root is left out: its root is unknown"), "{whole}");
    assert!(told(&["--op", "scatter,barrier"]).contains("is left out"));
    let alone = told(&["--op", "scatter"]);
    assert!(alone.contains("waiting in MPI_Scatter: and the timeline has none\n") && alone.contains("is left out"));
    let sized = told(&["--op", "scatter", "--bytes", "1:"]);
    assert!(sized.contains("waiting in MPI_Scatter: the timeline does\n") && sized.contains("it has no sizes"));
    assert_eq!(told(&["--op", "barrier"]), "");
}

/// An event of the timeline: rank, kind, begin and end in ms, operation, who, source, posted, sequence.
struct On<'a>(i64, i64, i64, i64, &'a str, [Option<i64>; 4]);

/// Three ranks that wait in each way that a timeline tells.
pub fn timeline() -> Folder {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("timed.db"), 3);
    profile.meta("ranks", "3");
    profile.comm("W0.0", None, None, 3, "0-2");
    for rank in 0..3 {
        profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(1, 0, 0, [50, 30, 10][rank] * MS));
        let sent = if rank == 0 { 40 } else { 0 };
        profile.cell("W0.0", "MPI_Bcast", 0, rank, Did(1, sent, 40 - sent, 20 * MS));
        let received = if rank == 1 { 40 } else { 0 };
        profile.cell("W0.0", "MPI_Reduce", 0, rank, Did(1, 40, received, 20 * MS));
    }
    for op in ["MPI_Send", "MPI_Recv"] {
        profile.cell("W0.0", op, 0, 0, Did(1, 0, 0, MS));
    }
    profile.finish(|_| 2000 * MS);
    let db = Connection::open(folder.path("timed.db")).unwrap();
    let none = [None; 4];
    let collective = |sequence| [None, None, None, Some(sequence)];
    let events = [
        // Barrier: 0 comes first, 2 last.
        On(0, 0, 0, 50, "MPI_Barrier", collective(1)),
        On(0, 0, 100, 120, "MPI_Bcast", collective(2)),
        On(0, 0, 200, 210, "MPI_Reduce", collective(3)),
        // Late sender: 0 sends at 340 what 1 receives since 300. Late receiver: 0 sends at 400 what 1 receives at 430.
        On(0, 0, 340, 345, "MPI_Send", none),
        On(0, 2, 340, 0, "MPI_Send", [Some(1), Some(0), None, None]),
        On(0, 0, 400, 436, "MPI_Send", none),
        On(0, 2, 400, 0, "MPI_Send", [Some(1), Some(0), None, None]),
        On(1, 0, 20, 50, "MPI_Barrier", collective(1)),
        // The root of the broadcast comes 10 later.
        On(1, 0, 90, 120, "MPI_Bcast", collective(2)),
        // The root of the reduction comes 20 before the first other one.
        On(1, 0, 180, 220, "MPI_Reduce", collective(3)),
        On(1, 0, 300, 350, "MPI_Recv", none),
        On(1, 3, 300, 0, "MPI_Recv", [None, Some(0), Some(0), None]),
        On(1, 0, 430, 440, "MPI_Recv", none),
        On(1, 3, 430, 0, "MPI_Recv", [None, Some(0), Some(1), None]),
        On(2, 0, 40, 50, "MPI_Barrier", collective(1)),
        On(2, 0, 110, 120, "MPI_Bcast", collective(2)),
        On(2, 0, 205, 210, "MPI_Reduce", collective(3)),
    ];
    for On(rank, kind, begin, end, op, [peer, source, posted, sequence]) in events {
        let end = (kind == 0).then_some(end * MS);
        let sql = "INSERT INTO event (rank, thread, kind, begin_ns, end_ns, cause_ns, comm, op, bytes, peer, source, tag, posted, sequence) \
                   SELECT ?1, 0, ?2, ?3, ?4, ?3, c.id, o.id, 40, ?5, ?6, 0, ?7, ?8 FROM communicator c, operation o WHERE c.name = 'W0.0' AND o.name = ?9";
        db.execute(sql, rusqlite::params![rank, kind, begin * MS, end, peer, source, posted, sequence, op]).unwrap();
    }
    db.execute_batch("INSERT INTO clock SELECT rank, 0, 1000, 0, 2000, 10, 0 FROM process").unwrap();
    db.close().unwrap();
    folder
}

#[test]
fn a_timeline_tells_who_waited_for_whom() {
    let document = timeline().through(&["waits", "--format", "json"]).json();
    let pairs = document["pairs"].as_array().unwrap();
    let mut found: Vec<(&str, i64, i64, i64)> = pairs
        .iter()
        .map(|row| {
            let whole = |key: &str| row[key].as_i64().unwrap();
            (
                row["state"].as_str().unwrap(),
                whole("rank"),
                whole("late_rank"),
                (number(row, "wait_s") * 1e3).round() as i64,
            )
        })
        .collect();
    found.sort_unstable();
    let expected = [
        ("Early Reduce", 1, 0, 20),
        ("Late Broadcast", 1, 0, 10),
        ("Late Receiver", 0, 1, 30),
        ("Late Sender", 1, 0, 40),
        ("Wait at Barrier", 0, 2, 40),
        ("Wait at Barrier", 1, 2, 20),
    ];
    assert_eq!(found, expected);
    assert!((number(&document, "clock_error_s") - 4e-6).abs() < EXACT);
    let barrier = document["waits"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["op"] == "MPI_Barrier" && row["rank"] == 0)
        .unwrap();
    assert!(
        number(barrier, "wait_min_s") <= number(barrier, "wait_s")
            && number(barrier, "wait_s") <= number(barrier, "wait_max_s")
    );
    assert_eq!((barrier["state"].as_str(), barrier["late_ranks"].as_str()), (Some("Wait at Barrier"), Some("2")));
}

/// It tells of the end of the run alone: bounds stay, and what it says is at least so much.
#[test]
fn a_timeline_that_has_lost_events_takes_the_place_of_no_bound() {
    let folder = timeline();
    let db = Connection::open(folder.path("timed.db")).unwrap();
    // A receive waits long enough to be advised on.
    db.execute_batch("UPDATE clock SET lost_events = 7 WHERE rank = 1; UPDATE event SET begin_ns = 340000000 - 200000000 WHERE begin_ns = 300000000")
        .unwrap();
    db.close().unwrap();
    let table = folder.through(&["waits"]).ok();
    assert!(table.contains("waiting") && table.contains("at most") && table.contains("timeline"), "{table}");
    let lost = "7 events of the timeline were overwritten";
    assert!(table.contains(lost) && !table.contains("at most: with at least"), "{table}");
    let document = folder.through(&["waits", "--format", "json"]).json();
    assert_eq!(document["lost_events"].as_i64(), Some(7));
    let advice = folder.through(&["advise"]).out;
    assert!(advice.contains("1 rank waits 200 ms") && advice.replace('\n', " ").contains(lost), "{advice}");
    folder.through(&["report", "-o", "page.html"]).ok();
    let page = std::fs::read_to_string(folder.path("page.html")).unwrap();
    assert!(page.contains(lost) && page.contains("in MPI (at least "), "the page tells of it");
}

#[test]
fn a_terminal_of_80_columns_shows_wait_states() {
    let folder = timeline();
    let table = |columns: &str| {
        let output = folder.command(&["waits"]).env("COLUMNS", columns).output().unwrap();
        crate::common::Answer::of(output).ok()
    };
    let narrow = table("80");
    assert!(narrow.lines().any(|line| line.contains("Barrier") && line.contains("Wait at Barrier")), "{narrow}");
    assert!(!narrow.contains("at most"), "{narrow}");
    let wide = table("120");
    assert!(wide.contains("at least") && wide.contains("at most: with at least"), "{wide}");
}
