//! Two runs of one program over other settings of UCX: `through compare` says which protocol and which transport took the place of which.

use std::process::Command;

use common::{Launch, Mpi, Run, through};
use serde_json::Value;

use crate::ucx::seen;

fn turns(a: &Run, b: &Run) -> Vec<Value> {
    let paths = [a, b].map(Run::profile_path);
    let output =
        Command::new(through()).arg("compare").args(&paths).args(["--format", "json"]).output().expect("through");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    document["turns"].as_array().expect("turns").clone()
}

fn is_turn(turn: &Value, [layer, what, before, after]: [&str; 4]) -> bool {
    turn["layer"] == layer && turn["what"] == what && turn["before"] == before && turn["after"] == after
}

#[test]
fn another_rendezvous_and_another_transport_are_named() {
    for mpi in Mpi::ALL {
        let run = |transports: &str, scheme: &str| {
            let launch: Launch = seen(mpi, "ucx", transports).ranks(2).arguments(&["300000"]);
            launch.variable("UCX_RNDV_SCHEME", scheme).variable("UCX_RNDV_THRESH", "16384").run().succeeded()
        };
        let (get, put) = (run("sysv,cma,self", "get_zcopy"), run("sysv,cma,self", "put_zcopy"));
        let found = turns(&get, &put);
        assert!(
            found.iter().any(|turn| is_turn(turn, ["ucp", "protocol", "rndv-get", "rndv-put"])),
            "{mpi}: {found:?}"
        );
        assert!(found.iter().all(|turn| turn["what"] == "protocol"), "{mpi}: the transports are the same: {found:?}");
        let tcp = run("tcp,self", "get_zcopy");
        let found = turns(&get, &tcp);
        assert!(found.iter().any(|turn| is_turn(turn, ["uct", "transports", "cma, sysv", "tcp"])), "{mpi}: {found:?}");
    }
}
