//! Patterns that programs on Cartesian communicators make, as `through traffic --patterns` names them.

use std::process::Command;

use common::{Launch, Mpi, execute, through};
use serde_json::{Value, json};

/// Dimensions, periods, whether rank 0 sends to the last one at the end, and what that makes.
fn grids() -> [(&'static str, &'static str, bool, Value); 4] {
    let halo = |dims: &str, periods: &str, unexpected: u8| json!(["halo", dims, periods, unexpected, 0]);
    [
        ("3,4", "0,1", false, halo("3x4", "0,1", 0)),
        ("3,5", "0,0", true, halo("3x5", "0,0", 1)),
        ("2,3,3", "0,0,1", false, halo("2x3x3", "0,0,1", 0)),
        ("7", "1", false, json!(["ring", null, null, 0, 0])),
    ]
}

#[test]
fn halos_of_cartesian_communicators_are_recognised() {
    for mpi in Mpi::ALL {
        for (dims, periods, has_stray, expected) in grids() {
            let ranks = dims.split(',').map(|dim| dim.parse::<usize>().unwrap()).product();
            let mut arguments = vec![dims, periods, "2"];
            arguments.extend(has_stray.then_some("stray"));
            let run = Launch::new(mpi, "halo").ranks(ranks).arguments(&arguments).run().succeeded();
            run.profile();
            let mut command = Command::new(through());
            command.args(["traffic", "--patterns"]).arg(run.profile_path()).args(["--format", "json"]);
            let said: Value = serde_json::from_str(&execute(&mut command).stdout).unwrap();
            let found = &said["patterns"][0];
            assert_eq!((&found["comm"], said["patterns"].as_array().unwrap().len()), (&json!("a0.1"), 1));
            let columns = ["pattern", "dims", "periodic", "unexpected", "missing"].map(|column| found[column].clone());
            assert_eq!(json!(columns), expected, "{mpi}: {said}");
        }
    }
}
