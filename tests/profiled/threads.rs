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

/// At each instruction of the short path: the standard does not allow it, but programs do it, and end well without commsee. What is not counted then
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

/// Whatever commsee was at when the handler came, no later call waits for it.
#[test]
fn handlers_of_signals_may_leave_by_a_jump() {
    for mpi in Mpi::ALL {
        for call in ["probe", "receive", "gather"] {
            let run = Launch::new(mpi, "jumped").ranks(1).arguments(&[call]).run().succeeded();
            let barriers = "SELECT sum(calls) FROM profile WHERE op = 'MPI_Barrier'";
            assert_eq!(answer(&run.profile_path(), barriers), [run.stdout.trim()], "{mpi} {call}");
        }
    }
}

/// Whether they are is told by the stack pointer of the call that was left, and a handler may come before that is stored. On each path of a call.
#[test]
fn calls_behind_one_that_a_handler_has_left_are_not_made_in_it() {
    let variants = [("COMMSEE_SITES", "0"), ("COMMSEE_SITES", "1"), ("COMMSEE_TRACE", "1")];
    for mpi in Mpi::ALL {
        for (name, value) in variants {
            let run = Launch::new(mpi, "deeper").ranks(1).variable(name, value).run().succeeded();
            let rounds: u64 = run.stdout.trim().parse().expect("a number");
            // A single row: what was started over the other communicator was completed past the profiler.
            let completed = "SELECT op, started, sum(requests), sum(bytes) FROM completions WHERE started IS NOT NULL GROUP BY comm, op, started";
            let expected = format!("MPI_Wait|MPI_Irecv|{rounds}|{}", 8 * rounds);
            assert_eq!(answer(&run.profile_path(), completed), [expected], "{mpi} {name}={value}");
        }
    }
}

/// Nor is what such a call had looked up by halves taken for what later calls need: these crashed, or were charged to another communicator.
#[test]
fn what_a_jump_leaves_half_looked_up_is_looked_up_again() {
    let variants = [("COMMSEE_SITES", "0"), ("COMMSEE_SITES", "1"), ("COMMSEE_TRACE", "1")];
    for mpi in Mpi::ALL {
        for (name, value) in variants {
            let run = Launch::new(mpi, "first_left").ranks(1).variable(name, value).run().succeeded();
            for line in run.stdout.lines() {
                let [op, behind, communicators] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
                // A call that was left may have been counted by then.
                let counted = format!(
                    "SELECT count(*), sum(calls IN ({behind}, {behind} + 1)) FROM \
                     (SELECT sum(calls) AS calls FROM profile WHERE op = '{op}' GROUP BY comm)"
                );
                let expected = format!("{communicators}|{communicators}");
                assert_eq!(answer(&run.profile_path(), &counted), [expected], "{mpi} {name}={value} {op}");
            }
            assert_eq!(run.stdout.lines().count(), 5, "{}", run.output());
        }
    }
}

/// Nor is what it had noted of requests taken for what an earlier call had.
#[test]
fn what_a_jump_leaves_half_noted_is_looked_at_again() {
    for mpi in Mpi::ALL {
        for (name, value) in [("COMMSEE_SITES", "0"), ("COMMSEE_TRACE", "1")] {
            let run = Launch::new(mpi, "look_left").ranks(1).variable(name, value).run().succeeded();
            let completed = "SELECT op, started, sum(requests) FROM completions WHERE started IS NOT NULL GROUP BY comm, op, started";
            let expected = format!("MPI_Testany|MPI_Irecv|{}", run.stdout.trim());
            assert_eq!(answer(&run.profile_path(), completed), [expected], "{mpi} {name}={value}");
        }
    }
}

/// Where several threads call, too: neither what a handler has interrupted nor what one has left is waited for, and a communicator that is made
/// afterwards is known, and so is a request of it.
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
                let barriers = "SELECT sum(calls) FROM profile WHERE op = 'MPI_Barrier'";
                assert_eq!(answer(&run.profile_path(), barriers), [run.stdout.trim()], "{mpi} {way} {call}");
                let last = "SELECT creator FROM profile WHERE op = 'MPI_Bcast'";
                assert_eq!(answer(&run.profile_path(), last), ["MPI_Comm_dup"], "{mpi} {way} {call}");
                let completed = "SELECT sum(bytes) FROM completions WHERE comm IN (SELECT comm FROM profile WHERE op = 'MPI_Bcast')";
                assert_eq!(answer(&run.profile_path(), completed), ["4"], "{mpi} {way} {call}");
            }
        }
    }
}

/// Bytes of the stack by step.
fn used(run: &Run) -> Vec<(&str, usize)> {
    let lines = run.stdout.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(step, bytes)| (step, bytes.parse().expect("a number"))).collect()
}
