//! Calls that a program could leave out, collect or replace.

use rusqlite::Connection;
use serde_json::Value;

use super::{changed, duplicates, none, of, one};
use crate::common::{Builder, Did, Folder, MS};

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
        // Each rank sends for a millisecond; what it waits is no cost of that.
        assert_eq!(finding["gain_s"].as_f64(), Some(0.001), "{finding}");
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

/// Three ranks wait 80 ms for the fourth: no call that is left out makes that shorter.
#[test]
fn waiting_is_no_cost_of_fragmented_collectives() {
    let finding = one(of("fragmented-collectives", 4, 150, |profile| {
        for rank in 0..4 {
            let time = if rank == 2 { 20 } else { 100 };
            profile.cell("W0.0", "MPI_Allreduce", 1, rank, Did(2000, 16_000, 16_000, time * MS));
        }
    }));
    assert_eq!(finding["gain_s"].as_f64(), Some(0.02), "{finding}");
    let text = finding["text"].as_str().unwrap();
    assert!(text.contains("take 320 ms (at least 240 ms of it waiting)"), "{text}");
}

/// One creator makes two families, 32 of four ranks and 64 of two: each costs its part of the time that the creator takes.
#[test]
fn communicators_cost_their_part_of_what_the_creator_takes() {
    let folder = Folder::empty();
    let mut profile = Builder::new(&folder.path("made.db"), 4);
    profile.comm("W0.0", None, None, 4, "0-3");
    for number in 1..=96 {
        let name = format!("d0.{number}");
        let (size, ranks) = if number <= 32 { (4, "0-3") } else { (2, "0-1") };
        profile.comm(&name, None, Some("W0.0"), size, ranks);
        profile.cell(&name, "MPI_Bcast", 0, 0, Did(1, 8, 8, MS));
    }
    (0..4).for_each(|rank| profile.cell("W0.0", "MPI_Comm_dup", 0, rank, Did(96, 0, 0, 250 * MS)));
    profile.finish(|_| 2000 * MS);
    let told = |sql: &str| {
        Connection::open(folder.path("made.db")).unwrap().execute_batch(sql).unwrap();
        let document: Value = serde_json::from_str(&folder.through(&["advise", "--format", "json"]).out).unwrap();
        let findings = document["findings"].as_array().unwrap().iter();
        let found = findings.map(|one| (one["topic"].as_str().unwrap().to_owned(), one["gain_s"].as_f64().unwrap()));
        let mut found: Vec<(String, f64)> = found.filter(|(topic, _)| topic.starts_with("communicator-")).collect();
        found.sort_by(|one, other| one.0.cmp(&other.0));
        found
    };
    // Of 1000 ms each of four ranks has a fourth.
    assert_eq!(told(""), [("communicator-leak".to_owned(), 0.25)]);
    let found = told("UPDATE communicator SET freed = 1 WHERE size = 2");
    assert_eq!(found, [("communicator-churn".to_owned(), 0.125), ("communicator-leak".to_owned(), 0.125)]);
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
    assert!(text.starts_with("50 similar communicators were made, and 25 of them were freed"), "{text}");
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
            // The others have as much to wait.
            (1..4).for_each(|rank| profile.cell("W0.0", "MPI_Bcast", 0, rank, Did(1, 0, 8, 200 * MS)));
        })
    };
    one(told(10_000, 500));
    none(told(9_999, 1));
    none(told(10_000, 501));
}

/// Of 1000 ms of polls a rank had no processor for half of its time.
#[test]
fn polling_without_processors() {
    let told = |ready: i64| {
        let build = |profile: &mut Builder| {
            for rank in 0..2 {
                profile.cell("W0.0", "MPI_Irecv", 0, rank, Did(1, 0, 8, MS));
                profile.cell("W0.0", "MPI_Test", 0, rank, Did(10_000, 0, 0, 1000 * MS));
            }
        };
        let sql = format!("UPDATE process SET ready_ns = {ready}, ran_ns = wall_ns - {ready}", ready = ready * MS);
        one(changed("polling", 2, 2000, build, &sql))["gain_s"].as_f64().expect("a number")
    };
    assert_eq!((told(0), told(1000)), (1.0, 0.5));
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
fn data_with_gaps() {
    let told = |calls: i64, gaps: i64, plain: i64| {
        of("non-contiguous-data", 4, 2000, |profile| {
            profile.cell("W0.0", "MPI_Send", 0, 0, Did(calls + 10, gaps + plain, 0, 900 * MS));
            (1..4).for_each(|rank| profile.cell("W0.0", "MPI_Recv", 0, rank, Did(10, 0, gaps + plain, 900 * MS)));
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

/// Of four ranks on one host.
#[test]
fn ranks_that_share_processors() {
    let changed_to = |processors: &str, cpus: [&str; 4], more: &str| {
        let of_rank = |(rank, cpus): (usize, &&str)| {
            format!("UPDATE process SET host = 'n', cpus = '{cpus}' WHERE rank = {rank};")
        };
        let sql: String = cpus.iter().enumerate().map(of_rank).collect();
        let build = |profile: &mut Builder| profile.meta("processors", processors);
        changed("shared-processors", 4, 2000, build, &format!("{sql}{more}"))
    };
    let told = |processors: &str, cpus: [&str; 4]| changed_to(processors, cpus, "");
    let finding = one(told("8", ["0", "0", "1", "2"]));
    assert_eq!((finding["level"].as_str(), finding["ranks"].as_str()), (Some("warn"), Some("0-1")));
    assert!(finding["text"].as_str().unwrap().starts_with("Ranks 0-1 are bound to processor 0 of "), "{finding}");
    assert_eq!(one(told("8", ["0,4", "0,4", "0,4", "1"]))["ranks"], "0-2");
    // Half of the time without a processor.
    let ready = "UPDATE process SET ran_ns = wall_ns / 2, ready_ns = wall_ns / 2;";
    let finding = one(changed_to("8", ["0", "0", "0", "0"], ready));
    assert_eq!((finding["level"].as_str(), finding["gain_s"].as_f64()), (Some("high"), Some(1.0)));
    none(told("8", ["0", "1", "2", "3"]));
    none(told("8", ["0-3", "0-3", "0-3", "0-3"]));
    // Too many for the host, which is said elsewhere.
    none(told("2", ["0-1", "0-1", "0-1", "0-1"]));
    // They need not share.
    none(told("8", ["0-1", "1-2", "2-3", "0,3"]));
}
