//! What `through advise` says of programs with one planted fault, and of the same programs without it.

use std::path::Path;
use std::process::Command;

use common::{Launch, Mpi, Run, c_source, execute, library, root};
use rusqlite::Connection;
use serde_json::Value;

/// The fault that a program under `tests/planted/` has, as advice names it.
struct Planted<'a> {
    program: &'a str,
    ranks: usize,
    topic: &'a str,
    comm: Option<&'a str>,
    op: Option<&'a str>,
    /// Who causes it.
    culprits: &'a str,
    /// It is more than `info` on any machine.
    is_loud: bool,
    /// What the profiler is asked to record.
    option: &'a str,
}

fn run(mpi: Mpi, planted: &Planted, word: &str) -> Run {
    let source = root().join("tests/planted").join(planted.program);
    let program = c_source(mpi, &source.with_extension("c"), planted.program);
    let launch = Launch::of(mpi, program).preload(library()).ranks(planted.ranks).arguments(&[word]);
    match planted.option {
        "" => launch.run().succeeded(),
        option => launch.variable(option, "1").run().succeeded(),
    }
}

/// What is found, after a look at what must hold of every finding.
fn findings(run: &Run) -> Vec<Value> {
    let profile = run.profile_path();
    let done = execute(Command::new(common::through()).arg("advise").arg(&profile).args(["--format", "json"]));
    let document: Value =
        serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}{}", done.stdout, done.stderr));
    let findings = document["findings"].as_array().expect("findings").clone();
    assert_eq!(done.status.code(), Some(0), "{document}");
    let gains: Vec<f64> = findings.iter().filter_map(|finding| finding["gain_s"].as_f64()).collect();
    assert!(gains.is_sorted_by(|a, b| a >= b), "{document}");
    assert!(findings.iter().filter_map(|finding| finding["gain_share"].as_f64()).sum::<f64>() <= 1.0, "{document}");
    let db = Connection::open(&profile).expect("the profile");
    for finding in &findings {
        for evidence in finding["evidence"].as_array().expect("evidence") {
            let sql = evidence["sql"].as_str().expect("a query");
            let value: f64 = db.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"));
            let told = evidence["value"].as_f64().expect("a value");
            assert!((value - told).abs() <= 1e-9 * told.abs(), "{sql} gives {value}: {finding}");
        }
        for text in ["title", "text", "command"] {
            assert!(!finding[text].as_str().expect("a text").contains(['{', '}']), "{finding}");
        }
        let words = finding["command"].as_str().expect("a command").strip_prefix("through ").expect("of through");
        let words = words.split(' ').map(|word| word.trim_matches('\''));
        let shown = execute(Command::new(common::through()).args(words).current_dir(run.folder()));
        assert!(shown.status.success(), "{finding}: {}", shown.stderr);
    }
    findings
}

/// Of so many runs one must tell of the fault, and its twin of nothing: what other programs do to a busy machine is told as well, is true, and
/// differs from run to run. What is counted does not.
const RUNS: usize = 5;

#[track_caller]
fn is_told(planted: &Planted) {
    for mpi in Mpi::ALL {
        let mut amiss = Vec::new();
        while let Err(why) = alone_is_told(mpi, planted) {
            amiss.push(why);
            assert!(amiss.len() < RUNS, "{mpi}: {}", amiss.join("\n"));
        }
    }
}

/// Or what was told.
fn alone_is_told(mpi: Mpi, planted: &Planted) -> Result<(), String> {
    let found = findings(&run(mpi, planted, "planted"));
    let names = |finding: &&Value| {
        finding["topic"] == planted.topic
            && finding["comm"].as_str() == planted.comm
            && finding["op"].as_str() == planted.op
            && finding["ranks"] == planted.culprits
            && (!planted.is_loud || matches!(finding["level"].as_str(), Some("warn" | "high")))
    };
    let finding = found.iter().find(names).ok_or_else(|| format!("with the fault: {found:#?}"))?;
    let healthy = findings(&run(mpi, planted, "healthy"));
    // On a busy machine any rank may be late, which is no fault that costs as much.
    let cost = |it: &Value| it["gain_s"].as_f64().unwrap_or_default();
    let is_late = planted.topic.starts_with("late-") || planted.topic == "changing-late-rank";
    let is_wait = |it: &Value| it["topic"].as_str().is_some_and(|topic| topic.starts_with("late-"));
    let is_little = |it: &Value| is_wait(it) && cost(it) < cost(finding) / 2.0;
    // Where others take the processors in every call.
    let is_of_machine = |it: &Value| it["topic"] == "changing-late-rank" || is_little(it);
    let is_quiet = healthy.iter().all(|it| it["level"] == "info" || it["level"].is_null() || is_of_machine(it));
    let is_mended = is_late || healthy.iter().all(|it| it["topic"] != planted.topic);
    if is_quiet && is_mended { Ok(()) } else { Err(format!("without the fault: {healthy:#?}")) }
}

const SOMEWHERE: Planted = Planted {
    program: "",
    ranks: 4,
    topic: "",
    comm: Some("W0.0"),
    op: None,
    culprits: "",
    is_loud: false,
    option: "",
};

#[test]
fn a_late_rank_of_a_row() {
    is_told(&Planted {
        program: "late_row",
        ranks: 6,
        topic: "late-rank",
        comm: Some("s3.1"),
        op: Some("MPI_Allreduce"),
        culprits: "5",
        is_loud: true,
        ..SOMEWHERE
    });
}

#[test]
fn another_late_rank_each_time() {
    let op = Some("MPI_Allreduce");
    is_told(&Planted { program: "late_in_turn", topic: "changing-late-rank", op, is_loud: true, ..SOMEWHERE });
}

#[test]
fn a_rank_that_works_longer() {
    is_told(&Planted {
        program: "imbalance",
        topic: "load-imbalance",
        comm: None,
        culprits: "2",
        is_loud: true,
        ..SOMEWHERE
    });
}

#[test]
fn a_needless_barrier() {
    is_told(&Planted { program: "barrier", topic: "needless-barrier", op: Some("MPI_Barrier"), ..SOMEWHERE });
}

#[test]
fn small_messages() {
    is_told(&Planted { program: "small_messages", topic: "small-messages", op: Some("MPI_Isend"), ..SOMEWHERE });
}

#[test]
fn fragmented_collectives() {
    is_told(&Planted { program: "fragments", topic: "fragmented-collectives", op: Some("MPI_Allreduce"), ..SOMEWHERE });
}

#[test]
fn communicators_that_nobody_frees() {
    let op = Some("MPI_Comm_dup");
    is_told(&Planted { program: "leak", topic: "communicator-leak", op, is_loud: true, ..SOMEWHERE });
}

#[test]
fn communicators_that_are_made_anew() {
    is_told(&Planted { program: "churn", topic: "communicator-churn", op: Some("MPI_Comm_split"), ..SOMEWHERE });
}

#[test]
fn communicators_that_nobody_uses() {
    let op = Some("MPI_Comm_dup");
    is_told(&Planted { program: "unused", topic: "unused-communicators", op, is_loud: true, ..SOMEWHERE });
}

#[test]
fn polling() {
    is_told(&Planted { program: "polling", topic: "polling", op: Some("MPI_Test"), ..SOMEWHERE });
}

#[test]
fn a_root_that_all_send_to() {
    is_told(&Planted { program: "funnel", topic: "root-funnel", culprits: "0", ..SOMEWHERE });
}

#[test]
fn a_gather_and_a_broadcast() {
    is_told(&Planted {
        program: "gather_bcast",
        topic: "gather-bcast",
        comm: Some("d0.1"),
        op: Some("MPI_Gather"),
        culprits: "0",
        ..SOMEWHERE
    });
}

#[test]
fn a_gather_of_several_sizes_and_a_broadcast() {
    is_told(&Planted {
        program: "gatherv_bcast",
        topic: "gather-bcast",
        comm: Some("d0.1"),
        op: Some("MPI_Gatherv"),
        culprits: "0",
        ..SOMEWHERE
    });
}

#[test]
fn uneven_bytes() {
    is_told(&Planted {
        program: "uneven",
        topic: "uneven-bytes",
        op: Some("MPI_Alltoallv"),
        culprits: "1",
        ..SOMEWHERE
    });
}

#[test]
fn a_late_sender() {
    is_told(&Planted {
        program: "late_sender",
        topic: "late-sender",
        op: Some("MPI_Recv"),
        culprits: "1",
        is_loud: true,
        option: "COMMSEE_TRACE",
        ..SOMEWHERE
    });
}

#[test]
fn ranks_that_work_one_after_the_other() {
    is_told(&Planted {
        program: "chain",
        topic: "serial-chain",
        op: Some("MPI_Recv"),
        culprits: "0-3",
        is_loud: true,
        option: "COMMSEE_TRACE",
        ..SOMEWHERE
    });
}

#[test]
fn data_with_gaps() {
    is_told(&Planted {
        program: "strided",
        topic: "non-contiguous-data",
        op: Some("MPI_Sendrecv"),
        option: "COMMSEE_DATATYPES",
        ..SOMEWHERE
    });
}

#[test]
fn tiny_one_sided_accesses() {
    is_told(&Planted { program: "tiny_puts", topic: "tiny-one-sided", op: Some("MPI_Put"), ..SOMEWHERE });
}

#[test]
fn tiny_file_accesses() {
    let op = Some("MPI_File_write_at");
    is_told(&Planted { program: "tiny_writes", topic: "tiny-file-accesses", op, ..SOMEWHERE });
}

#[test]
fn a_late_root() {
    is_told(&Planted {
        program: "late_root",
        topic: "late-root",
        op: Some("MPI_Bcast"),
        culprits: "1",
        is_loud: true,
        option: "COMMSEE_TRACE",
        ..SOMEWHERE
    });
}

/// The receive was posted long ago, and the receiver works before it waits for it.
#[test]
fn a_late_receiver() {
    is_told(&Planted {
        program: "late_receiver",
        ranks: 2,
        topic: "late-receiver",
        op: Some("MPI_Send"),
        culprits: "1",
        is_loud: true,
        option: "COMMSEE_TRACE",
        ..SOMEWHERE
    });
}

/// Without a timeline counters show that sends of one size wait, and what to record.
#[test]
#[ignore = "heavy: on busy cores no send may find its receiver there"]
fn sends_that_wait() {
    is_told(&Planted { program: "waiting_sends", ranks: 2, topic: "waiting-sends", op: Some("MPI_Send"), ..SOMEWHERE });
}

#[test]
fn a_late_rank_at_a_fence() {
    is_told(&Planted {
        program: "late_fence",
        topic: "late-epoch",
        op: Some("MPI_Win_fence"),
        culprits: "2",
        is_loud: true,
        ..SOMEWHERE
    });
}

#[test]
fn accesses_that_are_flushed_one_by_one() {
    is_told(&Planted { program: "flushes", topic: "flush-per-access", op: Some("MPI_Put"), ..SOMEWHERE });
}

#[test]
fn a_root_that_sends_to_all_by_hand() {
    is_told(&Planted { program: "one_to_all", topic: "one-to-all", culprits: "0", ..SOMEWHERE });
}

#[test]
fn ranks_that_wait_in_a_ring() {
    is_told(&Planted {
        program: "token_ring",
        topic: "waiting-ring",
        op: Some("MPI_Recv"),
        culprits: "0-3",
        is_loud: true,
        option: "COMMSEE_TRACE",
        ..SOMEWHERE
    });
}

/// In MPICH the target does what others ask for in its next call. In Open MPI nobody waits for it.
#[test]
fn a_target_that_is_not_in_mpi() {
    let found = findings(&run(Mpi::Mpich, &Planted { program: "slow_target", ..SOMEWHERE }, "planted"));
    let names = |finding: &Value| finding["topic"] == "waiting-flush" && finding["ranks"] == "0";
    assert!(found.iter().any(names), "{found:#?}");
}

/// All ranks do the same work, but rank 0's processor is taken by others: no rank is said to work longer, and the ledger says who ran.
#[test]
fn a_rank_whose_processor_others_take() {
    for mpi in Mpi::ALL {
        let done = run(mpi, &Planted { program: "stolen", ranks: 2, ..SOMEWHERE }, "planted");
        let found = findings(&done);
        let db = Connection::open(done.profile_path()).expect("the profile");
        let sql = "SELECT wall_s, mpi_s, ran_s, ready_s, work_s FROM ranks WHERE rank = 0";
        let [wall_s, mpi_s, ran_s, ready_s, work_s] = db
            .query_row(sql, [], |row| Ok([0, 1, 2, 3, 4].map(|at| row.get::<_, f64>(at).expect("a number"))))
            .expect("rank 0");
        // A rank that waits 1 s for a processor makes the other wait as long, which gains 0.5 s if work is spread.
        let blames = |finding: &Value| {
            finding["ranks"] == "0" && finding["gain_s"].as_f64().is_some_and(|gain_s| gain_s > ready_s / 4.0)
        };
        assert!(!found.iter().any(blames), "{mpi}: {found:#?}");
        // It is one of four on its processor, and works for half a second.
        assert!(ready_s > 0.5 && ran_s > 0.49 && ran_s + ready_s <= wall_s * 1.01, "{mpi}: {ran_s} {ready_s} {wall_s}");
        assert!(work_s > 0.4 && work_s < wall_s - mpi_s - 0.4, "{mpi}: {work_s} of {wall_s}, {mpi_s} in MPI");
    }
}

/// Ranks 0 and 1 wait for the second row, in which rank 3 waits for rank 2.
#[test]
fn the_root_of_a_chain_comes_first() {
    let is_chained = |mpi| {
        let found = findings(&run(mpi, &Planted { program: "chained", ..SOMEWHERE }, "planted"));
        let root = found[0]["title"].as_str().expect("a title");
        let is_root = root.starts_with("Rank 2 works ") && root.contains(" longer than the others of s2.1 \"row\"");
        let is_victim =
            |it: &Value| it["comm"] == "W0.0" && it["op"] == "MPI_Barrier" && it["cause"] == found[0]["title"];
        (is_root && found[0]["level"] == "high" && found[1..].iter().any(is_victim), found)
    };
    for mpi in Mpi::ALL {
        let told: Vec<_> = (0..RUNS).map(|_| is_chained(mpi)).take_while(|(is_told, _)| !is_told).collect();
        assert!(told.len() < RUNS, "{mpi}: {told:#?}");
    }
}

/// What the tutorial finds (`docs/tutorial/first-finding.md`), and that it is gone when the clouds are spread.
#[test]
fn the_tutorial_finds_the_rank_below_the_clouds() {
    for mpi in Mpi::ALL {
        let program = c_source(mpi, &root().join("examples/clouds.c"), "clouds");
        let told: Vec<_> = (0..RUNS).map_while(|_| clouds_are_found(mpi, &program).err()).collect();
        assert!(told.len() < RUNS, "{mpi}: {told:#?}");
    }
}

/// Or what was told.
fn clouds_are_found(mpi: Mpi, program: &Path) -> Result<(), Vec<Value>> {
    let launch = || Launch::of(mpi, program.to_owned()).preload(library()).ranks(4);
    let found = findings(&launch().run().succeeded());
    let is_of_row = |finding: &Value| finding["comm"] == "s2.1" && finding["ranks"] == "2";
    let is_root = |finding: &Value| finding["title"].as_str().is_some_and(|title| title.starts_with("Rank 2 works "));
    if !found.first().is_some_and(|first| is_of_row(first) && is_root(first)) {
        return Err(found);
    }
    let mended = findings(&launch().arguments(&["spread"]).run().succeeded());
    let cost = |found: &[Value]| {
        let of_row = found.iter().filter(|finding| is_of_row(finding));
        of_row.filter_map(|finding| finding["gain_s"].as_f64()).sum::<f64>()
    };
    if cost(&mended) < cost(&found) / 2.0 { Ok(()) } else { Err(mended) }
}
