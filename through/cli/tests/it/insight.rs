//! Where the run time went, and communicators that were made alike.

use std::path::Path;

use rusqlite::Connection;
use serde_json::Value;

use crate::common::{Builder, Did, Folder, MS};

/// What lies between the parts of the whole and 1 if times are exact to the nanosecond.
pub const EXACT: f64 = 1e-12;

pub fn number(document: &Value, key: &str) -> f64 {
    document[key].as_f64().unwrap_or_else(|| panic!("{key} in {document}"))
}

/// That the ledger adds up, and that its factors are those that POP's formulas give for the ranks.
#[track_caller]
fn check_ledger(folder: &Folder, words: &[&str]) {
    let document = folder.through(&[&["show", "--efficiency"], words, &["--format", "json"]].concat()).json();
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
    let document = folder.through(&["show", "--efficiency", "--format", "json"]).json();
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
    let rows = folder.through(&["show", "--efficiency", "--format", "csv"]).csv();
    let lost = rows.iter().find(|row| row["op"] == "-").unwrap();
    assert_eq!((lost["comm"].as_str(), lost["rank_s"].as_str()), ("-", "0.007"));
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
    assert!(text.contains("spent in   97.6 % work, 2.1 % Barrier on d0.1"), "{text}");
    assert!(!families().through(&["--comm", "d0.1"]).ok().contains("% work"));
}

#[test]
fn families_are_one_line_wherever_communicators_are_listed() {
    let folder = families();
    let lines = |words: &[&str], what: &str| {
        let text = folder.through(words).ok();
        text.lines().filter(|line| line.contains(what)).map(str::to_owned).collect::<Vec<_>>()
    };
    let top = lines(&["show", "--flat"], "Allreduce");
    assert_eq!(top.len(), 1, "{top:?}");
    // Of six pairs, 10 calls each, 1 to 12 ms.
    assert!(top[0].contains("6 × Comm_split") && top[0].contains(" 60 ") && top[0].contains("78.0 ms"), "{top:?}");
    assert_eq!(lines(&["show", "--flat", "--no-families"], "Allreduce").len(), 6);
    assert_eq!(lines(&["waits", "--imbalance"], "s0.2 (6)").len(), 1);
    assert_eq!(lines(&["waits", "--imbalance", "--no-families", "--top", "0"], "Allreduce").len(), 6);
    assert_eq!(lines(&["waits", "--imbalance", "--comm", "s0.2,s2.2,s4.2,s6.2,s8.2"], "Allreduce").len(), 5);
    assert_eq!(lines(&["show", "--efficiency"], "Allreduce").len(), 1);
    assert_eq!(lines(&["show", "--efficiency", "--no-families"], "Allreduce").len(), 6);
    assert_eq!(lines(&["waits", "--no-families"], "Allreduce").len(), 6);
    assert_eq!(lines(&["comms", "--tree"], "6 × Comm_split").len(), 1);
    let asked_for = lines(&["comms", "--tree", "--comm", "s4.2"], "Comm_split");
    assert!(asked_for.len() == 1 && asked_for[0].contains("s4.2, Comm_split"), "{asked_for:?}");
    let two = lines(&["comms", "--tree", "--comm", "s4.2,s8.2"], "Comm_split");
    assert!(two.len() == 1 && two[0].contains("2 × Comm_split (s4.2…), 2 ranks"), "{two:?}");
    for command in [["show", "--flat"], ["waits", "--imbalance"], ["show", "--efficiency"]] {
        let rows = folder.through(&[&command[..], &["--format", "csv"]].concat()).csv();
        assert_eq!(rows.iter().filter(|row| row["op"] == "MPI_Allreduce").count(), 6, "{command:?}");
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
    let table = folder.through(&["traffic", "--patterns"]).ok();
    let rings: Vec<&str> = table.lines().filter(|line| line.contains("ring")).collect();
    assert!(rings.len() == 1 && rings[0].contains("5 × Comm_split") && rings[0].contains(" 20 "), "{table}");
    assert_eq!(folder.through(&["traffic", "--patterns", "--no-families"]).ok().matches("ring").count(), 5);
    assert_eq!(folder.through(&["traffic", "--patterns", "--format", "csv"]).csv().len(), 5);
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
