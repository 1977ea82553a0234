//! Collective and neighbourhood collective communication.

use common::{Launch, Mpi, answer, check, execute, holds, through};

#[test]
fn collectives_count_what_each_rank_gives_and_takes() {
    for mpi in Mpi::ALL {
        [2, 4, 8].into_iter().for_each(|ranks| holds(mpi, "collectives", ranks));
    }
}

/// By rule they count in the first bucket, which the view `profile` keeps.
#[test]
fn calls_in_which_ranks_have_sizes_of_their_own_are_found_by_these() {
    for mpi in Mpi::ALL {
        let run = Launch::new(mpi, "collectives").ranks(2).run().succeeded();
        check(&run);
        let path = run.profile_path();
        let command = |words: &[&str]| {
            let done = execute(std::process::Command::new(through()).args(words).arg(&path));
            assert!(done.status.success(), "{words:?}: {}", done.stderr);
            done.stdout
        };
        let found = command(&["-a", "--op", "alltoallv", "--bytes", "2K:", "--format", "csv"]);
        let rows: Vec<Vec<&str>> = found.lines().skip(1).map(|line| line.split(',').collect()).collect();
        // One on each communicator and rank gives more than 1 KiB.
        assert!(rows.len() == 8 && rows.iter().all(|row| row[5..7] == ["1024", "8192"]), "{found}");
        let shown = command(&["--op", "alltoallv", "--bucket", "1K:8K"]);
        assert!(shown.contains("Alltoallv") && shown.contains("1K-8K") && !shown.contains("0-128"), "{shown}");
        let by_rule =
            "SELECT DISTINCT bucket_lo FROM profile WHERE op IN ('MPI_Alltoallv', 'MPI_Gatherv', 'MPI_Ialltoallw')";
        assert_eq!(answer(&path, by_rule), ["0"]);
        let totals = |of: &str| {
            answer(
                &path,
                &format!("SELECT op, sum(calls), sum(bytes_sent), sum(bytes_recv) FROM {of} GROUP BY op ORDER BY op"),
            )
        };
        assert_eq!(totals("profile"), totals("summaries"));
    }
}

#[test]
fn neighbors_beyond_a_border_carry_nothing() {
    for mpi in Mpi::ALL {
        [2, 4, 8].into_iter().for_each(|ranks| holds(mpi, "neighbors", ranks));
    }
}
