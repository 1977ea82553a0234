//! What layers do counts at the line of the program that asked for it.

use std::process::Command;

use serde_json::Value;

use crate::{gpu, nccl, ucx};
use common::{Mpi, Run, answer, execute, source, through};

/// What is done for a call counts at the line that made it, whoever completes it.
#[test]
fn transfers_belong_to_the_lines_of_their_calls() {
    for (mpi, transports) in ucx::combinations() {
        let of = format!("{mpi} {transports}");
        for frames in ["1", "4"] {
            let launch = ucx::seen(mpi, "ucx", transports).ranks(3).arguments(&["300000"]);
            let run = launch.variable("COMMSEE_SITES", frames).run().succeeded();
            run.profile();
            let path = &run.profile_path();
            ucx::messages_agree(path, &of);
            for (layer, ops, bytes) in [("ucp", ucx::P2P_SENDS, "sent"), ("ucp-rx", ucx::P2P_RECEIVES, "recv")] {
                let asked = format!(
                    "SELECT comm, op, id, sum(calls), sum(bytes_{bytes}) FROM call_sites WHERE op IN {ops} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
                );
                let done = format!(
                    "SELECT c.name, o.name, x.site, sum(x.calls), sum(x.bytes) FROM transfer x JOIN communicator c ON c.id = x.comm \
                     JOIN operation o ON o.id = x.op JOIN way w ON w.id = x.way WHERE w.layer = '{layer}' AND o.name IN {ops} \
                     GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
                );
                let (asked, done) = (answer(path, &asked), answer(path, &done));
                assert!(asked.len() >= 4, "{of} {frames}: {asked:?}");
                assert_eq!(done, asked, "{of} {frames}");
            }
            let lost = "SELECT count(*) * 1.0 FROM transfer WHERE (op <> 65535) <> (site > 0)";
            assert_eq!(ucx::number(path, lost), 0.0, "{of} {frames}");
        }
        let run = ucx::seen(mpi, "ucx", transports).arguments(&["300000"]).run().succeeded();
        assert_eq!(ucx::number(&run.profile_path(), "SELECT max(site) * 1.0 FROM transfer"), 0.0, "{of}");
    }
}

/// Outside of MPI's calls it is the line that had the copy made, and not the library that made it.
#[test]
fn copies_count_at_the_line_that_asked_for_them() {
    for mpi in Mpi::ALL {
        let launch = gpu::launch(mpi).variable("COMMSEE_SITES", "1").variable("COMMSEE_PASS_OVER", "standin_cupti.so");
        let run = gpu::counted(launch).run().succeeded();
        let rows = by_line(&run, "copies");
        let is_of_mpi = |line: &String| line.contains("MPI_Comm_free");
        assert!(rows.len() > 3 && rows.iter().any(|(line, _)| is_of_mpi(line)), "{mpi}: {rows:?}");
        assert!(rows.iter().all(|(line, _)| line.contains("standin_") || is_of_mpi(line)), "{mpi}: {rows:?}");
    }
}

/// As MPI's calls: each at a line of the program that makes it.
#[test]
fn calls_of_a_layer_count_at_the_line_that_made_them() {
    let Some(launch) = nccl::over_oneccl(Mpi::Mpich, 2) else { return };
    let run = nccl::counted(launch).variable("COMMSEE_SITES", "1").run().succeeded();
    let rows = by_line(&run, "oneccl");
    let is_there = |(line, row): &(String, Value)| {
        let function = row["function"].as_str().and_then(|name| name.strip_prefix("oneccl")).expect("a function");
        line.contains(&format!("CCL({function})("))
    };
    assert!(rows.len() > 20 && rows.iter().all(is_there), "{rows:?}");
}

/// The rows of `layers --by site`, each with the source of its line in the program of that name.
fn by_line(run: &Run, program: &str) -> Vec<(String, Value)> {
    let mut command = Command::new(through());
    command.args(["layers", "--by", "site", "--top", "0", "--format", "json"]).arg(run.profile_path());
    let told = execute(&mut command);
    let document: Value = serde_json::from_str(&told.stdout).expect("JSON");
    let text = std::fs::read_to_string(source(program)).expect("the program");
    let of_line = |row: &Value| {
        let site = row["site"].as_str().unwrap_or_else(|| panic!("{row}"));
        let line = site.strip_prefix(&format!("{program}.c:")).and_then(|line| line.parse::<usize>().ok());
        let line = line.unwrap_or_else(|| panic!("{row}"));
        (text.lines().nth(line - 1).expect("a line").trim().to_owned(), row.clone())
    };
    document["contributors"].as_array().expect("contributors").iter().map(of_line).collect()
}
