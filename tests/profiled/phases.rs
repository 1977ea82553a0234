//! Parts of a program that it marks by `MPI_Pcontrol`, call by call.

use common::{Launch, Mpi, check, holds, shared_library};
use rusqlite::Connection;

#[test]
fn calls_belong_to_the_phase_they_are_made_in() {
    for mpi in Mpi::ALL {
        [2, 4].into_iter().for_each(|ranks| holds(mpi, "phases", ranks));
    }
}

/// Where the system forbids one way of looking at memory that may not be there, another one is taken.
#[test]
fn names_are_read_where_reading_memory_is_forbidden() {
    for mpi in Mpi::ALL {
        check(&Launch::new(mpi, "phases").preload(shared_library("forbidden")).ranks(2).run().succeeded());
    }
}

#[test]
fn phases_beyond_the_last_number_are_one() {
    for mpi in Mpi::ALL {
        let run = Launch::new(mpi, "phases").ranks(2).arguments(&["many", "300"]).run().succeeded();
        check(&run);
        let said = run.stderr.lines().filter(|line| line.contains("more than 254 phases")).count();
        assert_eq!(said, 2, "once per rank: {}", run.stderr);
    }
}

/// A program that knows no phases has one row per rank, as ever, and its phase is empty.
#[test]
fn a_program_without_phases_has_none() {
    for mpi in Mpi::ALL {
        let run = Launch::new(mpi, "threads").ranks(2).run().succeeded();
        check(&run);
        let db = Connection::open(run.profile_path()).expect("the profile");
        let names: Vec<String> = db
            .prepare("SELECT name FROM phase")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(names, [""]);
        let columns: Vec<String> =
            db.prepare("SELECT * FROM profile").unwrap().column_names().map(str::to_owned).collect();
        assert_eq!(columns.last().map(String::as_str), Some("phase"), "{columns:?}");
    }
}
