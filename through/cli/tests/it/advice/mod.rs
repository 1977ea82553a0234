//! What is advised just over the thresholds of each rule, and nothing just under them.

mod below;
mod calls;
mod waiting;
mod work;

use std::path::Path;

use rusqlite::Connection;
use serde_json::Value;

use crate::common::{Builder, Did, Folder, MS};

const KEYS: [&str; 14] = [
    "topic",
    "title",
    "text",
    "level",
    "confidence",
    "comm",
    "label",
    "op",
    "ranks",
    "gain_s",
    "gain_share",
    "cause",
    "evidence",
    "command",
];

/// What is found in a profile, after a look at what must hold of every finding.
fn checked(folder: &Folder, path: &Path) -> Vec<Value> {
    let answer = folder.through(&["advise", path.to_str().unwrap(), "--format", "json"]);
    let document: Value = serde_json::from_str(&answer.out).unwrap_or_else(|_| panic!("{answer:?}"));
    let findings = document["findings"].as_array().unwrap().clone();
    assert_eq!(answer.status, 0, "{document}");
    let gains: Vec<f64> = findings.iter().filter_map(|finding| finding["gain_s"].as_f64()).collect();
    assert!(gains.is_sorted_by(|a, b| a >= b), "{document}");
    assert!(findings.iter().filter_map(|finding| finding["gain_share"].as_f64()).sum::<f64>() <= 1.0, "{document}");
    let db = Connection::open(path).unwrap();
    for finding in &findings {
        for key in KEYS {
            assert!(finding.get(key).is_some(), "{key} is missing: {finding}");
        }
        for key in ["title", "text"] {
            assert!(!finding[key].as_str().unwrap().contains(['{', '}']), "{finding}");
        }
        for evidence in finding["evidence"].as_array().unwrap() {
            let sql = evidence["sql"].as_str().unwrap();
            let value: f64 = db.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"));
            let told = evidence["value"].as_f64().unwrap();
            assert!((value - told).abs() <= 1e-9 * told.abs(), "{sql} gives {value}: {finding}");
        }
        let command = finding["command"].as_str().unwrap().replace('\'', "");
        let words: Vec<&str> = command.strip_prefix("through ").unwrap().split(' ').collect();
        let shown = folder.through(&words);
        assert_eq!((shown.status, shown.err.as_str()), (0, ""), "{command}");
    }
    findings
}

/// The findings of one topic, in a run of so many ranks and milliseconds with the communicator `W0.0`.
fn of(topic: &str, ranks: usize, wall_ms: i64, build: impl Fn(&mut Builder)) -> Vec<Value> {
    changed(topic, ranks, wall_ms, build, "")
}

/// As `of`, with statements that change the profile.
fn changed(topic: &str, ranks: usize, wall_ms: i64, build: impl Fn(&mut Builder), sql: &str) -> Vec<Value> {
    let folder = Folder::empty();
    let path = folder.path("made.db");
    let mut profile = Builder::new(&path, ranks);
    profile.meta("ranks", &ranks.to_string());
    profile.comm("W0.0", None, None, ranks as u32, &format!("0-{}", ranks - 1));
    build(&mut profile);
    profile.finish(|_| wall_ms * MS);
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let mut findings = checked(&folder, &path);
    findings.retain(|finding| finding["topic"] == topic);
    findings
}

#[track_caller]
fn one(findings: Vec<Value>) -> Value {
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings.into_iter().next().unwrap()
}

#[track_caller]
fn none(findings: Vec<Value>) {
    assert!(findings.is_empty(), "{findings:#?}");
}

/// So many duplicates of the world that rank 0 leads.
fn duplicates(profile: &mut Builder, count: i64, are_used: bool) {
    for number in 1..=count {
        let name = format!("d0.{number}");
        profile.comm(&name, None, Some("W0.0"), 4, "0-3");
        for rank in 0..if are_used { 4 } else { 0 } {
            profile.cell(&name, "MPI_Bcast", 0, rank, Did(1, 8, 8, MS));
        }
    }
    profile.cell("W0.0", "MPI_Comm_dup", 0, 0, Did(count, 0, 0, MS));
}

/// Two rows of two ranks that all end at once: the run gets shorter only if both are mended.
#[test]
fn what_is_found_on_several_communicators_adds_up() {
    let finding = one(of("polling", 4, 2000, |profile| {
        for (name, first) in [("s0.1", 0), ("s2.1", 2)] {
            profile.comm(name, None, Some("W0.0"), 2, &format!("{first}-{}", first + 1));
            for rank in [first, first + 1] {
                profile.cell(name, "MPI_Test", 0, rank, Did(10_000, 0, 0, 500 * MS));
            }
        }
    }));
    assert_eq!((finding["gain_s"].as_f64(), finding["gain_share"].as_f64()), (Some(0.5), Some(0.25)));
    assert_eq!(finding["title"], "MPI_Test on s0.1 (and 1 more) polls");
    let text = finding["text"].as_str().unwrap();
    assert!(text.starts_with("On s0.1: 20000 calls of MPI_Test take 1.00 s"), "{text}");
}

#[test]
fn what_several_findings_claim_counts_once() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("made.db"), 4);
    profile.comm("W0.0", None, None, 4, "0-3");
    for rank in 0..4 {
        let more = if rank == 2 { 0 } else { 900 };
        profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(10, 0, 0, (100 + more) * MS));
    }
    profile.cell("W0.0", "MPI_Test", 0, 0, Did(10_000, 0, 0, 500 * MS));
    duplicates(&mut profile, 32, true);
    profile.finish(|_| 2000 * MS);
    let told = folder.through(&["advise", "made.db"]).out;
    // Three of four ranks wait 900 ms. Rank 2 polls no less if rank 0 does not: it has only 132 ms in MPI.
    for gain in [
        "Saves up to 675 ms of 2.00 s (33.8 %): a bound from counters.",
        "Saves up to 132 ms of 2.00 s (6.6 %): counted.",
        "Saves little here: counted.",
    ] {
        assert!(told.contains(gain), "{gain}: {told}");
    }
}

#[test]
fn only_what_is_new_is_told() {
    let folder = Folder::empty();
    for (name, polls) in [("before.db", 1), ("after.db", 100_000)] {
        let mut profile = Builder::new(&folder.path(name), 4);
        profile.comm("W0.0", None, None, 4, "0-3");
        duplicates(&mut profile, 40, true);
        profile.cell("W0.0", "MPI_Test", 0, 0, Did(polls, 0, 0, 160 * MS));
        profile.finish(|_| 2000 * MS);
    }
    let topics = |words: &[&str]| {
        let answer = folder.through(&[&["advise"], words, &["--format", "json"]].concat());
        let document: Value = serde_json::from_str(&answer.out).unwrap();
        let topic = |finding: &Value| finding["topic"].as_str().unwrap().to_owned();
        (answer.status, document["findings"].as_array().unwrap().iter().map(topic).collect::<Vec<_>>())
    };
    assert_eq!(topics(&["before.db"]), (0, vec!["communicator-leak".to_owned()]));
    assert_eq!(topics(&["after.db"]), (0, vec!["polling".to_owned(), "communicator-leak".to_owned()]));
    assert_eq!(topics(&["after.db", "--since", "before.db"]), (0, vec!["polling".to_owned()]));
    // The leak is a warning, polling costs 2 %: 160 ms of four ranks' 2 s.
    let status = |level: &str, words: &[&str]| topics(&[&["after.db", "--fail-on", level], words].concat()).0;
    assert_eq!(["high", "warn", "info"].map(|level| status(level, &[])), [0, 1, 1]);
    assert_eq!(["warn", "info"].map(|level| status(level, &["--since", "before.db"])), [0, 1]);
    assert_eq!(topics(&["before.db", "--since", "after.db"]), (0, vec![]));
    assert_eq!(folder.through(&["advise", "after.db", "--since", "missing.db"]).status, 2);
    assert_eq!(folder.through(&["advise", "missing.db"]).status, 2);
}

/// Rows of two. In the second one rank 2 works longer, so that rank 3 waits for it, and ranks 0 and 1 for both.
#[test]
fn the_root_of_a_chain_is_the_finding() {
    let folder = Folder::empty();
    let path = folder.path("made.db");
    let mut profile = Builder::new(&path, 4);
    profile.meta("ranks", "4");
    profile.comm("W0.0", None, None, 4, "0-3");
    for (name, first) in [("s0.1", 0), ("s2.1", 2)] {
        profile.comm(name, Some("row"), Some("W0.0"), 2, &format!("{first}-{}", first + 1));
    }
    for rank in 0..4 {
        let (of_row, of_all) = [(10, 900), (10, 900), (10, 10), (860, 10)][rank];
        let row = if rank < 2 { "s0.1" } else { "s2.1" };
        profile.cell(row, "MPI_Allreduce", 0, rank, Did(10, 80, 80, of_row * MS));
        profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(10, 0, 0, of_all * MS));
    }
    profile.finish(|_| 2000 * MS);
    let found = checked(&folder, &path);
    let titles: Vec<&str> = found.iter().map(|finding| finding["title"].as_str().unwrap()).collect();
    let root = "Rank 2 works 850 ms longer than the others of s2.1 \"row\"";
    assert_eq!(titles, [root, "MPI_Barrier on W0.0 waits for ranks 2-3"]);
    assert_eq!((found[0]["cause"].as_str(), found[1]["cause"].as_str()), (None, Some(root)));
    // Three ranks wait 850 and twice 890 ms, of four.
    assert_eq!((found[0]["gain_s"].as_f64(), found[1]["gain_s"].as_f64()), (Some(0.6575), None));
    assert_eq!((found[0]["level"].as_str(), found[1]["level"].as_str()), (Some("high"), None));
    let text = folder.through(&["advise", "made.db"]).ok();
    assert!(text.contains("      <- MPI_Barrier on W0.0 waits for ranks 2-3, 890 ms a rank"), "{text}");
    assert!(!text.contains("ranks' time"), "{text}");
}

/// The late rank writes a file while the others are in the call already.
#[test]
fn a_late_rank_that_is_longer_in_another_call() {
    let finding = one(of("late-rank", 4, 2000, |profile| {
        for rank in 0..4 {
            let (waits, writes) = if rank == 1 { (10, 900) } else { (910, 0) };
            profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(10, 0, 0, waits * MS));
            profile.cell("W0.0", "MPI_File_write_at", 0, rank, Did(10, 80, 0, writes * MS));
        }
    }));
    let title = "Rank 1 is 900 ms longer than the others in MPI_File_write_at on W0.0, and late to MPI_Barrier on W0.0";
    assert_eq!(finding["title"], title);
}

/// Others seem to wait for a rank that died.
#[test]
fn ranks_that_died_are_told_first() {
    let folder = Folder::empty();
    let path = folder.path("died.db");
    let mut profile = Builder::new(&path, 2);
    profile.comm("W0.0", None, None, 2, "0-1");
    profile.cell("W0.0", "MPI_Barrier", 0, 0, Did(1, 0, 0, 900 * MS));
    profile.finish(|_| 1000 * MS);
    let died = "Rank 1 ended before MPI_Finalize: look for the cause of that first";
    assert!(!folder.through(&["advise", "died.db"]).ok().contains("ended before"));
    Connection::open(&path).unwrap().execute_batch("UPDATE process SET state = 'died' WHERE rank = 1").unwrap();
    let said = folder.through(&["advise", "died.db"]).ok();
    assert!(said.contains(died), "{said}");
}

#[test]
fn names_of_communicators_are_explained() {
    let folder = Folder::empty();
    let said = |name: &str| folder.through(&["explain", name]).ok().lines().next().unwrap_or_default().to_owned();
    assert_eq!(said("W0.0"), "W0.0 is MPI_COMM_WORLD.");
    assert_eq!(said("S3.0"), "S3.0 is MPI_COMM_SELF of rank 3.");
    let split = said("s4.2");
    assert!(
        split.starts_with("s4.2 was made by MPI_Comm_split. Its rank 0 is rank 4 of MPI_COMM_WORLD, for"),
        "{split}"
    );
    for name in ["?0.1", "s0", "s0.x", "s-1.0", ""] {
        assert_eq!(folder.through(&["explain", name]).status, 2, "{name}");
    }
}

#[test]
fn topics_are_explained() {
    let folder = Folder::empty();
    let list = folder.through(&["explain"]).ok();
    for topic in list.lines() {
        let text = folder.through(&["explain", topic]).ok();
        assert!(text.contains("Reported if: ") && !text.contains(['{', '}']), "{text}");
    }
    assert!(list.lines().any(|topic| topic == "late-rank") && list.lines().any(|topic| topic == "below-machine"));
    assert_eq!(folder.through(&["explain", "late"]).status, 2);
}
