//! Where the run time went, who waited for whom, and communicators that were made alike.

use std::path::Path;

use rusqlite::Connection;
use serde_json::Value;

use crate::common::{Builder, Did, Folder, MS};

/// What lies between the parts of the whole and 1 if times are exact to the nanosecond.
const EXACT: f64 = 1e-12;

fn number(document: &Value, key: &str) -> f64 {
    document[key].as_f64().unwrap_or_else(|| panic!("{key} in {document}"))
}

/// That the ledger adds up, and that its factors are those that POP's formulas give for the ranks.
#[track_caller]
fn check_ledger(folder: &Folder, words: &[&str]) {
    let document = folder.through(&[&["efficiency"], words, &["--format", "json"]].concat()).json();
    let entries = document["ledger"].as_array().unwrap();
    let (ranks, run_time) = (number(&document, "ranks"), number(&document, "run_time_s"));
    let shares: f64 = entries.iter().map(|entry| number(entry, "share")).sum();
    let skew = number(&document, "end_skew_rank_s") / (ranks * run_time);
    let efficiency = number(&document, "parallel_efficiency");
    assert!((shares + skew + efficiency - 1.0).abs() < EXACT * (1.0 + shares), "{document}");
    let mut args = vec!["-e", "--format", "csv"];
    args.extend(words.iter().filter(|word| **word != "--comm"));
    if words.contains(&"--comm") {
        return;
    }
    let rows = folder.through(&args).csv();
    let of = |row: &std::collections::HashMap<String, String>, key: &str| row[key].parse::<f64>().unwrap();
    let work: Vec<f64> = rows.iter().map(|row| of(row, "wall_s") - of(row, "mpi_s")).collect();
    let (mean, most) = (work.iter().sum::<f64>() / work.len() as f64, work.iter().copied().fold(f64::MIN, f64::max));
    let longest = rows.iter().map(|row| of(row, "wall_s")).fold(f64::MIN, f64::max);
    assert!((efficiency - mean / longest).abs() < 1e-9, "{document}");
    assert!((number(&document, "load_balance") - mean / most).abs() < 1e-9, "{document}");
    assert!((number(&document, "communication_efficiency") - most / longest).abs() < 1e-9, "{document}");
}

#[test]
fn the_ledger_adds_up() {
    let folder = Folder::with_sample();
    check_ledger(&folder, &[]);
    check_ledger(&folder, &["--rank", "1-3"]);
    check_ledger(&folder, &["--comm", "s0.1"]);
    let document = folder.through(&["efficiency", "--format", "json"]).json();
    // 4 ranks and 3 s; work 890, 1880, 2683 and 1907 ms less what Waitall took of each.
    assert_eq!((number(&document, "ranks"), number(&document, "run_time_s")), (4.0, 3.0));
    assert!((number(&document, "end_skew_rank_s") - 4.0).abs() < 1e-9);
    let heaviest = &document["ledger"][0];
    assert_eq!((heaviest["comm"].as_str(), heaviest["op"].as_str()), (Some("s0.1"), Some("MPI_Allreduce")));
    assert!((number(heaviest, "rank_s") - 0.4).abs() < 1e-9 && (number(heaviest, "share") - 0.4 / 12.0).abs() < 1e-9);
}

/// Numbers that look random, the same each time (xorshift: Marsaglia, 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn the_ledger_of_any_profile_adds_up() {
    const OPS: [&str; 5] = ["MPI_Send", "MPI_Allreduce", "MPI_Waitall", "MPI_Barrier", "MPI_Init"];
    for seed in 1..=30 {
        let mut random = Random(seed * 0x9e37_79b9_7f4a_7c15);
        let ranks = 1 + random.below(9) as usize;
        let folder = Folder::empty();
        let mut profile = Builder::new(&folder.path("random.db"), ranks);
        profile.meta("ranks", &ranks.to_string());
        profile.comm("W0.0", None, None, ranks as u32, &format!("0-{}", ranks - 1));
        for number in 1..=random.below(6) {
            profile.comm(&format!("d0.{number}"), None, Some("W0.0"), ranks as u32, &format!("0-{}", ranks - 1));
        }
        let mut seen = std::collections::HashSet::new();
        for phase in ["", "set up", "solve"].iter().take(1 + random.below(3) as usize) {
            if !phase.is_empty() {
                profile.phase(phase);
            }
            for _ in 0..random.below(40) {
                let comm = if random.below(3) == 0 { "W0.0" } else { "*" };
                let (op, rank) = (OPS[random.below(5) as usize], random.below(ranks as u64) as usize);
                let (bucket, ns) = (random.below(4) as i64, random.below(1_000_000_007) as i64);
                if seen.insert((*phase, comm, op, rank, bucket)) {
                    profile.cell(comm, op, bucket, rank, Did(1 + random.below(9) as i64, 5, 5, ns));
                }
            }
        }
        profile.finish(|rank| 60_000 * MS + 987_654_321 * rank as i64);
        check_ledger(&folder, &[]);
        check_ledger(&folder, &["--rank", "0"]);
    }
}

#[test]
fn time_that_no_counter_has_is_an_entry_of_its_own() {
    let folder = Folder::with_sample();
    let db = Connection::open(folder.path("sample.db")).unwrap();
    db.execute("UPDATE process SET mpi_ns = mpi_ns + 7000000 WHERE rank = 1", []).unwrap();
    db.close().unwrap();
    check_ledger(&folder, &[]);
    let rows = folder.through(&["efficiency", "--format", "csv"]).csv();
    let lost = rows.iter().find(|row| row["op"] == "-").unwrap();
    assert_eq!((lost["comm"].as_str(), lost["rank_s"].as_str()), ("-", "0.007"));
}

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
        one.contains(" 1 operation on an intercommunicator, where ") && one.ends_with("nothing can be said"),
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
    let why = "counters tell nothing of waiting in MPI_Bcast: a timeline does (COMMSEE_TRACE=1)";
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
    assert!(whole.contains("1 collective with a root is left out: the root changed"), "{whole}");
    assert!(told(&["--op", "scatter,barrier"]).contains("is left out"));
    let alone = told(&["--op", "scatter"]);
    assert!(alone.contains("waiting in MPI_Scatter: and the timeline has none\n") && alone.contains("is left out"));
    let sized = told(&["--op", "scatter", "--bytes", "1:"]);
    assert!(sized.contains("waiting in MPI_Scatter: the timeline does\n") && sized.contains("it knows no sizes"));
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
    assert!(advice.contains("Costs at least 200 ms") && advice.contains(lost), "{advice}");
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

/// Six communicators made by one call, and one by another.
fn families() -> Folder {
    let folder = Folder::empty();
    write_families(&folder.path("families.db"), "");
    folder
}

pub fn write_families(path: &Path, launch: &str) {
    let mut profile = Builder::new(path, 12);
    profile.meta("launch", launch);
    profile.meta("ranks", "12");
    profile.comm("W0.0", None, None, 12, "0-11");
    profile.comm("d0.1", None, Some("W0.0"), 12, "0-11");
    for pair in 0..6 {
        let name = format!("s{}.2", 2 * pair);
        profile.comm(&name, None, Some("W0.0"), 2, &format!("{}-{}", 2 * pair, 2 * pair + 1));
        for rank in [2 * pair, 2 * pair + 1] {
            profile.cell(&name, "MPI_Allreduce", 0, rank, Did(10, 80, 80, (1 + rank as i64) * MS));
        }
    }
    profile.cell("d0.1", "MPI_Barrier", 0, 0, Did(1, 0, 0, 500 * MS));
    profile.finish(|_| 2000 * MS);
}

#[test]
fn communicators_that_were_made_alike_are_one_line() {
    let folder = families();
    insta::assert_snapshot!(folder.through(&["families.db"]).ok());
    let table = folder.through(&["-u"]).ok();
    assert!(table.contains("s0.2 and 5 more") && !table.contains("s2.2"), "{table}");
    let apart = folder.through(&["--no-families"]).ok();
    assert!(apart.contains("── s2.2 ") && !apart.contains("6 × Comm_split"), "{apart}");
    let named = folder.through(&["--comm", "s0.2,s2.2,s4.2,s6.2,s8.2"]).ok();
    assert!(named.contains("── s2.2 "), "who is named is shown: {named}");
    let family = folder.through(&["--family", "s4.2", "--format", "csv"]).csv();
    assert_eq!(
        family.iter().map(|row| row["comm"].as_str()).collect::<Vec<_>>(),
        ["s10.2", "s8.2", "s6.2", "s4.2", "s2.2", "s0.2"]
    );
    assert_eq!(folder.through(&["--family", "d0.1", "--format", "csv"]).csv().len(), 1);
}

#[test]
fn a_line_says_where_the_run_time_went() {
    let text = families().through(&[]).ok();
    // 12 ranks and 2 s: 500 ms in the barrier, 78 ms in the pairs.
    assert!(text.contains("run time   97.6 % work, 2.1 % Barrier on d0.1"), "{text}");
    assert!(!families().through(&["--comm", "d0.1"]).ok().contains("% work"));
}

#[test]
fn families_are_one_line_wherever_communicators_are_listed() {
    let folder = families();
    let lines = |words: &[&str], what: &str| {
        let text = folder.through(words).ok();
        text.lines().filter(|line| line.contains(what)).map(str::to_owned).collect::<Vec<_>>()
    };
    let top = lines(&["top"], "Allreduce");
    assert_eq!(top.len(), 1, "{top:?}");
    // Of six pairs, 10 calls each, 1 to 12 ms.
    assert!(top[0].contains("6 × Comm_split") && top[0].contains(" 60 ") && top[0].contains("78.0 ms"), "{top:?}");
    assert_eq!(lines(&["top", "--no-families"], "Allreduce").len(), 6);
    assert_eq!(lines(&["imbalance"], "s0.2 (6)").len(), 1);
    assert_eq!(lines(&["imbalance", "--no-families", "--top", "0"], "Allreduce").len(), 6);
    assert_eq!(lines(&["imbalance", "--comm", "s0.2,s2.2,s4.2,s6.2,s8.2"], "Allreduce").len(), 5);
    assert_eq!(lines(&["efficiency"], "Allreduce").len(), 1);
    assert_eq!(lines(&["efficiency", "--no-families"], "Allreduce").len(), 6);
    assert_eq!(lines(&["waits", "--no-families"], "Allreduce").len(), 6);
    assert_eq!(lines(&["tree"], "6 × Comm_split").len(), 1);
    let asked_for = lines(&["tree", "--comm", "s4.2"], "Comm_split");
    assert!(asked_for.len() == 1 && asked_for[0].contains("s4.2, Comm_split"), "{asked_for:?}");
    let two = lines(&["tree", "--comm", "s4.2,s8.2"], "Comm_split");
    assert!(two.len() == 1 && two[0].contains("2 × Comm_split, 2 ranks from s4.2"), "{two:?}");
    for command in ["top", "imbalance", "efficiency"] {
        let rows = folder.through(&[command, "--format", "csv"]).csv();
        assert_eq!(rows.iter().filter(|row| row["op"] == "MPI_Allreduce").count(), 6, "{command}");
    }
}

/// Halves of a ring of eight, each a chain of its own in five communicators, of which one misses a message.
#[test]
fn communicators_of_a_family_with_one_pattern_are_one_line() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("a.db"), 20);
    profile.comm("W0.0", None, None, 20, "0-19");
    for ring in 0..5 {
        let (name, first) = (format!("s{}.1", 4 * ring), 4 * ring);
        profile.comm(&name, None, Some("W0.0"), 4, &format!("{first}-{}", first + 3));
        for at in 0..4 {
            profile.cell(&name, "MPI_Send", 0, first + at, Did(2, 200, 0, MS));
            profile.edge(&name, "MPI_Send", ((first + at) as i64, (first + (at + 1) % 4) as i64), 2, 200);
        }
    }
    profile.finish(|_| 100 * MS);
    let table = folder.through(&["patterns"]).ok();
    let rings: Vec<&str> = table.lines().filter(|line| line.contains("ring")).collect();
    assert!(rings.len() == 1 && rings[0].contains("5 × Comm_split") && rings[0].contains(" 20 "), "{table}");
    assert_eq!(folder.through(&["patterns", "--no-families"]).ok().matches("ring").count(), 5);
    assert_eq!(folder.through(&["patterns", "--format", "csv"]).csv().len(), 5);
}

/// What is not named is summed up, also where that leaves room for fewer names.
#[test]
fn the_line_of_the_run_time_adds_up() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("a.db"), 1);
    profile.comm("W0.0", None, None, 1, "0");
    for (op, time) in [("MPI_Allgatherv", 40), ("MPI_Alltoallv", 30), ("MPI_Allreduce", 20), ("MPI_Bcast", 10)] {
        profile.cell("W0.0", op, 0, 0, Did(1, 0, 0, time * MS));
    }
    profile.finish(|_| 200 * MS);
    let text = folder.through(&[]).ok();
    let line = text.lines().find(|line| line.contains("% work")).unwrap();
    assert!(line.ends_with("50.0 % work, 20.0 % Allgatherv on W0.0, 30.0 % other"), "{line}");
}

/// The share is one of time.
#[test]
fn no_share_stands_beside_the_bytes_of_several() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("a.db"), 1);
    profile.comm("W0.0", None, None, 1, "0");
    profile.cell("W0.0", "MPI_Irecv", 2, 0, Did(10, 0, 20_000, MS));
    profile.cell("W0.0", "MPI_Waitall", 0, 0, Did(10, 0, 0, 60 * MS));
    profile.completed(("W0.0", "MPI_Waitall", 0), (Some("MPI_Irecv"), 2, -1), (10, 20_000, 0));
    profile.completed(("W0.0", "MPI_Waitall", 0), (None, 0, -1), (0, 0, 60 * MS));
    profile.finish(|_| 200 * MS);
    let text = folder.through(&[]).ok();
    assert!(text.contains("Waitall waited for several at once (100.0 %, most bytes by Irecv of 1K-8K)"), "{text}");
}

#[test]
fn what_completion_calls_waited_for_stands_beside_them() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("a.db"), 2);
    profile.comm("W0.0", None, None, 2, "0-1");
    for rank in 0..2 {
        profile.cell("W0.0", "MPI_Irecv", 1, rank, Did(30, 0, 30_000, MS));
        profile.cell("W0.0", "MPI_Waitall", 0, rank, Did(10, 0, 0, 60 * MS));
        profile.cell("W0.0", "MPI_Wait", 0, rank, Did(10, 0, 0, 40 * MS));
        profile.cell("W0.0", "MPI_Test", 0, rank, Did(10, 0, 0, 100_000));
        let receives = |bucket, peer| (Some("MPI_Irecv"), bucket, peer);
        profile.completed(("W0.0", "MPI_Waitall", rank), receives(2, -1), (10, 20_000, 54 * MS));
        profile.completed(("W0.0", "MPI_Waitall", rank), (Some("MPI_Isend"), 0, -1), (10, 0, 2 * MS));
        profile.completed(("W0.0", "MPI_Waitall", rank), receives(1, -1), (10, 4000, 0));
        profile.completed(("W0.0", "MPI_Waitall", rank), (None, 0, -1), (0, 0, 4 * MS));
        profile.completed(("W0.0", "MPI_Wait", rank), receives(1, 1 - rank as i64), (10, 6000, 40 * MS));
        profile.completed(("W0.0", "MPI_Test", rank), (None, 0, -1), (0, 0, 100_000));
    }
    profile.finish(|_| 200 * MS);
    let text = folder.through(&[]).ok();
    let said: Vec<&str> = text.lines().filter(|line| line.contains("waited for")).collect();
    let all = "Waitall waited for Irecv of 1K-8K (90.0 %), several at once (6.7 %)";
    assert_eq!(said, [all, "Wait waited for Irecv of 128-1K (100.0 %)"]);
    assert!(!folder.through(&["--bytes", "1K:"]).ok().contains("waited for"));
    let of_one = folder.through(&["--rank", "0", "--op", "wait"]).ok();
    assert!(of_one.contains("Wait waited for Irecv of 128-1K (100.0 %, mostly from rank 1)"), "{of_one}");
}
