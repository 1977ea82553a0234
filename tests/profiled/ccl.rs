//! A made-up hook module that tells what one for NCCL would (`tests/programs/ccl.c`, `training.c`), from the program to the matrix: which process
//! holds which rank of a communicator, and what follows for whom data go to.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use common::{Launch, Mpi, answer, execute, mpi_shared_library, through};
use commsee::profile::recover;
use serde_json::Value;

const RANKS: i64 = 4;

fn training(mpi: Mpi) -> Launch {
    let launch = Launch::new(mpi, "training").ranks(RANKS as usize).preload(mpi_shared_library(mpi, "ccl"));
    launch.variable("COMMSEE_HOOKS", "nccl")
}

fn json(profile: &Path, words: &[&str]) -> Value {
    let mut command = Command::new(through());
    let done = execute(command.args(&words[..1]).arg(profile).args(&words[1..]).args(["--format", "json"]));
    assert!(done.status.success(), "{}", done.stderr);
    serde_json::from_str(&done.stdout).expect("JSON")
}

/// Bytes from rank to rank in one way.
fn cells(document: &Value, how: &str) -> BTreeMap<(i64, i64), i64> {
    let rows = document["matrix"].as_array().unwrap().iter().filter(|row| row["how"] == how);
    let number = |row: &Value, name: &str| row[name].as_i64().unwrap();
    rows.map(|row| ((number(row, "src"), number(row, "dst")), number(row, "bytes"))).collect()
}

fn check(path: &Path) {
    let orders = "SELECT c.comm, c.size, c.ranks, o.ranks FROM communicators c JOIN communicator n ON n.name = c.comm \
                  LEFT JOIN rank_order o ON o.comm = n.id WHERE c.layer = 'nccl' ORDER BY 1";
    let wanted = ["nccl:a0.1|8|0-3|0-3,0-3", "nccl:i0.0|4|0-3|-", "nccl:s3.1|2|2-3|3,2"];
    assert_eq!(answer(path, orders), wanted);

    let matrix = json(path, &["traffic", "--layer", "nccl", "--modelled"]);
    let (mut exact, mut modelled) = (BTreeMap::new(), BTreeMap::new());
    let add = |cells: &mut BTreeMap<(i64, i64), i64>, from: i64, to: i64, bytes: i64| {
        *cells.entry((from, to)).or_default() += bytes;
    };
    for rank in 0..RANKS {
        let next = (rank + 1) % RANKS;
        for other in (0..RANKS).filter(|other| *other != rank) {
            add(&mut exact, rank, other, 3 * 1000);
            // Two ranks here send a block to each of the two ranks there.
            add(&mut exact, rank, other, 2 * 2 * 5);
        }
        // And each of the two here to the other.
        add(&mut exact, rank, rank, 2 * 5);
        if rank != 0 {
            add(&mut exact, rank, 0, 3 * 10);
        }
        add(&mut exact, rank, next, 3 * 1000);
        add(&mut modelled, rank, next, 3 * 2 * 40_000 * (RANKS - 1) / RANKS);
        if next != 1 {
            add(&mut modelled, rank, next, 3 * 1000);
        }
    }
    // Of two ranks each is next to the other, and one the parent of the other.
    for (from, to) in [(3, 2), (2, 3)] {
        add(&mut modelled, from, to, 1000 + 64);
    }
    assert_eq!(cells(&matrix, "exact"), exact);
    assert_eq!(cells(&matrix, "modelled"), modelled);

    let document = json(path, &["-i", "-u"]);
    let rows = document["layer_communicators"].as_array().unwrap();
    let find = |name: &str| rows.iter().find(|row| row["comm"] == name).unwrap();
    let all = find("nccl:i0.0");
    assert_eq!((all["made_by"].as_str(), all["same_ranks"].as_str()), (Some("CommInitRank"), Some("W0.0")));
    // Collectives once for the communicator, sends once for each rank.
    assert_eq!(
        (all["calls"].as_i64(), all["bytes_sent"].as_i64()),
        (Some(3 * (4 + 4)), Some(3 * (160_000 + 16_000 + 1000 + 40 + 4000)))
    );
    assert_eq!(find("nccl:a0.1")["calls"], 1, "both ranks of a process make one operation");
}

#[test]
fn whom_collectives_send_to_is_known_by_the_order_of_ranks() {
    for mpi in Mpi::ALL {
        let run = training(mpi).run().succeeded();
        check(&run.profile_path());
        let document = json(&run.profile_path(), &["-i", "--op", "AllReduce", "--comm", "nccl:i0.0"]);
        let rows = document["layer_operations"].as_array().unwrap();
        let bandwidth = 40_000.0 / 8e-6;
        assert_eq!(rows.len(), 1, "{rows:?}");
        assert!((rows[0]["algbw"].as_f64().unwrap() / bandwidth - 1.0).abs() < 1e-9, "{rows:?}");
        assert!((rows[0]["busbw"].as_f64().unwrap() / (bandwidth * 1.5) - 1.0).abs() < 1e-9, "{rows:?}");
    }
}

/// A profile of shards knows the same as one that was gathered.
#[test]
fn shards_know_the_order_as_well() {
    for mpi in Mpi::ALL {
        let run = training(mpi).variable("COMMSEE_OUT", "/dev/null/nowhere").variable("TRAINING_DIES", "1").run();
        assert!(!run.status.success());
        let path = run.folder().join("recovered.db");
        recover::recover(&run.left_over(), &path).expect("a profile of the shards");
        check(&path);
    }
}

/// What went inside of a node: that of ranks, added up.
#[test]
fn sums_over_nodes_have_what_went_inside() {
    for mpi in Mpi::ALL {
        let run = training(mpi).variable("COMMSEE_DETAIL", "node").run().succeeded();
        let matrix = json(&run.profile_path(), &["traffic", "--layer", "nccl"]);
        let pairs = RANKS * (RANKS - 1);
        let inside = pairs * (3000 + 20) + RANKS * (10 + 3000) + (RANKS - 1) * 30;
        assert_eq!(cells(&matrix, "exact"), BTreeMap::from([((0, 0), inside)]), "{mpi}");
    }
}
