//! Runs of one program with and without a change: what `through compare` says of calls and bytes, and which communicators it takes for the same.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use common::{Launch, Mpi, through};
use serde_json::Value;

fn diff(a: &Path, b: &Path) -> Value {
    let output =
        Command::new(through()).arg("compare").args([a, b]).args(["--format", "json"]).output().expect("through");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// What is counted otherwise: communicator, operation, reason, calls and bytes on both sides.
fn counted(document: &Value) -> BTreeSet<String> {
    let rows = document["changes"].as_array().expect("changes").iter();
    let is_counted = |row: &&Value| row["calls_a"] != row["calls_b"] || row["bytes_a"] != row["bytes_b"];
    let word = |row: &Value, key: &str| row[key].to_string();
    let words = ["comm", "op", "reason", "calls_a", "calls_b", "bytes_a", "bytes_b"];
    rows.filter(is_counted).map(|row| words.map(|key| word(row, key)).join(" ").replace('"', "")).collect()
}

#[test]
fn a_change_is_named_and_nothing_else() {
    for mpi in Mpi::ALL {
        let run = |change: &[&str]| Launch::new(mpi, "changed").ranks(4).arguments(change).run().succeeded();
        let (before, again) = (run(&[]), run(&[]));
        let (calls, size) = (run(&["calls"]), run(&["size"]));
        let against = |other: &common::Run| counted(&diff(&before.profile_path(), &other.profile_path()));
        assert_eq!(against(&again), BTreeSet::new(), "{mpi}");
        let two = |words: [&str; 2]| words.map(str::to_owned).into_iter().collect::<BTreeSet<_>>();
        // Of both members of each row, of four bytes in and out; of both members of each column.
        let rows = ["s0.2", "s2.2"].map(|row| format!("{row} MPI_Allreduce more calls 20 40 320 640"));
        assert_eq!(against(&calls), two([&rows[0], &rows[1]]), "{mpi}");
        let columns = ["s0.3", "s1.3"].map(|column| format!("{column} MPI_Sendrecv bigger 40 40 327680 655360"));
        assert_eq!(against(&size), two([&columns[0], &columns[1]]), "{mpi}");
    }
}

#[test]
fn all_communicators_are_matched_on_twice_as_many_ranks() {
    for mpi in Mpi::ALL {
        let run = |ranks| Launch::new(mpi, "changed").ranks(ranks).run().succeeded();
        let (few, many) = (run(4), run(8));
        let document = diff(&few.profile_path(), &many.profile_path());
        let matches = document["matches"].as_array().expect("matches");
        let unmatched: Vec<&Value> = matches.iter().filter(|row| row["matched_by"].is_null()).collect();
        assert!(unmatched.is_empty() && matches.len() >= 4, "{mpi}: {matches:?}");
        for (comm, few, many) in [("s0.2", 2, 2), ("s0.3", 2, 4)] {
            let row = matches.iter().find(|row| row["comm_a"] == comm).expect(comm);
            assert_eq!(
                (&row["comm_b"], &row["comms_a"], &row["comms_b"]),
                (&comm.into(), &few.into(), &many.into()),
                "{mpi}"
            );
        }
    }
}
