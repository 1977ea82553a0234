//! `through bench roofline`: calls of a profile against measurements whose numbers are known.

use std::collections::HashMap;

use crate::common::{Answer, Builder, Did, Folder, MS};
use crate::measured::{Bench, Found, around, machine, message, message_s};

/// Four ranks on two hosts.
fn folder(fill: impl FnOnce(&mut Builder)) -> Folder {
    let folder = Folder::empty();
    machine(&folder.path("machine.db"));
    let mut profile = Builder::new(&folder.path("a.db"), 4);
    profile.meta("ranks", "4");
    profile.comm("W0.0", None, None, 4, "0-3");
    profile.comm("s0.1", None, Some("W0.0"), 2, "0-1");
    fill(&mut profile);
    profile.finish(|_| 1000 * MS);
    folder
}

fn rows(folder: &Folder) -> Vec<HashMap<String, String>> {
    folder.through(&["bench", "roofline", "a.db", "machine.db", "--format", "csv"]).csv()
}

fn number(row: &HashMap<String, String>, name: &str) -> f64 {
    row[name].parse().unwrap_or_else(|_| panic!("{name}: {row:?}"))
}

fn is_near(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 0.001
}

#[test]
fn messages_are_compared_with_messages_of_their_size_and_place() {
    let folder = folder(|profile| {
        for rank in 0..2 {
            profile.cell("s0.1", "MPI_Send", 3, rank, Did(1000, 1000 * 65_536, 0, 100 * MS));
        }
        for rank in 0..4 {
            profile.cell("W0.0", "MPI_Send", 3, rank, Did(1000, 1000 * 65_536, 0, 100 * MS));
        }
        // Three of four messages leave the host.
        profile.edge("W0.0", "MPI_Send", (0, 1), 1000, 1000 * 65_536);
        profile.edge("W0.0", "MPI_Send", (0, 2), 3000, 3000 * 65_536);
    });
    let rows = rows(&folder);
    let of = |comm: &str| rows.iter().find(|row| row["comm"] == comm).unwrap();
    let inside = of("s0.1");
    assert!(is_near(number(inside, "possible_s"), 2000.0 * message_s(65_536, false)), "{inside:?}");
    assert!(is_near(number(inside, "gap_s"), 0.2 - 2000.0 * message_s(65_536, false)));
    assert!(is_near(number(inside, "bandwidth"), 65_536.0 / 100e-6));
    assert_eq!(
        (inside["bound"].as_str(), inside["reach"].as_str(), inside["verdict"].as_str()),
        ("message", "measured", "gap")
    );
    // A late receiver may be part of it: all that is beyond the shortest call, of 50 µs.
    assert_eq!(number(inside, "wait_max_s"), 0.1);
    assert!(is_near(number(inside, "gap_min_s"), 0.1 - 2000.0 * message_s(65_536, false)));
    let mixed = of("W0.0");
    let each_s = 0.25 * message_s(65_536, false) + 0.75 * message_s(65_536, true);
    assert!(
        is_near(number(mixed, "possible_s"), 4000.0 * each_s) && is_near(number(mixed, "crossing"), 0.75),
        "{mixed:?}"
    );
}

#[test]
fn nothing_is_gained_where_calls_are_faster_than_measured() {
    let folder = folder(|profile| {
        profile.cell("s0.1", "MPI_Send", 3, 0, Did(1000, 1000 * 65_536, 0, MS));
        profile.cell("s0.1", "MPI_Recv", 3, 1, Did(10, 0, 10 * (64 << 20), 1000 * MS));
        profile.cell("s0.1", "MPI_Recv", 0, 1, Did(10, 0, 0, 1000 * MS));
    });
    let rows = rows(&folder);
    let of = |op: &str, reach: &str| rows.iter().find(|row| row["op"] == op && row["reach"] == reach).unwrap();
    let fast = of("MPI_Send", "measured");
    assert_eq!((fast["verdict"].as_str(), number(fast, "gap_s")), ("faster than measured", 0.0));
    // Beyond what was measured by the highest bandwidth, not by a line.
    let large = of("MPI_Recv", "above");
    let bandwidth = 1_048_576.0 / message_s(1 << 20, false);
    assert!(is_near(number(large, "possible_s"), 10.0 * f64::from(64 << 20) / bandwidth), "{large:?}");
    let empty = of("MPI_Recv", "measured");
    assert!(is_near(number(empty, "possible_s"), 10.0 * message_s(1, false)));
}

#[test]
fn waiting_is_no_bandwidth() {
    let folder = folder(|profile| {
        // Rank 3 is late each time.
        for rank in 0..4 {
            let time_ns = if rank == 3 { 10 * MS } else { 110 * MS };
            profile.cell("W0.0", "MPI_Allreduce", 1, rank, Did(100, 100 * 1000, 100 * 1000, time_ns));
        }
    });
    let row = &rows(&folder)[0];
    assert!(is_near(number(row, "time_s"), 0.34) && is_near(number(row, "wait_min_s"), 0.3), "{row:?}");
    let each_s = 2.0 * message_s(1, true) + 1500.0 / 5e9;
    assert!(is_near(number(row, "possible_s"), 400.0 * each_s), "{row:?}");
    assert!(is_near(number(row, "gap_s"), 0.04 - 400.0 * each_s) && number(row, "gap_min_s") <= number(row, "gap_s"));
    assert_eq!(row["bound"], "collective");
}

#[test]
fn an_exchange_that_was_measured_is_preferred() {
    let folder = folder(|profile| {
        for rank in 0..4 {
            profile.cell("W0.0", "MPI_Alltoall", 1, rank, Did(100, 100 * 4 * 1024, 100 * 4 * 1024, 100 * MS));
            profile.cell("W0.0", "MPI_Alltoall", 3, rank, Did(100, 400 << 20, 400 << 20, 1000 * MS));
        }
    });
    let rows = rows(&folder);
    let of = |bound: &str| rows.iter().find(|row| row["bound"] == bound).unwrap();
    assert!(is_near(number(of("exchange"), "possible_s"), 400.0 * 8e-6), "{rows:?}");
    // Blocks of 1 MiB were not exchanged: the bound of the bytes holds.
    let each_s = 2.0 * message_s(1, true) + 3.0 * 1_048_576.0 / 5e9;
    assert!(is_near(number(of("collective"), "possible_s"), 400.0 * each_s), "{rows:?}");
}

#[test]
fn nonblocking_messages_take_the_time_of_what_completed_them() {
    let folder = folder(|profile| {
        profile.cell("s0.1", "MPI_Isend", 3, 0, Did(100, 100 * 65_536, 0, MS));
        profile.cell("s0.1", "MPI_Irecv", 3, 1, Did(100, 0, 100 * 65_536, MS));
        profile.cell("s0.1", "MPI_Waitall", 0, 1, Did(100, 0, 0, 50 * MS));
        profile.completed(("s0.1", "MPI_Waitall", 1), (Some("MPI_Irecv"), 3, 0), (100, 100 * 65_536, 50 * MS));
    });
    let rows = rows(&folder);
    let of = |op: &str| rows.iter().find(|row| row["op"] == op).unwrap();
    assert!(is_near(number(of("MPI_Irecv"), "time_s"), 0.051));
    // Latencies of messages that are under way together overlap.
    let each_s = message_s(65_536, false) - message_s(1, false);
    assert!(is_near(number(of("MPI_Irecv"), "possible_s"), 100.0 * each_s));
    assert_eq!((of("MPI_Irecv")["wait_max_s"].as_str(), of("MPI_Irecv")["gap_min_s"].as_str()), ("", ""));
    assert_eq!((of("MPI_Isend")["verdict"].as_str(), of("MPI_Isend")["gap_s"].as_str()), ("completed elsewhere", ""));
}

#[test]
fn a_measurement_that_is_missing_is_named_with_its_command() {
    let folder = folder(|profile| {
        profile.cell("W0.0", "MPI_Bcast", 3, 0, Did(10, 10 * 65_536, 0, 10 * MS));
    });
    let mut bench = Bench::new(&folder.path("one-host.db"));
    bench.launch("one", true);
    bench.result(message(8, false), &around(1e-6, 1.0), Found::default());
    // Wrong data proves nothing.
    bench.result(message(8, true), &around(1e-6, 1.0), Found { wrong: 1, ..Found::default() });
    let answer = folder.through(&["bench", "roofline", "a.db", "one-host.db"]);
    assert_eq!(answer.status, 0);
    assert!(answer.out.contains("not measured"), "{answer:?}");
    for text in ["one message between two hosts was not measured", "groupbench", "more ranks than cores"] {
        assert!(answer.err.contains(text), "{text}: {answer:?}");
    }
}

/// One size tells no latency, which the bounds of nonblocking messages and of collectives rest on.
#[test]
fn where_one_size_was_measured_nothing_is_possible_in_no_time() {
    let folder = folder(|profile| {
        for bucket in [0, 3] {
            let bytes = if bucket == 0 { 1 } else { 65_536 };
            profile.cell("s0.1", "MPI_Irecv", bucket, 1, Did(100, 0, 100 * bytes, MS));
            profile.cell("s0.1", "MPI_Send", bucket, 0, Did(100, 100 * bytes, 0, MS));
            profile.cell("s0.1", "MPI_Allreduce", bucket, 0, Did(100, 100 * bytes, 100 * bytes, 50 * MS));
        }
        profile.cell("s0.1", "MPI_Waitall", 0, 1, Did(100, 0, 0, 100 * MS));
        for (bucket, bytes) in [(0, 1), (3, 65_536)] {
            let irecv = (Some("MPI_Irecv"), bucket, 0);
            profile.completed(("s0.1", "MPI_Waitall", 1), irecv, (100, 100 * bytes, 50 * MS));
        }
    });
    let mut one = Bench::new(&folder.path("one.db"));
    one.launch("one", false);
    one.result(message(1 << 20, false), &around(100e-6, 1.0), Found::default());
    let told = |bench: &str| {
        let words = ["bench", "roofline", "a.db", bench];
        let rows = folder.through(&[&words[..], &["--format", "csv"]].concat());
        let rows = Answer { err: String::new(), ..rows }.csv();
        let row = |row: &HashMap<String, String>| {
            assert!(row["possible_s"].is_empty() || number(row, "possible_s") > 0.0, "{row:?}");
            format!("{} {} {}", row["op"], row["bytes"], row["verdict"])
        };
        let mut told: Vec<String> = rows.iter().map(row).collect();
        told.sort();
        (told, folder.through(&words))
    };
    let (rows, answer) = told("one.db");
    let wanted = [
        "MPI_Allreduce 1 not measured",
        "MPI_Allreduce 65536 not measured",
        "MPI_Irecv 1 not measured",
        "MPI_Irecv 65536 not measured",
        "MPI_Send 1 faster than measured",
        "MPI_Send 65536 faster than measured",
    ];
    assert_eq!(rows, wanted);
    let line = "the latency (one message of at most 64 bytes) inside a host was not measured; measure it with: mpirun";
    assert!(answer.err.contains(line), "{answer:?}");
    // A message of a byte is nothing but latency, which overlaps with those of others.
    let (rows, answer) = told("machine.db");
    assert_eq!(rows[2..4], ["MPI_Irecv 1 no bound", "MPI_Irecv 65536 gap"]);
    assert!(answer.out.contains("no bound: latencies of nonblocking messages overlap"), "{answer:?}");
}

#[test]
fn sizes_of_the_ranks_own_are_parts_of_one_call() {
    let folder = folder(|profile| {
        // The root receives blocks of 1000 bytes, and is counted with larger sizes than the others.
        for rank in 0..4 {
            let (bucket, received) = if rank == 0 { (66, 4000) } else { (65, 0) };
            profile.cell("W0.0", "MPI_Gatherv", bucket, rank, Did(10, 10 * 1000, 10 * received, 10 * MS));
        }
    });
    let rows = rows(&folder);
    assert_eq!((rows.len(), rows[0]["calls"].as_str(), rows[0]["bucket_lo"].as_str()), (1, "40", ""));
    assert_eq!(number(&rows[0], "bytes"), 3000.0);
    assert!(is_near(number(&rows[0], "possible_s"), 40.0 * (2.0 * message_s(1, true) + 3000.0 / 5e9)), "{rows:?}");
    // Of some ranks alone nothing can be said: what a root does is part of the whole.
    let some = folder.through(&["bench", "roofline", "a.db", "machine.db", "--rank", "0"]);
    assert!(some.status == 2 && some.err.contains("leave out --rank and --time"), "{some:?}");
}

#[test]
fn sums_are_those_of_the_rows_and_families_are_one() {
    let folder = folder(|profile| {
        for pair in 0..6 {
            let (name, members) = (format!("s{pair}.2"), if pair % 2 == 0 { "0-1" } else { "2-3" });
            profile.comm(&name, None, Some("W0.0"), 2, members);
            let rank = if pair % 2 == 0 { 0 } else { 2 };
            profile.cell(&name, "MPI_Send", 3, rank, Did(10, 10 * 65_536, 0, (pair as i64 + 1) * MS));
        }
    });
    let json = folder.through(&["bench", "roofline", "a.db", "machine.db", "--format", "json"]).json();
    let rows = json["roofline"].as_array().unwrap();
    assert_eq!(rows.len(), 6);
    for (name, column) in [("gap_s", "gap_s"), ("possible_s", "possible_s"), ("time_s", "time_s")] {
        let sum: f64 = rows.iter().map(|row| row[column].as_f64().unwrap()).sum();
        assert!(is_near(json[name].as_f64().unwrap(), sum), "{name}");
    }
    // The heaviest first.
    assert!(rows.windows(2).all(|pair| pair[0]["gap_s"].as_f64() >= pair[1]["gap_s"].as_f64()));
    let table = folder.through(&["bench", "roofline", "a.db", "machine.db"]).ok();
    assert!(table.contains("6 × "), "{table}");
    assert!(!folder.through(&["bench", "roofline", "a.db", "machine.db", "--no-families"]).ok().contains("6 × "));
    let wrong = folder.through(&["bench", "roofline", "machine.db", "a.db"]);
    assert_eq!(wrong.status, 2);
}

#[test]
fn advice_names_what_stays_below_the_machine() {
    // Beside a run of a second on four ranks: the shortest call is half of the mean, and the message needs 13 µs.
    let told = |calls: i64, each_us: i64, words: &[&str]| {
        let folder = folder(|profile| {
            let did = Did(calls, calls * 65_536, 0, calls * each_us * MS / 1000);
            profile.cell("W0.0", "MPI_Send", 3, 0, did);
            // The others have as much to wait.
            (1..4).for_each(|rank| profile.cell("W0.0", "MPI_Waitall", 0, rank, Did(1, 0, 0, 500 * MS)));
            profile.edge("W0.0", "MPI_Send", (0, 2), calls, calls * 65_536);
        });
        let answer = folder.through(&[&["advise", "a.db", "--format", "json"], words].concat());
        let document: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
        let findings = document["findings"].as_array().unwrap();
        let found: Vec<_> = findings.iter().filter(|finding| finding["topic"] == "below-machine").cloned().collect();
        let db = rusqlite::Connection::open(folder.path("a.db")).unwrap();
        for evidence in found.iter().flat_map(|finding| finding["evidence"].as_array().unwrap()) {
            let value: f64 = db.query_row(evidence["sql"].as_str().unwrap(), [], |row| row.get(0)).unwrap();
            assert!(is_near(value, evidence["value"].as_f64().unwrap()), "{evidence}");
        }
        found
    };
    let measured = ["--bench", "machine.db"];
    let message_us = message_s(65_536, true) * 1e6;
    // 5000 calls of 70 µs: the shortest of 35 µs is more than twice what was measured, for 5000 · 20 µs.
    let found = told(5000, 70, &measured);
    assert_eq!(found.len(), 1);
    let gain_s = found[0]["gain_s"].as_f64().unwrap();
    assert!(is_near(gain_s, 5000.0 * (35.0 - message_us) * 1e-6), "{gain_s}");
    assert_eq!((found[0]["op"].as_str(), found[0]["confidence"].as_str()), (Some("MPI_Send"), Some("bound")));
    // Not where the shortest call is less than twice as long, where the gap costs little, and without measurements.
    assert!(told(5000, 60, &[]).is_empty() && told(5000, 70, &[]).is_empty());
    assert!(told(5000, (4.0 * message_us) as i64 - 1, &measured).is_empty());
    assert!(told(500, 70, &measured).is_empty());
}
