//! What is advised just over the thresholds of each rule, and nothing just under them.

use std::path::Path;

use rusqlite::Connection;
use serde_json::Value;

use crate::common::{Builder, Did, Folder, MS, Moved, Way};

const KEYS: [&str; 13] = [
    "topic",
    "title",
    "text",
    "level",
    "confidence",
    "comm",
    "label",
    "op",
    "ranks",
    "severity_rank_s",
    "gain_bound_s",
    "evidence",
    "command",
];

/// What is found in a profile, after a look at what must hold of every finding.
fn checked(folder: &Folder, path: &Path) -> Vec<Value> {
    let answer = folder.through(&["advise", path.to_str().unwrap(), "--format", "json"]);
    let document: Value = serde_json::from_str(&answer.out).unwrap_or_else(|_| panic!("{answer:?}"));
    let findings = document["findings"].as_array().unwrap().clone();
    let is_loud = findings.iter().any(|finding| finding["level"] != "info");
    assert_eq!(answer.status, i32::from(is_loud), "{document}");
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

#[test]
fn a_late_rank() {
    // Ten barriers in which three ranks spend so many milliseconds more than the late one, which spends 100.
    let told = |more: i64| {
        of("late-rank", 4, 2000, |profile| {
            for rank in 0..4 {
                let more = if rank == 2 { 0 } else { more };
                profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(10, 0, 0, (100 + more) * MS));
            }
        })
    };
    // The builder's shortest call is half of the mean, 5 ms: at least 3 × more, at most 200 above that.
    let finding = one(told(300));
    assert_eq!((finding["ranks"].as_str(), finding["level"].as_str()), (Some("2"), Some("high")));
    assert_eq!((finding["severity_rank_s"].as_f64(), finding["confidence"].as_str()), (Some(0.9), Some("bound")));
    let text = finding["text"].as_str().unwrap();
    assert!(
        text.starts_with("By the counters the other members wait at least 900 ms (11.2 % of the run time) for rank 2:"),
        "{text}"
    );
    assert!(!text.contains("Only info"), "{text}");
    // 30 ms a call are told from time slices, if waiting is not steady.
    let finding = one(told(299));
    assert_eq!(finding["level"], "info");
    assert!(finding["text"].as_str().unwrap().contains("Only info: "), "{finding}");
    one(told(67));
    none(told(66));
}

/// Counters bound the waiting by 900 ms; a timeline with the last rank 25 ms behind the others in each of ten barriers says 750 ms.
#[test]
fn what_a_timeline_says_is_no_bound() {
    let mut sql = String::from("INSERT INTO clock SELECT rank, 0, 1000, 0, 2000, 10, 0 FROM process;");
    for (rank, call) in (0..4).flat_map(|rank| (0..10).map(move |call| (rank, call))) {
        let begin = call * 100 * MS + if rank == 2 { 25 * MS } else { 0 };
        let end = call * 100 * MS + 40 * MS;
        sql += &format!(
            "INSERT INTO event (rank, thread, kind, begin_ns, end_ns, cause_ns, comm, op, bytes, sequence) \
             SELECT {rank}, 0, 0, {begin}, {end}, {begin}, c.id, o.id, 0, {call} FROM communicator c, operation o \
             WHERE c.name = 'W0.0' AND o.name = 'MPI_Barrier';"
        );
    }
    let build = |profile: &mut Builder| {
        for rank in 0..4 {
            let more = if rank == 2 { 0 } else { 300 };
            profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(10, 0, 0, (100 + more) * MS));
        }
    };
    let finding = one(changed("late-rank", 4, 2000, build, &sql));
    assert_eq!((finding["severity_rank_s"].as_f64(), finding["confidence"].as_str()), (Some(0.75), Some("timeline")));
    let text = finding["text"].as_str().unwrap();
    assert!(text.contains("wait 750 ms (9.4 % of the run time)") && !text.contains("at least"), "{text}");
}

#[test]
fn late_ranks_of_communicators_made_alike() {
    // Rows of three, of which the middle one is late: the others spend so many milliseconds more in ten barriers.
    let told = |wall: i64, more: &[i64]| {
        of("late-rank", 3 * more.len(), wall, |profile| {
            for (row, more) in more.iter().enumerate() {
                let (first, name) = (3 * row, format!("s{}.1", 3 * row));
                profile.comm(&name, None, Some("W0.0"), 3, &format!("{first}-{}", first + 2));
                for rank in first..first + 3 {
                    let more = if rank == first + 1 { 0 } else { *more };
                    profile.cell(&name, "MPI_Barrier", 0, rank, Did(10, 0, 0, (100 + more) * MS));
                }
            }
        })
    };
    let finding = one(told(2000, &[900, 900]));
    assert_eq!((finding["ranks"].as_str(), finding["alike"].as_i64()), (Some("1,4"), Some(1)));
    assert_eq!(finding["title"], "MPI_Barrier on s0.1 (and 1 more) waits for ranks 1,4");
    // What is said of one of them names it, and its own late rank.
    let text = finding["text"].as_str().unwrap();
    let told_of =
        "On s0.1: by the counters the other members wait at least 1.80 s (15.0 % of the run time) for rank 1:";
    assert!(text.starts_with(told_of), "{text}");
    // What a scheduler may have done stands apart.
    let findings = told(2000, &[900, 200]);
    let found = |at: usize| (findings[at]["ranks"].as_str().unwrap(), findings[at]["level"].as_str().unwrap());
    assert_eq!((found(0), found(1)), (("1", "high"), ("4", "info")));
    // The ranks of what is little beside the other are not named.
    assert_eq!(one(told(20_000, &[2000, 500]))["ranks"], "1,4");
    assert_eq!(one(told(20_000, &[2000, 499]))["ranks"], "1");
    // Each by itself is below 1 % of twelve ranks and 20 s.
    assert_eq!(one(told(20_000, &[900, 900, 900, 900]))["level"], "warn");
}

#[test]
fn most_ranks_are_not_late() {
    none(of("late-rank", 4, 2000, |profile| {
        for rank in 0..4 {
            let more = if rank == 2 { 900 } else { 0 };
            profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(10, 0, 0, (100 + more) * MS));
        }
    }));
}

#[test]
fn another_late_rank_each_time() {
    // Half of the time is more than the shortest call. 10 % of four ranks and 2 s are 800 ms.
    let told = |calls: i64, each: i64| {
        of("changing-late-rank", 4, 2000, |profile| {
            for rank in 0..4 {
                profile.cell("W0.0", "MPI_Allreduce", 0, rank, Did(calls, 8, 8, each * MS));
            }
        })
    };
    let finding = one(told(5, 400));
    assert_eq!(finding["level"], "high");
    let text = finding["text"].as_str().unwrap();
    assert!(text.starts_with("By the counters up to 800 ms of MPI_Allreduce is waiting, 40.0 ms a call"), "{text}");
    assert_eq!(one(told(10, 400))["level"], "info");
    none(told(10, 399));
    one(told(200, 400));
    none(told(201, 400));
}

#[test]
fn ranks_that_work_longer() {
    let told = |wall: i64, waits: i64| {
        of("load-imbalance", 4, wall, |profile| {
            for rank in [0, 2, 3] {
                profile.cell("W0.0", "MPI_Recv", 0, rank, Did(1, 0, 8, waits * MS));
            }
        })
    };
    // Work of 2000, and three times 2000 less what they wait: 80 % of the maximum if that is 533.3.
    assert_eq!(one(told(2000, 534))["ranks"], "1");
    none(told(2000, 533));
    // 100 ms between mean and maximum.
    assert_eq!(one(told(400, 134))["level"], "high");
    none(told(400, 133));
    // Less is told of one that works twice the mean, as what may be the scheduler's.
    let finding = one(told(154, 113));
    assert_eq!((finding["ranks"].as_str(), finding["level"].as_str()), (Some("1"), Some("info")));
    assert!(finding["text"].as_str().unwrap().contains("Only info: "), "{finding}");
    one(told(100, 67));
    none(told(100, 66));
    one(told(40, 40));
    none(told(39, 39));
}

/// A 2×2 grid in which rank 1 works longest. Its row, the other one and all ranks wait in turn for others, or for it.
#[test]
fn an_imbalance_is_told_beside_waiting_for_others() {
    let told = |of_all: [i64; 4], of_row: i64| {
        of("load-imbalance", 4, 600, |profile| {
            profile.comm("s2.1", Some("row"), Some("W0.0"), 2, "2-3");
            for (rank, time) in of_all.into_iter().enumerate() {
                profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(2, 0, 0, time * MS));
            }
            for rank in [2, 3] {
                profile.cell("s2.1", "MPI_Allreduce", 0, rank, Did(5, 8, 8, of_row * MS));
            }
        })
    };
    // Half of 250 ms is waiting for another rank each time, more than half of the 480 ms that rank 1 works longer.
    let finding = one(told([310, 150, 60, 60], 250));
    assert_eq!((finding["ranks"].as_str(), finding["level"].as_str()), (Some("1"), Some("high")));
    // All wait for rank 1: that says it.
    none(told([310, 150, 310, 310], 0));
}

#[test]
fn an_imbalance_is_told_beside_a_little_waiting_for_the_same_rank() {
    let told = |waits: i64| {
        of("load-imbalance", 4, 2000, |profile| {
            for rank in 0..4 {
                let more = if rank == 1 { 0 } else { waits };
                profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(2, 0, 0, (10 + more) * MS));
                let receives = if rank == 1 { 0 } else { 1200 - more };
                profile.cell("W0.0", "MPI_Recv", 0, rank, Did(1, 0, 8, receives * MS));
            }
        })
    };
    // Rank 1 works 900 ms longer than the mean, 3.6 s over all ranks: the others wait for it 900 ms of that.
    one(told(299));
    none(told(300));
}

#[test]
fn a_slow_node() {
    let told = |ranks: usize, waits: i64| {
        of("slow-node", ranks, 2000, |profile| {
            for rank in 0..ranks - 2 {
                profile.cell("W0.0", "MPI_Recv", 0, rank, Did(1, 0, 8, waits * MS));
            }
        })
    };
    // Two ranks a node, two thirds of which wait: the mean is 85 % of the most if they wait 450.
    let finding = one(told(6, 451));
    assert_eq!((finding["ranks"].as_str(), finding["comm"].as_str()), (Some("4-5"), None));
    none(told(6, 450));
    none(told(4, 900));
}

#[test]
fn of_two_nodes_the_slow_one_is_an_imbalance() {
    let findings = of("load-imbalance", 4, 2000, |profile| {
        for rank in [0, 1] {
            profile.cell("W0.0", "MPI_Recv", 0, rank, Did(1, 0, 8, 1000 * MS));
        }
    });
    assert_eq!(one(findings)["ranks"], "2-3");
}

#[test]
fn a_needless_barrier() {
    let told = |barriers: i64, sums: i64, comm: &str| {
        of("needless-barrier", 4, 2000, |profile| {
            profile.comm("d0.1", None, Some("W0.0"), 4, "0-3");
            profile.comm("s0.2", None, Some("W0.0"), 2, "0-1");
            for rank in 0..4 {
                profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(barriers, 0, 0, 100 * MS));
                if comm != "s0.2" || rank < 2 {
                    profile.cell(comm, "MPI_Allreduce", 0, rank, Did(sums, 8, 8, MS));
                }
            }
        })
    };
    assert_eq!(one(told(50, 50, "W0.0"))["level"], "warn");
    one(told(50, 50, "d0.1"));
    none(told(50, 50, "s0.2"));
    none(told(49, 50, "W0.0"));
    none(told(51, 50, "W0.0"));
}

#[test]
fn small_messages() {
    let told = |messages: i64, bytes: i64, waits: i64| {
        of("small-messages", 4, 2000, |profile| {
            for rank in 0..4 {
                profile.cell("W0.0", "MPI_Send", 1, rank, Did(messages, messages * bytes, 0, MS));
                profile.edge("W0.0", "MPI_Send", (rank as i64, (rank as i64 + 1) % 4), messages, messages * bytes);
                profile.cell("W0.0", "MPI_Waitall", 0, rank, Did(waits, 0, 0, MS));
            }
        })
    };
    let finding = one(told(100, 1000, 25));
    assert_eq!((finding["op"].as_str(), finding["level"].as_str()), (Some("MPI_Send"), Some("info")));
    none(told(99, 1000, 1));
    none(told(100, 1001, 1));
    none(told(100, 1000, 26));
}

/// Each rank sends so many small messages to the next one, and calls another operation so often.
fn small_beside(op: &str, calls: i64, time: i64) -> Vec<Value> {
    of("small-messages", 4, 2000, |profile| {
        for rank in 0..4 {
            profile.cell("W0.0", "MPI_Isend", 1, rank, Did(100, 10_000, 0, MS));
            profile.edge("W0.0", "MPI_Isend", (rank as i64, (rank as i64 + 1) % 4), 100, 10_000);
            profile.cell("W0.0", op, 0, rank, Did(calls, 0, 0, time * MS));
        }
    })
}

#[test]
fn a_rank_that_receives_waits() {
    for op in ["MPI_Recv", "MPI_Mrecv", "MPI_Sendrecv", "MPI_Probe", "MPI_Wait", "MPI_Waitall", "MPI_Allreduce"] {
        let finding = one(small_beside(op, 25, 1000));
        // Four ranks send for a millisecond each; what they wait is no cost of that.
        assert_eq!(finding["severity_rank_s"].as_f64(), Some(0.004), "{finding}");
        none(small_beside(op, 26, 1000));
    }
}

/// A master sends a task to each worker and receives its result, 200 times.
#[test]
fn tasks_for_workers_are_no_small_messages() {
    let build = |profile: &mut Builder| {
        for rank in 0..4 {
            let (tasks, receives) = if rank == 0 { (600, 1900) } else { (200, 1600) };
            profile.cell("W0.0", "MPI_Send", 1, rank, Did(tasks, tasks * 215, 0, 2 * MS));
            profile.cell("W0.0", "MPI_Recv", 1, rank, Did(tasks, 0, tasks * 215, receives * MS));
        }
        for worker in 1..4 {
            profile.edge("W0.0", "MPI_Send", (0, worker), 200, 200 * 215);
            profile.edge("W0.0", "MPI_Send", (worker, 0), 200, 200 * 215);
        }
    };
    none(of("small-messages", 4, 2000, build));
    let heaviest = one(of("heaviest-call", 4, 2000, build));
    assert_eq!(heaviest["title"], "MPI_Recv on W0.0 is the heaviest call");
}

#[test]
fn fragmented_collectives() {
    let told = |calls: i64, bytes: i64, wall: i64, waits: i64| {
        of("fragmented-collectives", 4, wall, |profile| {
            for rank in 0..4 {
                profile.cell("W0.0", "MPI_Allreduce", 1, rank, Did(calls, calls * bytes, calls * bytes, 99 * MS));
                profile.cell("W0.0", "MPI_Waitall", 0, rank, Did(waits, 0, 0, MS));
            }
        })
    };
    // 50 ms of work are 250 µs between two of 200 calls.
    one(told(200, 1024, 150, 50));
    none(told(199, 1024, 140, 1));
    none(told(200, 1025, 150, 1));
    none(told(200, 1024, 151, 1));
    none(told(200, 1024, 150, 51));
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

#[test]
fn communicators_that_are_leaked_churned_or_unused() {
    const FREED: &str = "UPDATE communicator SET freed = 1";
    let told = |topic: &str, count, are_used, sql: &str| {
        changed(topic, 4, 2000, |profile| duplicates(profile, count, are_used), sql)
    };
    let finding = one(told("communicator-leak", 32, true, ""));
    assert_eq!((finding["comm"].as_str(), finding["op"].as_str()), (Some("W0.0"), Some("MPI_Comm_dup")));
    assert_eq!(finding["level"], "warn");
    none(told("communicator-leak", 31, true, ""));
    none(told("communicator-leak", 32, true, FREED));
    assert_eq!(one(told("communicator-churn", 32, true, FREED))["level"], "info");
    none(told("communicator-churn", 31, true, FREED));
    // Of each two one is leaked: either half is below the threshold.
    const HALF: &str = "UPDATE communicator SET freed = id % 2";
    none(told("communicator-leak", 50, true, HALF));
    let text = one(told("communicator-churn", 50, true, HALF))["text"].as_str().unwrap().to_owned();
    assert!(text.starts_with("50 communicators of one family were made, and 25 of them were freed"), "{text}");
    one(told("communicator-churn", 32, true, HALF));
    none(told("communicator-churn", 31, true, HALF));
    assert_eq!(one(told("unused-communicators", 8, false, FREED))["level"], "warn");
    none(told("unused-communicators", 7, false, FREED));
    none(told("unused-communicators", 8, true, FREED));
}

#[test]
fn polling() {
    let told = |polls: i64, receives: i64| {
        of("polling", 4, 2000, |profile| {
            profile.cell("W0.0", "MPI_Irecv", 0, 0, Did(receives, 0, 8, MS));
            profile.cell("W0.0", "MPI_Test", 0, 0, Did(polls, 0, 0, 100 * MS));
        })
    };
    one(told(10_000, 500));
    none(told(9_999, 1));
    none(told(10_000, 501));
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
    assert_eq!((finding["severity_rank_s"].as_f64(), finding["gain_bound_s"].as_f64()), (Some(2.0), Some(0.5)));
    assert_eq!(finding["title"], "MPI_Test on s0.1 (and 1 more) polls");
    let text = finding["text"].as_str().unwrap();
    assert!(text.starts_with("On s0.1: 20000 calls of MPI_Test take 1.00 s"), "{text}");
}

#[test]
fn a_root_that_all_send_to() {
    let told = |to_root: i64, back: i64, senders: i64| {
        of("root-funnel", 4, 2000, |profile| {
            profile.cell("W0.0", "MPI_Send", 0, 0, Did(1, 8, 0, MS));
            for src in 1..=senders {
                let more = if src == 1 { to_root - 20 * (senders - 1) } else { 20 };
                profile.edge("W0.0", "MPI_Send", (src, 0), more, 8);
            }
            if back > 0 {
                profile.edge("W0.0", "MPI_Send", (0, 1), back, 8);
            }
        })
    };
    assert_eq!(one(told(100, 11, 3))["ranks"], "0");
    none(told(100, 12, 3));
    none(told(99, 0, 3));
    none(told(100, 0, 2));
}

#[test]
fn a_gather_and_a_broadcast() {
    let told = |calls: i64, spread: i64, root: usize| {
        of("gather-bcast", 4, 2000, |profile| {
            for rank in 0..4 {
                let collected = if rank == 0 { calls * 400 } else { 0 };
                profile.cell("W0.0", "MPI_Gather", 0, rank, Did(calls, calls * 100, collected, MS));
                let sent = if rank == root { calls * spread } else { 0 };
                profile.cell("W0.0", "MPI_Bcast", 0, rank, Did(calls, sent, calls * spread - sent, MS));
            }
        })
    };
    let finding = one(told(10, 400, 0));
    assert!(finding["title"].as_str().unwrap().contains("MPI_Allgather"), "{finding}");
    one(told(10, 404, 0));
    none(told(10, 405, 0));
    none(told(9, 400, 0));
    none(told(10, 400, 1));
}

#[test]
fn uneven_bytes() {
    let told = |calls: i64, most: i64| {
        of("uneven-bytes", 4, 2000, |profile| {
            for rank in 0..4 {
                let sent = if rank == 1 { most } else { 2000 };
                profile.cell("W0.0", "MPI_Alltoallv", 0, rank, Did(calls, sent, 3000, 500 * MS));
            }
        })
    };
    assert_eq!(one(told(10, 6000))["ranks"], "1");
    none(told(10, 5999));
    none(told(9, 6000));
}

#[test]
fn an_odd_sibling() {
    let told = |siblings: usize, odd: i64, bytes: i64| {
        of("odd-sibling", 2 * siblings, 300, |profile| {
            for sibling in 0..siblings {
                let (first, name) = (2 * sibling, format!("s{}.1", 2 * sibling));
                profile.comm(&name, None, Some("W0.0"), 2, &format!("{first}-{}", first + 1));
                for rank in [first, first + 1] {
                    let (bytes, time) = if sibling == 1 { (bytes, odd) } else { (1000, 100) };
                    profile.cell(&name, "MPI_Alltoallv", 0, rank, Did(10, bytes, bytes, time * MS));
                }
            }
        })
    };
    let finding = one(told(3, 150, 1000));
    assert_eq!((finding["comm"].as_str(), finding["severity_rank_s"].as_f64()), (Some("s2.1"), Some(0.1)));
    none(told(3, 149, 1000));
    none(told(2, 150, 1000));
    none(told(3, 150, 1001));
}

#[test]
fn an_operation_that_is_slower_though_smaller() {
    let told = |small: i64, bytes: i64| {
        of("slower-though-smaller", 4, 300, |profile| {
            profile.comm("s0.1", None, Some("W0.0"), 2, "0-1");
            for rank in 0..4 {
                profile.cell("W0.0", "MPI_Alltoall", 0, rank, Did(10, 10_000, 10_000, 70 * MS));
            }
            for rank in 0..2 {
                profile.cell("s0.1", "MPI_Alltoall", 0, rank, Did(10, bytes, bytes, small * MS));
            }
        })
    };
    assert_eq!(one(told(105, 10_000))["comm"], "s0.1");
    none(told(104, 10_000));
    none(told(105, 10_102));
}

/// So many milliseconds of each rank in some calls.
fn heaviest(calls: &[(&str, i64)], sql: &str) -> Vec<Value> {
    let build = |profile: &mut Builder| {
        for (rank, (op, time)) in (0..4).flat_map(|rank| calls.iter().map(move |call| (rank, call))) {
            profile.cell("W0.0", op, 0, rank, Did(10, 0, 0, time * MS));
        }
    };
    changed("heaviest-call", 4, 2000, build, sql)
}

#[test]
fn the_heaviest_call() {
    let finding = one(heaviest(&[("MPI_Waitall", 1698), ("MPI_Isend", 100)], ""));
    assert_eq!((finding["op"].as_str(), finding["level"].as_str()), (Some("MPI_Waitall"), Some("info")));
    let text = finding["text"].as_str().unwrap();
    assert!(text.starts_with("It takes 84.9 % of the run time") && text.contains("COMMSEE_TRACE=1"), "{text}");
    // MPI takes 20 % of the run time, and the call 5 %.
    one(heaviest(&[("MPI_Waitall", 400)], ""));
    none(heaviest(&[("MPI_Waitall", 399)], ""));
    let several =
        |most: i64| [("MPI_Waitall", most), ("MPI_Send", 99), ("MPI_Recv", 99), ("MPI_Bcast", 99), ("MPI_Scan", 99)];
    one(heaviest(&several(100), ""));
    none(heaviest(&several(99), ""));
}

#[test]
fn of_the_heaviest_call_a_timeline_tells_what_it_waits() {
    const CLOCKS: &str = "INSERT INTO clock SELECT rank, 0, 1000, 0, 2000, 10, 0 FROM process";
    let finding = one(heaviest(&[("MPI_Waitall", 1698)], CLOCKS));
    let text = finding["text"].as_str().unwrap();
    assert!(text.contains("the timeline tells of no waiting in it") && !text.contains("COMMSEE_TRACE"), "{text}");
}

#[test]
fn a_heaviest_call_that_is_explained_is_told_once() {
    // All but rank 2 wait for it in ten barriers.
    let told = |more: i64| {
        of("heaviest-call", 4, 2000, |profile| {
            for rank in 0..4 {
                let more = if rank == 2 { 0 } else { more };
                profile.cell("W0.0", "MPI_Barrier", 0, rank, Did(10, 0, 0, (300 + more) * MS));
            }
        })
    };
    // 1200 ms, and as much of waiting.
    none(told(400));
    one(told(399));
}

#[test]
fn costs_are_exact_or_bounds() {
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
    for cost in ["Costs at least 2.70 s ", "Costs up to 500 ms ", "Costs 1.00 ms "] {
        assert!(told.contains(cost), "{told}");
    }
}

#[test]
fn what_starting_costs() {
    let told = |wall: i64, init: i64| {
        of("startup-cost", 4, wall, |profile| {
            profile.cell("W0.0", "MPI_Init", 0, 0, Did(1, 0, 0, init * MS));
        })
    };
    assert_eq!(one(told(50_000, 5000))["level"], "info");
    none(told(50_000, 4999));
    none(told(50_001, 5000));
}

/// Each rank sends so many milliseconds after the one before it, which the next one waits for.
fn one_after_the_other(topic: &str, ranks: usize, each: i64) -> Vec<Value> {
    let mut sql = String::from("INSERT INTO clock SELECT rank, 0, 1000, 0, 2000, 10, 0 FROM process;");
    let mut event = |rank: usize, kind: i64, begin: i64, end: &str, op: &str, message: &str| {
        sql += &format!(
            "INSERT INTO event (rank, thread, kind, begin_ns, end_ns, cause_ns, comm, op, bytes, peer, source, tag, posted) \
             SELECT {rank}, 0, {kind}, {begin}, {end}, {begin}, c.id, o.id, 40, {message} FROM communicator c, operation o \
             WHERE c.name = 'W0.0' AND o.name = '{op}';"
        );
    };
    for rank in 0..ranks {
        let begin = each * rank as i64 * MS;
        if rank > 0 {
            event(rank, 0, 0, &begin.to_string(), "MPI_Recv", "NULL, NULL, NULL, NULL");
            event(rank, 3, 0, "NULL", "MPI_Recv", &format!("NULL, {}, 0, 0", rank - 1));
        }
        let begin = begin + each * MS;
        event(rank, 0, begin, &(begin + 10).to_string(), "MPI_Send", "NULL, NULL, NULL, NULL");
        if rank + 1 < ranks {
            event(rank, 2, begin, "NULL", "MPI_Send", &format!("{}, {rank}, 0, NULL", rank + 1));
        }
    }
    let build = |profile: &mut Builder| {
        for rank in 0..ranks {
            profile.cell("W0.0", "MPI_Send", 0, rank, Did(1, 40, 0, MS));
            profile.cell("W0.0", "MPI_Recv", 0, rank, Did(1, 0, 40, each * rank as i64 * MS));
        }
    };
    changed(topic, ranks, 2000, build, &sql)
}

#[test]
fn ranks_that_work_one_after_the_other() {
    let finding = one(one_after_the_other("serial-chain", 4, 30));
    assert_eq!((finding["ranks"].as_str(), finding["confidence"].as_str()), (Some("0-3"), Some("timeline")));
    none(one_after_the_other("serial-chain", 3, 30));
    // The last rank waits for less than some time slices.
    none(one_after_the_other("serial-chain", 4, 9));
}

#[test]
fn a_late_sender() {
    let finding = one(one_after_the_other("late-sender", 2, 200));
    assert_eq!((finding["ranks"].as_str(), finding["level"].as_str()), (Some("0"), Some("warn")));
    // 1 % of two ranks and 2 s.
    one(one_after_the_other("late-sender", 2, 40));
    none(one_after_the_other("late-sender", 2, 39));
    assert_eq!(one(one_after_the_other("late-sender", 2, 130))["level"], "warn");
    assert_eq!(one(one_after_the_other("late-sender", 3, 29))["level"], "info");
}

#[test]
fn data_with_gaps() {
    let told = |calls: i64, gaps: i64, plain: i64| {
        of("non-contiguous-data", 4, 2000, |profile| {
            profile.cell("W0.0", "MPI_Send", 0, 0, Did(calls + 10, gaps + plain, 0, 900 * MS));
            profile.used("W0.0", "MPI_Send", ("vector", false), 0, calls, gaps);
            profile.used("W0.0", "MPI_Send", ("MPI_DOUBLE", true), 0, 10, plain);
        })
    };
    let finding = one(told(100, 1 << 20, 0));
    assert_eq!((finding["confidence"].as_str(), finding["level"].as_str()), (Some("datatypes"), Some("warn")));
    one(told(100, 1 << 20, 1 << 20));
    none(told(100, 1 << 20, (1 << 20) + 1));
    none(told(100, (1 << 20) - 1, 0));
    none(told(99, 1 << 20, 0));
}

#[test]
fn tiny_accesses() {
    let puts = |calls: i64, bytes: i64, large: i64, fences: i64| {
        of("tiny-one-sided", 4, 2000, |profile| {
            profile.cell("W0.0", "MPI_Put", 1, 0, Did(calls, calls * bytes, 0, MS));
            profile.cell("W0.0", "MPI_Put", 3, 0, Did(large, large * 100_000, 0, MS));
            profile.cell("W0.0", "MPI_Win_fence", 0, 0, Did(fences, 0, 0, MS));
        })
    };
    one(puts(1001, 1000, 1, 250));
    none(puts(1000, 1000, 1, 1));
    none(puts(1001, 1001, 1, 1));
    none(puts(1001, 1000, 1, 251));
    one(puts(1001, 1000, 9008, 1));
    none(puts(1001, 1000, 9009, 1));
    let writes = |op: &str, calls: i64, bytes: i64| {
        of("tiny-file-accesses", 4, 2000, |profile| {
            profile.cell("W0.0", op, 2, 0, Did(calls, calls * bytes, 0, MS));
        })
    };
    one(writes("MPI_File_write_at", 1001, 4096));
    none(writes("MPI_File_write_at", 1000, 4096));
    none(writes("MPI_File_write_at", 1001, 4097));
    none(writes("MPI_File_write_at_all", 1001, 4096));
}

const TCP: Way = Way(["uct", "uct_ep_am_short", "eager", "tcp", "eth0", "network"]);
const WIREUP: Way = Way(["uct", "uct_ep_am_bcopy", "wireup", "tcp", "eth0", "network"]);
const SHARED: Way = Way(["uct", "uct_ep_am_short", "eager", "posix", "memory", "memory"]);
const EAGER: Way = Way(["ucp", "ucp_tag_send_nbx", "eager", "tcp", "eth0", "network"]);
const RENDEZVOUS: Way = Way(["ucp", "ucp_tag_send_nbx", "rndv-get", "", "", ""]);
const TO_HOST: Way = Way(["gpu", "DtoH", "device to pinned", "", "gpu0", "gpu"]);
const FROM_HOST: Way = Way(["gpu", "HtoD", "pinned to device", "", "gpu0", "gpu"]);
const BETWEEN: Way = Way(["gpu", "DtoD", "device to device", "", "gpu0", "gpu"]);

#[test]
fn the_network_inside_a_node() {
    // Ranks 0 and 1 are on node0.
    let told = |way: fn() -> Way, peer: i64, messages: i64, bytes: i64| {
        of("network-inside-node", 4, 2000, |profile| {
            profile.cell("W0.0", "MPI_Send", 0, 0, Did(messages, bytes, 0, MS));
            profile.transfer(("W0.0", "MPI_Send", 0), way(), (0, peer), Moved(messages, bytes, 0, 0));
        })
    };
    let finding = one(told(|| TCP, 1, 1000, 8000));
    assert_eq!((finding["ranks"].as_str(), finding["level"].as_str()), (Some("0"), Some("warn")));
    none(told(|| TCP, 1, 999, 8000));
    one(told(|| TCP, 1, 10, 1 << 20));
    none(told(|| TCP, 2, 1000, 1 << 20));
    none(told(|| SHARED, 1, 1000, 1 << 20));
    none(told(|| WIREUP, 1, 1000, 1 << 20));
}

#[test]
fn messages_of_a_gpu_through_the_host() {
    // Rank 1 copies each way so many bytes in ten copies, which take so many milliseconds.
    let told = |op: &str, ways: &[Way], bytes: i64, milliseconds: i64| {
        of("staged-gpu-messages", 4, 2000, |profile| {
            let comm = if op == "-" { "-" } else { "W0.0" };
            for way in ways {
                profile.transfer((comm, op, 2), *way, (1, 1), Moved(10, bytes, 10, milliseconds * MS));
            }
        })
    };
    let finding = one(told("MPI_Waitall", &[TO_HOST, FROM_HOST], 1 << 19, 1));
    assert_eq!((finding["ranks"].as_str(), finding["level"].as_str()), (Some("1"), Some("info")));
    let text = finding["text"].as_str().unwrap();
    assert!(text.contains("20 copies with 1.00 MiB") && text.contains("take 2.00 ms on the GPUs"), "{text}");
    // 10 % of 4 times 2000 ms.
    assert_eq!(one(told("MPI_Waitall", &[TO_HOST, FROM_HOST], 1 << 19, 400))["level"], "high");
    none(told("MPI_Waitall", &[TO_HOST, FROM_HOST], (1 << 19) - 1, 400));
    none(told("MPI_Waitall", &[BETWEEN], 1 << 30, 400));
    none(told("-", &[TO_HOST, FROM_HOST], 1 << 30, 400));
}

/// In a call of NCCL that is made in an MPI call.
#[test]
fn copies_of_nccl_are_its_own() {
    let build = |profile: &mut Builder| {
        profile.transfer(("W0.0", "MPI_Allreduce", 2), TO_HOST, (1, 1), Moved(10, 1 << 30, 10, MS));
    };
    one(changed("staged-gpu-messages", 4, 2000, build, ""));
    none(changed("staged-gpu-messages", 4, 2000, build, "UPDATE transfer SET within = (SELECT min(id) FROM way)"));
}

#[test]
fn a_threshold_that_messages_straddle() {
    let told = |eager: i64, others: i64| {
        of("straddled-threshold", 4, 2000, |profile| {
            profile.cell("W0.0", "MPI_Send", 2, 0, Did(eager + others, 100_000, 0, MS));
            profile.transfer(("W0.0", "MPI_Send", 2), EAGER, (0, 1), Moved(eager, 4096 * eager, 0, 0));
            profile.transfer(("W0.0", "MPI_Send", 2), RENDEZVOUS, (0, 1), Moved(others, 4096 * others, 0, 0));
        })
    };
    assert_eq!(one(told(10, 90))["level"], "info");
    one(told(90, 10));
    none(told(9, 91));
    none(told(91, 9));
    none(told(10, 89));
}

/// The stencil of the how-to pages with two faults: rank 5 is late in each step, and each checkpoint leaves a communicator behind.
pub fn faulty(path: &Path) {
    let mut profile = Builder::new(path, 8);
    profile.meta("command", "./heat --grid 4x2 --steps 400 --checkpoints 64");
    profile.meta("mpi_library", "Open MPI v4.1.4");
    profile.meta("start_time", "2026-11-21T07:15:00Z");
    profile.meta("ranks", "8");
    profile.comm("W0.0", None, None, 8, "0-7");
    profile.comm("d0.1", Some("convergence"), Some("W0.0"), 8, "0-7");
    for rank in 0..8 {
        let waits = if rank == 5 { 0 } else { 14_000 };
        profile.cell("d0.1", "MPI_Allreduce", 0, rank, Did(400, 3200, 3200, (200 + waits) * MS));
        profile.cell("W0.0", "MPI_Comm_dup", 0, rank, Did(65, 0, 0, 100 * MS));
    }
    for number in 2..66 {
        let name = format!("d0.{number}");
        profile.comm(&name, None, Some("W0.0"), 8, "0-7");
        (0..8).for_each(|rank| profile.cell(&name, "MPI_Gather", 3, rank, Did(1, 262_144, 0, 2 * MS)));
    }
    profile.finish(|_| 60_000 * MS);
}

#[test]
fn only_what_is_new_is_told() {
    let folder = Folder::empty();
    for (name, polls) in [("before.db", 1), ("after.db", 100_000)] {
        let mut profile = Builder::new(&folder.path(name), 4);
        profile.comm("W0.0", None, None, 4, "0-3");
        duplicates(&mut profile, 40, true);
        profile.cell("W0.0", "MPI_Test", 0, 0, Did(polls, 0, 0, 1000 * MS));
        profile.finish(|_| 2000 * MS);
    }
    let topics = |words: &[&str]| {
        let answer = folder.through(&[&["advise"], words, &["--format", "json"]].concat());
        let document: Value = serde_json::from_str(&answer.out).unwrap();
        let topic = |finding: &Value| finding["topic"].as_str().unwrap().to_owned();
        (answer.status, document["findings"].as_array().unwrap().iter().map(topic).collect::<Vec<_>>())
    };
    assert_eq!(topics(&["before.db"]), (1, vec!["communicator-leak".to_owned()]));
    assert_eq!(topics(&["after.db"]), (1, vec!["polling".to_owned(), "communicator-leak".to_owned()]));
    assert_eq!(topics(&["after.db", "--since", "before.db"]), (1, vec!["polling".to_owned()]));
    assert_eq!(topics(&["before.db", "--since", "after.db"]), (0, vec![]));
    assert_eq!(folder.through(&["advise", "after.db", "--since", "missing.db"]).status, 2);
    assert_eq!(folder.through(&["advise", "missing.db"]).status, 2);
}
