//! Completion calls are charged to the communicator of their requests, whatever form they have.

use common::{Launch, Mpi, answer, check, execute, fortran, holds, library, through};

#[test]
fn openmpi_completions_find_their_communicator() {
    [2, 4, 8].into_iter().for_each(|ranks| holds(Mpi::OpenMpi, "completion", ranks));
}

#[test]
fn mpich_completions_find_their_communicator() {
    [2, 4, 8].into_iter().for_each(|ranks| holds(Mpi::Mpich, "completion", ranks));
}

#[test]
fn what_calls_completed_is_told_by_operation_size_and_peer() {
    for mpi in Mpi::ALL {
        [2, 3, 5].into_iter().for_each(|ranks| holds(mpi, "completes", ranks));
    }
}

/// Whatever calls complete an array, as a whole or one after the other, and however often a handle stands in it.
#[test]
fn arrays_are_completed_in_any_way() {
    for mpi in Mpi::ALL {
        for seed in ["1", "2", "3"] {
            for words in [&[seed][..], &[seed, "threaded"]] {
                check(&Launch::new(mpi, "drains").ranks(2).arguments(words).run().succeeded());
            }
        }
    }
}

/// Neighbors in rows and columns, and nobody behind a border: one handle stands for requests of both communicators.
#[test]
fn neighbors_of_two_communicators_and_none_at_a_border_are_completed_in_any_way() {
    for mpi in Mpi::ALL {
        let edges = |ranks| Launch::new(mpi, "edges").ranks(ranks);
        let records = |name| edges(4).variable(name, "1");
        let launches = [edges(2), edges(4), edges(6), records("COMMSEE_TRACE"), records("COMMSEE_SITES")];
        let threaded = edges(4).arguments(&["threaded"]);
        for launch in launches.into_iter().chain([records("COMMSEE_DATATYPES"), threaded]) {
            let run = launch.run().succeeded();
            check(&run);
            let of_each = |sql: &str| answer(&run.profile_path(), &format!("{sql} GROUP BY rank ORDER BY rank"));
            // Each but the two that are freed.
            let started = of_each(
                "SELECT rank, sum(calls) - 2, sum(bytes_recv) FROM profile WHERE op IN ('MPI_Irecv', 'MPI_Isend')",
            );
            assert_eq!(of_each("SELECT rank, sum(requests), sum(bytes) FROM completions"), started, "{mpi}");
            assert!(started.len() >= 2);
            // No time is spent for the one that nobody sends.
            let waited = "SELECT DISTINCT rank FROM completions WHERE op = 'MPI_Waitall' AND started = 'MPI_Irecv' AND bytes > 0 AND time_s > 0";
            assert_eq!(answer(&run.profile_path(), waited).len(), started.len(), "{mpi}");
        }
    }
}

/// Requests that agree in operation and size are waited for by the call, also where one of them counts by its own bytes.
#[test]
fn what_agrees_in_operation_and_size_is_waited_for() {
    let run = Launch::new(Mpi::Mpich, "agreeing").ranks(1).run().succeeded();
    let rows = answer(
        &run.profile_path(),
        "SELECT started, sum(requests), sum(time_s) > 0 FROM completions WHERE op = 'MPI_Waitall' GROUP BY 1",
    );
    assert_eq!(rows, ["MPI_Start|12|1"]);
}

/// Of requests that differ nobody knows which one the call waited for: its time is in a row of none.
#[test]
fn what_differs_is_charged_no_time() {
    for mpi in Mpi::ALL {
        let run = Launch::new(mpi, "differing").ranks(1).run().succeeded();
        let rows = "SELECT started, bucket_lo, sum(requests), sum(time_s) > 0 FROM completions WHERE op = 'MPI_Waitall' GROUP BY 1, 2";
        assert_eq!(answer(&run.profile_path(), rows), ["-|-|0|1", "MPI_Irecv|0|3|0", "MPI_Irecv|65536|3|0"], "{mpi}");
    }
}

/// What a status says is no rank that the library has checked.
#[test]
fn a_rank_that_is_none_ends_no_program() {
    for mpi in Mpi::ALL {
        let run = Launch::new(mpi, "behind").ranks(3).run().succeeded();
        assert!(run.stdout.contains("from 2"), "{mpi}: {}", run.stdout);
    }
}

/// What was completed past the profiler is not taken for the next request of its handle, and what is started in a call that completes one is.
#[test]
fn what_is_completed_unseen_is_not_taken_for_what_follows() {
    let expected = [
        "d0.1|MPI_Waitall|MPI_Irecv|1|4",
        "d0.2|MPI_Wait|MPI_Comm_idup|10|0",
        "d0.2|MPI_Wait|MPI_Irecv|11|84",
        "d0.2|MPI_Wait|MPI_Issend|10|0",
        "d0.2|MPI_Wait|MPI_Start|10|80",
    ];
    for mpi in Mpi::ALL {
        for level in ["0", "3"] {
            let run = Launch::new(mpi, "unseen").ranks(1).arguments(&[level]).run().succeeded();
            let of_all = "SELECT comm, op, started, sum(requests), sum(bytes) FROM completions \
                          WHERE started IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";
            assert_eq!(answer(&run.profile_path(), of_all), expected, "{mpi}, threads {level}");
            let duplicates = "SELECT creator, sum(calls) FROM profile WHERE op = 'MPI_Barrier' GROUP BY 1";
            assert_eq!(answer(&run.profile_path(), duplicates), ["MPI_Comm_idup|10"], "{mpi}, threads {level}");
        }
    }
}

/// In Fortran and by several threads at once.
#[test]
fn every_receive_is_completed_once() {
    for mpi in Mpi::ALL {
        let in_fortran = Launch::of(mpi, fortran(mpi, "fortran", 2)).preload(library());
        for launch in [in_fortran, Launch::new(mpi, "threads")] {
            let run = launch.ranks(2).run().succeeded();
            check(&run);
            let sums =
                |sql: &str| answer(&run.profile_path(), &format!("{sql} AND comm <> '*' GROUP BY rank ORDER BY rank"));
            let started = sums("SELECT rank, sum(calls), sum(bytes_recv) FROM profile WHERE op = 'MPI_Irecv'");
            let of_all = "SELECT rank, sum(requests), sum(bytes) FROM completions WHERE started = 'MPI_Irecv' GROUP BY rank ORDER BY rank";
            assert_eq!(answer(&run.profile_path(), of_all), started, "{mpi}");
            assert_eq!(started.len(), 2);
        }
    }
}

/// However many threads hand however many to each other: more than are found at once by who has started them, too.
#[test]
fn requests_that_go_from_thread_to_thread_are_completed_once() {
    const ROUNDS: usize = 3;
    let cases = [
        (Mpi::OpenMpi, "serialized", 24, 40),
        (Mpi::OpenMpi, "multiple", 24, 4000),
        (Mpi::Mpich, "serialized", 24, 40),
        (Mpi::Mpich, "multiple", 24, 40),
    ];
    for (mpi, level, threads, count) in cases {
        let arguments = [level, &threads.to_string(), &count.to_string()];
        let run = Launch::new(mpi, "passed_around").ranks(1).arguments(&arguments).run().succeeded();
        let of_each = |sql: &str| answer(&run.profile_path(), &format!("{sql} GROUP BY comm ORDER BY number"));
        let number = "CAST(substr(comm, 4) AS INTEGER) AS number";
        let expected: Vec<String> = (1..=threads)
            .map(|thread| format!("{thread}|{}|{}", ROUNDS * count, ROUNDS * count * thread * 4))
            .collect();
        let completed = of_each(&format!(
            "SELECT {number}, sum(requests), sum(bytes) FROM completions \
             WHERE op = 'MPI_Waitall' AND started = 'MPI_Irecv'"
        ));
        assert_eq!(completed, expected, "{mpi} {level}");
        let started = "SELECT substr(comm, 4), sum(calls), sum(bytes_recv) FROM profile WHERE op = 'MPI_Irecv'";
        assert_eq!(
            answer(&run.profile_path(), &format!("{started} GROUP BY comm ORDER BY 2, 3")),
            expected,
            "{mpi} {level}"
        );
        let waited = of_each(&format!("SELECT {number}, sum(calls) FROM profile WHERE op = 'MPI_Waitall'"));
        let of_all: Vec<String> = (1..=threads).map(|thread| format!("{thread}|{ROUNDS}")).collect();
        assert_eq!(waited, of_all, "{mpi} {level}");
    }
}

/// Which of them has completed nobody can tell where all have one handle, but how many have.
#[test]
fn requests_that_other_threads_started_are_completed_once() {
    for mpi in Mpi::ALL {
        let run = Launch::new(mpi, "thread_completions").ranks(2).run().succeeded();
        check(&run);
        let of_each = |sql: &str| answer(&run.profile_path(), &format!("{sql} GROUP BY rank ORDER BY rank"));
        let started = of_each("SELECT rank, sum(calls) FROM profile WHERE op = 'MPI_Isend'");
        assert_eq!(of_each("SELECT rank, sum(requests) FROM completions"), started, "{mpi}");
        assert_eq!(started.len(), 2);
    }
}

/// Calls that tell of a completion and leave it to others count its bytes once, whatever follows.
#[test]
fn what_is_told_to_be_complete_is_counted_once() {
    for mpi in Mpi::ALL {
        [2, 4].into_iter().for_each(|ranks| holds(mpi, "revealed", ranks));
        check(&Launch::new(mpi, "revealed").arguments(&["threads"]).ranks(2).run().succeeded());
        // Also by call site, and on a timeline.
        for variable in ["COMMSEE_SITES", "COMMSEE_TRACE"] {
            check(&Launch::new(mpi, "revealed").ranks(2).variable(variable, "1").run().succeeded());
        }
    }
    if Mpi::Standard.is_there() {
        check(&Launch::new(Mpi::Standard, "revealed").ranks(2).run().succeeded());
        check(&Launch::new(Mpi::Standard, "revealed").arguments(&["threads"]).ranks(2).run().succeeded());
    }
}

#[test]
fn less_detail_has_the_same_sums() {
    for mpi in Mpi::ALL {
        let sums = |detail: &str| {
            let run = Launch::new(mpi, "completes").ranks(3).variable("COMMSEE_DETAIL", detail).run();
            let sql = "SELECT comm, op, started, bucket_lo, sum(requests), sum(bytes) FROM completions WHERE started <> 'MPI_Isend' \
                       GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4";
            answer(&run.profile_path(), sql)
        };
        let whole = sums("rank");
        assert!(whole.len() > 20, "{whole:?}");
        assert_eq!((sums("node"), sums("comm")), (whole.clone(), whole));
    }
}

#[test]
fn through_tells_what_calls_waited_for() {
    let run = Launch::new(Mpi::Mpich, "completes").ranks(3).run().succeeded();
    let told = |words: &[&str]| {
        let done =
            execute(std::process::Command::new(through()).arg("--completed").args(words).arg(run.profile_path()));
        assert!(done.status.success(), "{words:?}: {}", done.stderr);
        done.stdout
    };
    let table = told(&["--op", "wait", "--bytes", "64K:"]);
    assert!(table.contains("Irecv") && table.contains("64K-256K") && table.contains("mostly from"), "{table}");
    assert!(!table.contains("Waitall") && !table.contains("1K-8K"), "{table}");
    let csv = told(&["--op", "irecv", "--format", "csv"]);
    assert!(csv.lines().skip(1).all(|line| line.contains(",MPI_Irecv,")) && csv.lines().count() > 10, "{csv}");
    let json: serde_json::Value = serde_json::from_str(&told(&["--format", "json"])).expect("JSON");
    let rows = json["completed"].as_array().expect("rows");
    assert!(rows.iter().any(|row| row["started"].is_null()) && rows.iter().any(|row| row["peer"].is_u64()), "{json}");
}
