//! Orders of ranks that `through traffic --reorder` writes, as launchers take them.

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{Cluster, Job, Kin, Mpi, execute, job_folder, through};
use serde_json::Value;

fn reorder(profile: &Path, words: &[&str]) -> String {
    let done = execute(Command::new(through()).args(["traffic", "--reorder"]).arg(profile).args(words));
    assert!(done.status.success(), "{}", done.stderr);
    done.stdout
}

fn between(answer: &Value, order: &str) -> i64 {
    let orders = answer["orders"].as_array().unwrap();
    orders.iter().find(|row| row["order"] == order).unwrap()["bytes_between"].as_i64().unwrap()
}

#[test]
fn ranks_land_where_the_file_says() {
    let Some(cluster) = Cluster::start(3) else { return };
    for mpi in Mpi::ALL {
        check(mpi, &mpi.to_string(), || cluster.job(mpi, "halo"));
    }
    for kin in Kin::all() {
        check(kin.mpi(), kin.name(), || cluster.job_under(&kin, "halo"));
    }
}

/// A grid of 2 × 3 ranks on three nodes, by default two of a row on each: three pairs of a column are better. What was foretold for these is
/// what the next run sends.
fn check<'a>(mpi: Mpi, name: &str, job: impl Fn() -> Job<'a>) {
    let kind = if mpi == Mpi::OpenMpi { "rankfile" } else { "hydra" };
    let nodes = [("node1", 2), ("node2", 2), ("node3", 2)];
    let job = || job().hosts(&nodes).arguments(&["2,3", "0,0", "3"]);
    let before = job().run().succeeded();
    let json: Value = serde_json::from_str(&reorder(&before.profile_path(), &["--format", "json"])).unwrap();
    assert_eq!((between(&json, "run"), between(&json, "proposed")), (5 * 48_000, 4 * 48_000), "{name}: {json}");
    let folder = job_folder();
    let file = folder.path().join("order");
    fs::write(&file, reorder(&before.profile_path(), &["--write", kind])).unwrap();
    let after = job().ordered(&file).run().succeeded();
    let planned: Vec<&str> =
        json["placement"].as_array().unwrap().iter().map(|place| place["host"].as_str().unwrap()).collect();
    let profile = after.profile();
    let hosts: Vec<&str> = profile.ranks.iter().map(|rank| rank.host.as_str()).collect();
    assert_eq!(hosts, planned, "{name}: {}", fs::read_to_string(&file).unwrap());
    let again: Value = serde_json::from_str(&reorder(&after.profile_path(), &["--format", "json"])).unwrap();
    assert_eq!(between(&again, "run"), between(&json, "proposed"), "{name}");
    assert!(again["verdict"].as_str().unwrap().contains("does not help"), "{again}");
}
