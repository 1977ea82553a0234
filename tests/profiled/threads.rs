//! Several threads that communicate at the same time, or one after the other.

use std::fs;

use common::{Launch, Mpi, Run, answer, check, holds};

#[test]
fn no_thread_loses_a_count() {
    for mpi in Mpi::ALL {
        [2, 4].into_iter().for_each(|ranks| holds(mpi, "threads", ranks));
    }
}

/// Threads that come and go, communicators that are made and freed side by side, requests that others complete.
#[test]
fn threads_in_each_others_way_lose_no_count() {
    for mpi in Mpi::ALL {
        [1, 2, 3].into_iter().for_each(|ranks| holds(mpi, "thread_churn", ranks));
    }
}

/// Until one looks for a request of another, none locks its own. Whenever that ends, others are in the midst of calls.
#[test]
fn no_count_is_lost_when_requests_are_handed_over_for_the_first_time() {
    for mpi in Mpi::ALL {
        for round in ["-1", "0", "1", "5", "23"] {
            for ranks in [1, 2] {
                check(&Launch::new(mpi, "thread_polls").ranks(ranks).arguments(&[round]).run().succeeded());
            }
        }
    }
}

#[test]
fn a_handle_that_is_given_again_before_the_call_has_returned_is_nobody_elses() {
    for way in ["anew", "testall", "testsome", "status", "nested", "left", "polled"] {
        check(&Launch::new(Mpi::OpenMpi, "handed_out").ranks(2).arguments(&[way]).run().succeeded());
    }
}

#[test]
fn every_level_of_threads_is_counted() {
    for mpi in Mpi::ALL {
        for level in ["single", "funneled", "serialized"] {
            for ranks in [1, 2] {
                check(&Launch::new(mpi, "thread_levels").ranks(ranks).arguments(&[level]).run().succeeded());
            }
        }
    }
}

/// A thread may have 16 KiB, of which the MPI library and the loader take ten.
#[test]
fn threads_with_small_stacks_call_as_they_do_without_it() {
    const MOST_BYTES: usize = 4 << 10;
    let variants = [("COMMSEE_SITES", "0"), ("COMMSEE_SITES", "1"), ("COMMSEE_DATATYPES", "1"), ("COMMSEE_TRACE", "1")];
    for mpi in Mpi::ALL {
        let launch = |way: &str| Launch::new(mpi, "small_stacks").ranks(1).arguments(&[way]);
        let alone = launch("measured").plain().run().succeeded();
        let alone = used(&alone);
        for (name, value) in variants {
            launch("smallest").variable(name, value).run().succeeded();
            let with = launch("measured").variable(name, value).run().succeeded();
            let with = used(&with);
            for ((step, alone), (_, with)) in alone.iter().zip(&with) {
                assert!(*with < alone + MOST_BYTES, "{mpi}, {name}={value}, {step}: {with} bytes instead of {alone}");
            }
            assert_eq!((alone.len(), with.len()), (28, 28));
        }
        // There is no room to walk them.
        launch("smallest").variable("COMMSEE_SITES", "16").run().succeeded();
        launch("smallest").plain().run().succeeded();
    }
}

/// What gathers and writes needs more than such a stack has: it takes another one.
#[test]
fn threads_with_small_stacks_may_end_mpi() {
    for mpi in Mpi::ALL {
        for (name, value) in [("COMMSEE_SITES", "1"), ("COMMSEE_TRACE", "1"), ("COMMSEE_DIR", "/dev/null/shards")] {
            let launch = || Launch::new(mpi, "small_stacks").ranks(3).arguments(&["ends"]);
            launch().plain().run().succeeded();
            let run = launch().variable(name, value).run().succeeded();
            assert_eq!(run.stdout.matches("finalized").count(), 3, "{}", run.output());
            let profiles = if name == "COMMSEE_DIR" { 1 } else { 2 };
            assert_eq!(run.profile().total("MPI_Allreduce"), 150, "{mpi}, {name}");
            let written = fs::read_dir(run.folder()).expect("a folder").flatten();
            let written = written.filter(|file| file.path().extension().is_some_and(|extension| extension == "db"));
            assert_eq!(written.count(), profiles, "{mpi}, {name}: the profile and the snapshot's");
        }
    }
}

/// So does a handler that has too little; other handlers must not begin where this one stands, though the stack pointer is elsewhere.
#[test]
fn handlers_of_signals_may_end_mpi() {
    for mpi in Mpi::ALL {
        for kib in ["64", "1024"] {
            let launch = || Launch::new(mpi, "small_stacks").ranks(2).arguments(&["handlers", kib]);
            launch().plain().run().succeeded();
            let run = launch().run().succeeded();
            assert_eq!(run.stdout.matches("finalized").count(), 2, "{}", run.output());
            assert_eq!(run.profile().total("MPI_Allreduce"), 100, "{mpi}, {kib} KiB");
        }
    }
}

/// At each instruction of a call: the standard does not allow it, but programs do it, and end well without commsee. What is not counted then
/// is said.
#[test]
fn handlers_of_signals_may_call_mpi() {
    for mpi in Mpi::ALL {
        for ranks in [1, 2] {
            for program in ["interrupted", "polled"] {
                let run = Launch::new(mpi, program).ranks(ranks).run().succeeded();
                if answer(&run.profile_path(), "SELECT count(*) FROM meta WHERE key = 'lost_calls'") == ["0"] {
                    check(&run);
                }
            }
        }
    }
}

/// Whatever commsee was at when the handler came, the program goes on as it would, and no later call waits: what is not counted is said.
#[test]
fn handlers_of_signals_may_leave_by_a_jump() {
    let ways = [("COMMSEE_SITES", "0"), ("COMMSEE_SITES", "1"), ("COMMSEE_TRACE", "1")];
    let programs = ["deeper", "first_left", "look_left"].map(|program| (program, [].as_slice()));
    let jumped = [["probe"], ["receive"], ["gather"]];
    for mpi in Mpi::ALL {
        for (program, arguments) in programs.into_iter().chain(jumped.iter().map(|call| ("jumped", call.as_slice()))) {
            for (name, value) in ways {
                let run =
                    Launch::new(mpi, program).ranks(1).arguments(arguments).variable(name, value).run().succeeded();
                if program == "jumped" {
                    counted_or_said(&run, "MPI_Barrier");
                }
                let _ = lost(&run);
            }
        }
    }
}

/// Where several threads call, too.
#[test]
fn no_call_waits_for_what_a_handler_has_come_to() {
    let cases = [
        ("call", ["dup", "file", "own", "other"].as_slice()),
        ("jump", ["dup", "file", "own", "other"].as_slice()),
        ("stay", ["own", "other"].as_slice()),
    ];
    for mpi in Mpi::ALL {
        for (way, calls) in cases {
            for call in calls {
                let run = Launch::new(mpi, "taken").ranks(1).arguments(&[way, call]).run().succeeded();
                counted_or_said(&run, "MPI_Barrier");
            }
        }
    }
}

/// Calls that the profile says are missing, which is said to the user, too.
fn lost(run: &Run) -> u64 {
    let lost = answer(&run.profile_path(), "SELECT coalesce(max(value), 0) FROM meta WHERE key = 'lost_calls'");
    let lost = lost[0].parse().expect("a number");
    assert!(lost == 0 || run.stderr.contains("some calls are not counted"), "{}", run.output());
    lost
}

/// The program has made as many calls of the operation as it says: all are counted, or lost.
fn counted_or_said(run: &Run, operation: &str) {
    let made: u64 = run.stdout.trim().parse().expect("a number");
    let counted = format!("SELECT sum(calls) FROM profile WHERE op = '{operation}'");
    let counted: u64 = answer(&run.profile_path(), &counted)[0].parse().expect("a number");
    assert!(counted <= made && counted + lost(run) >= made, "{counted} of {made} are counted: {}", run.output());
}

/// Bytes of the stack by step.
fn used(run: &Run) -> Vec<(&str, usize)> {
    let lines = run.stdout.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(step, bytes)| (step, bytes.parse().expect("a number"))).collect()
}
