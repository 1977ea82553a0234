//! How much of a run a profile keeps, and how it gets to rank 0.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use common::{Launch, Mpi, check, mpi_shared_library};
use commsee::profile::recover;
use rusqlite::Connection;

/// Sums by communicator, operation, bucket and phase.
type Sums = BTreeMap<Group, [i64; 6]>;

type Group = (String, String, i64, Option<String>);

fn sums(db: &Connection) -> Sums {
    let mut query = db
        .prepare(
            "SELECT comm, op, bucket_lo, phase, ranks, calls, calls_max, failed, bytes_sent, bytes_recv FROM summaries",
        )
        .expect("the view");
    let rows = query.query_map([], |row| {
        let key: Group = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        Ok((key, [row.get(4)?, row.get(5)?, row.get(6)?, row.get(7)?, row.get(8)?, row.get(9)?]))
    });
    // How often a program asks before a message is there differs from run to run.
    rows.unwrap().map(Result::unwrap).filter(|((_, op, ..), _)| !op.contains("Test") && !op.contains("robe")).collect()
}

#[test]
fn sums_do_not_depend_on_the_detail() {
    for mpi in Mpi::ALL {
        let mut known: Option<Sums> = None;
        for detail in ["auto", "rank", "node", "comm"] {
            let run = Launch::new(mpi, "phases").ranks(4).variable("COMMSEE_DETAIL", detail).run().succeeded();
            let db = Connection::open(run.profile_path()).expect("the profile");
            let stored: String =
                db.query_row("SELECT value FROM meta WHERE key = 'detail'", [], |row| row.get(0)).unwrap();
            assert_eq!(stored, if detail == "auto" { "rank" } else { detail });
            if stored == "rank" {
                check(&run);
                over_phases(&db);
            }
            let ranks: Vec<Option<i64>> = db
                .prepare("SELECT DISTINCT rank FROM profile ORDER BY rank")
                .unwrap()
                .query_map([], |row| row.get(0))
                .unwrap()
                .map(Result::unwrap)
                .collect();
            match stored.as_str() {
                "rank" => assert_eq!(ranks, [Some(0), Some(1), Some(2), Some(3)]),
                "node" => assert_eq!(ranks, [Some(0)], "all ranks of this host"),
                _ => assert_eq!(ranks, [None]),
            }
            let found = sums(&db);
            assert_eq!(known.get_or_insert(found.clone()), &found, "{mpi} {detail}");
        }
    }
}

/// The rows over all phases say what the ranks did in all of them together.
fn over_phases(db: &Connection) {
    let wrong: i64 = db
        .query_row(
            "SELECT count(*) FROM summary s JOIN (SELECT comm, op, bucket, count(*) AS ranks, sum(calls) AS calls, \
             max(calls) AS calls_max, sum(time_ns) AS time_ns, min(time_ns) AS rank_min_ns, max(time_ns) AS rank_max_ns, \
             min(time_min_ns) AS time_min_ns, max(time_max_ns) AS time_max_ns FROM (SELECT comm, op, bucket, rank, sum(calls) AS calls, \
             sum(time_ns) AS time_ns, min(time_min_ns) AS time_min_ns, max(time_max_ns) AS time_max_ns FROM cells \
             GROUP BY comm, op, bucket, rank) GROUP BY comm, op, bucket) x USING (comm, op, bucket) WHERE s.phase IS NULL AND \
             (s.ranks, s.calls, s.calls_max, s.time_ns, s.rank_min_ns, s.rank_max_ns, s.time_min_ns, s.time_max_ns) IS NOT \
             (x.ranks, x.calls, x.calls_max, x.time_ns, x.rank_min_ns, x.rank_max_ns, x.time_min_ns, x.time_max_ns)",
            [],
            |row| row.get(0),
        )
        .expect("the query");
    assert_eq!(wrong, 0);
    let (all, groups): (i64, i64) = db
        .query_row(
            "SELECT (SELECT count(*) FROM summary WHERE phase IS NULL), (SELECT count(*) FROM (SELECT DISTINCT comm, op, bucket FROM cells))",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .expect("the query");
    assert_eq!(all, groups);
}

#[test]
fn a_wrong_word_is_said_and_passed_over() {
    let run = Launch::new(Mpi::Mpich, "threads").ranks(2).variable("COMMSEE_DETAIL", "ranks").run().succeeded();
    check(&run);
    assert!(run.stderr.contains("COMMSEE_DETAIL=ranks is not rank, node, comm or auto"), "{}", run.stderr);
}

/// Rank 0 hears from log2(ranks) others: from each its extent and, here, one chunk with its size.
#[test]
fn rank_0_receives_few_messages() {
    for mpi in Mpi::ALL {
        for (ranks, children) in [(1, 0), (2, 1), (5, 3), (8, 3), (16, 4)] {
            let places = tempfile::tempdir().expect("a folder");
            let folder = places.path().to_str().expect("UTF-8");
            let launch = Launch::new(mpi, "steady").ranks(ranks).preload(mpi_shared_library(mpi, "received"));
            let run = launch.variable("RECEIVED_DIR", folder).run().succeeded();
            let db = Connection::open(run.profile_path()).expect("the profile");
            assert_eq!(
                db.query_row("SELECT count(*) FROM ranks", [], |row| row.get::<_, u32>(0)).unwrap(),
                ranks as u32
            );
            let messages = fs::read_to_string(places.path().join("0")).unwrap_or_else(|_| "0 0".to_owned());
            assert_eq!(
                messages.split(' ').next(),
                Some((3 * children).to_string().as_str()),
                "{mpi} {ranks}: {messages}"
            );
        }
    }
}

/// A process does not get what all are told (its second message or third) or the data that its child sends (the fourth and later): the profile
/// is not taken for whole, and no shard removed.
#[test]
fn what_did_not_arrive_is_missed() {
    for (mpi, failing) in
        Mpi::ALL.into_iter().flat_map(|mpi| ["2.2", "4.3", "0.5", "2.4", "4.5"].map(|failing| (mpi, failing)))
    {
        let launch = Launch::new(mpi, "steady").ranks(8).preload(mpi_shared_library(mpi, "received"));
        let run = launch.variable("RECEIVED_FAILS", failing).run().succeeded();
        assert!(run.stderr.contains("`through recover`"), "{mpi} {failing}: {}", run.stderr);
        let mut left = recover::find(&[run.folder().join("shards")]);
        assert_eq!(left.len(), 1, "{mpi} {failing}: {}", run.stderr);
        let whole = recover::recover(&left.remove(0), &run.folder().join("whole.db")).expect("a profile of the shards");
        assert!(whole.missing_ranks.is_empty() && whole.notes.is_empty(), "{:?}", whole.notes);
        let members = |path: &Path| {
            let db = Connection::open(path).expect("a profile");
            let sql = "SELECT ranks FROM communicators WHERE comm = 'W0.0'";
            db.query_row(sql, [], |row| row.get::<_, String>(0)).expect("the world")
        };
        assert_eq!(members(&whole.path), "0-7");
        assert_ne!(members(&run.profile_path()), "0-7", "{mpi} {failing}: something is missing");
    }
}

/// Where ranks share a processor, a library that spins in each blocking call spends a time slice in each.
#[test]
fn what_comes_in_parts_is_sent_at_once() {
    for mpi in Mpi::ALL {
        let places = tempfile::tempdir().expect("a folder");
        let folder = places.path().to_str().expect("UTF-8");
        let launch =
            Launch::new(mpi, "churn").arguments(&["10000", "0", "own"]).preload(mpi_shared_library(mpi, "received"));
        check(&launch.variable("RECEIVED_DIR", folder).run().succeeded());
        let told = fs::read_to_string(places.path().join("1")).expect("what rank 1 did");
        assert_eq!(told.trim().split(' ').next_back(), Some("0"), "{mpi}: {told}");
    }
}

/// The first chunk of rank 1 arrives, with all that is asked of a rank first, and the second does not.
#[test]
fn what_arrived_in_part_is_missed() {
    for mpi in Mpi::ALL {
        let launch =
            Launch::new(mpi, "churn").arguments(&["10000", "0", "own"]).preload(mpi_shared_library(mpi, "received"));
        let run = launch.variable("RECEIVED_FAILS", "0.5").run().succeeded();
        assert!(run.stderr.contains("were cut off on the way to rank 0"), "{mpi}: {}", run.stderr);
        assert_eq!(recover::find(&[run.folder().join("shards")]).len(), 1, "{mpi}: {}", run.stderr);
    }
}
