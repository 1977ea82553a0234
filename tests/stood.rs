//! Where every rank stood: jobs that hang, are killed or crash at places that are known.

mod common;

use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use common::{Launch, Mpi};
use commsee::profile::recover;
use commsee::profile::recover::Recovered;
use rusqlite::{Connection, OpenFlags};

/// Rank, label of the communicator (or its name), operation; the last two are empty in the program.
type Stood = (u32, String, String);

fn stood(rank: u32, comm: &str, op: &str) -> Stood {
    (rank, comm.to_owned(), op.to_owned())
}

fn open(profile: &Path) -> Connection {
    Connection::open_with_flags(profile, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("the profile opens")
}

fn all(profile: &Path) -> Vec<Stood> {
    let sql = "SELECT s.rank, coalesce(c.label, c.name, ''), coalesce(o.name, '') FROM standing s \
               LEFT JOIN communicator c ON c.id = s.comm LEFT JOIN operation o ON o.id = s.op ORDER BY s.rank, o.name";
    let db = open(profile);
    let mut statement = db.prepare(sql).expect("the table");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).expect("rows");
    rows.collect::<Result<_, _>>().expect("rows")
}

/// The view has the calls among them, with times that can be.
fn check_view(profile: &Path, stood: &[Stood]) {
    let db = open(profile);
    let sql = "SELECT v.rank, coalesce(c.label, c.name), v.op, v.since_s, v.for_s, r.wall_s FROM running v \
               JOIN communicator c ON c.name = v.comm JOIN ranks r ON r.rank = v.rank ORDER BY v.rank, v.op";
    let mut statement = db.prepare(sql).expect("the view");
    let mut calls = Vec::new();
    let mut rows = statement.query([]).expect("rows");
    while let Some(row) = rows.next().expect("a row") {
        let times = [3, 4, 5].map(|column| row.get::<_, f64>(column).expect("seconds"));
        let [since_s, for_s, wall_s] = times;
        assert!(since_s > 0.0 && for_s >= 0.0 && since_s + for_s <= wall_s + 1e-6, "{times:?}");
        calls.push((row.get(0).unwrap(), row.get(1).unwrap(), row.get(2).unwrap()));
    }
    let expected: Vec<Stood> = stood.iter().filter(|(.., op)| !op.is_empty()).cloned().collect();
    assert_eq!(calls, expected);
}

/// Runs a job that ends badly, and makes a profile of what it left.
fn left_by(mpi: Mpi, how: &str, ranks: usize, check: impl Fn(&Path, &Recovered)) {
    let places = tempfile::tempdir().expect("a temporary folder");
    let launch = Launch::new(mpi, "stands").ranks(ranks).arguments(&[how]);
    let launch = launch.variable("STANDS_DIR", places.path().to_str().expect("a path in UTF-8"));
    // Both launchers know this variable, as seconds.
    let launch = if how == "hangs" { launch.variable("MPIEXEC_TIMEOUT", "15") } else { launch };
    let run = launch.run();
    assert!(!run.status.success(), "{mpi} {how}: {}", run.output());
    let left = (0..300).find_map(|_| {
        let mut found = recover::find(&[run.folder().join("shards")]);
        assert_eq!(found.len(), 1, "{mpi} {how}: shards of one run\n{}", run.output());
        let ended = found.pop().filter(|run| !run.alive);
        ended.or_else(|| {
            thread::sleep(Duration::from_millis(50));
            None
        })
    });
    let left = left.unwrap_or_else(|| panic!("{mpi} {how}: processes outlive their job"));
    let profile = run.profile_path();
    let recovered = recover::recover(&left, &profile).expect("a profile of the shards");
    assert_eq!(recovered.notes, Vec::<String>::new());
    check(&profile, &recovered);
}

#[test]
fn every_rank_is_found_where_it_stood() {
    for mpi in [Mpi::OpenMpi, Mpi::Mpich, Mpi::Standard].into_iter().filter(|mpi| mpi.is_there()) {
        for (how, last) in [
            ("is-killed", stood(3, "", "")),
            ("aborts", stood(3, "", "")),
            ("exits", stood(3, "", "")),
            ("segfaults", stood(3, "", "")),
            ("segfaults-in-callback", stood(3, "S3.0", "MPI_Comm_dup")),
            ("hangs", stood(3, "*", "MPI_Waitall")),
        ] {
            let expected = [stood(0, "W0.0", "MPI_Barrier"), stood(1, "pipes", "MPI_Recv"), stood(2, "", ""), last];
            left_by(mpi, how, 4, |profile, recovered| {
                assert_eq!(all(profile), expected, "{mpi} {how}");
                check_view(profile, &expected);
                assert!(recovered.missing_ranks.is_empty());
            });
        }
    }
}

#[test]
fn a_rank_that_waits_for_the_gathering_stands_in_finalize() {
    for mpi in Mpi::ALL {
        left_by(mpi, "finalizes", 4, |profile, _| {
            assert_eq!(all(profile)[0], stood(0, "W0.0", "MPI_Finalize"), "{mpi}");
        });
    }
}

/// A window stands for the communicator it was made over.
#[test]
fn a_call_over_a_window_stands_on_its_communicator() {
    for mpi in Mpi::ALL {
        left_by(mpi, "fences", 4, |profile, _| {
            assert_eq!(all(profile)[0], stood(0, "pipes", "MPI_Win_fence"), "{mpi}");
        });
    }
}

/// A blocking call made while counting pauses is not looked at: it must not look as if its rank computed.
#[test]
fn while_counting_pauses_nothing_is_known() {
    for mpi in Mpi::ALL {
        left_by(mpi, "pauses", 4, |profile, _| {
            let since: Vec<Option<i64>> = open(profile)
                .prepare("SELECT since_ns FROM standing ORDER BY rank")
                .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
                .expect("the table");
            assert_eq!(since.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false, true], "{mpi}");
        });
    }
}

#[test]
fn threads_stand_each_for_itself() {
    for mpi in Mpi::ALL {
        left_by(mpi, "threads", 2, |profile, _| {
            let expected = [
                stood(0, "W0.0", "MPI_Barrier"),
                stood(0, "pipes", "MPI_Recv"),
                stood(1, "", ""),
                stood(1, "pipes", "MPI_Recv"),
            ];
            assert_eq!(all(profile), expected, "{mpi}");
        });
    }
}

/// A profile of a job that goes on: it says where all ranks are, and the job ends as if nobody had looked.
#[test]
fn a_job_that_goes_on_is_not_disturbed() {
    for mpi in Mpi::ALL {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = folder.path().to_str().expect("a path in UTF-8").to_owned();
        let launch = Launch::new(mpi, "stands").ranks(4).arguments(&["goes-on"]);
        let launch = launch.variable("STANDS_DIR", &place).variable("COMMSEE_DIR", &place);
        let job = thread::spawn(move || launch.run().succeeded());
        let begin = Instant::now();
        while !folder.path().join("at-3").exists() {
            assert!(begin.elapsed() < Duration::from_secs(100) && !job.is_finished(), "{mpi}: nobody gets there");
            thread::sleep(Duration::from_millis(20));
        }
        let looked = (0..2).map(|number| {
            let runs = recover::find(&[folder.path().to_owned()]);
            assert!(runs.len() == 1 && runs[0].alive);
            let profile = folder.path().join(format!("look-{number}.db"));
            recover::recover(&runs[0], &profile).expect("a profile of the shards");
            profile
        });
        let looked: Vec<_> = looked.collect();
        fs::write(folder.path().join("go-0"), "").expect("a file");
        let run = job.join().expect("the job succeeds");
        for profile in looked {
            let expected =
                [stood(0, "W0.0", "MPI_Barrier"), stood(1, "pipes", "MPI_Recv"), stood(2, "", ""), stood(3, "", "")];
            assert_eq!(all(&profile), expected, "{mpi}");
            check_view(&profile, &expected);
            let states: Vec<String> = open(&profile)
                .prepare("SELECT state FROM ranks")
                .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
                .expect("the view");
            assert_eq!(states, ["running"; 4]);
            // All but rank 3 got there a second before it, and still stand there.
            let least: f64 =
                open(&profile).query_row("SELECT min(for_s) FROM running", [], |row| row.get(0)).expect("seconds");
            assert!(least >= 0.9, "{mpi}: {least}");
        }
        let profile = run.profile();
        assert!(profile.ranks.iter().all(|rank| rank.state == "finished"));
        assert_eq!((profile.total("MPI_Recv"), profile.total("MPI_Send")), (1, 1));
        assert!(recover::find(&[folder.path().to_owned()]).is_empty(), "{mpi}: no shard is left");
        assert_eq!(all(&run.profile_path()), []);
    }
}
