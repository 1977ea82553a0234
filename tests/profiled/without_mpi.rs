//! Programs without MPI, over oneCCL on processors: what a hook module sees becomes a profile, by whatever the ranks were told who they are. And what is
//! counted before `MPI_Init` is part of the profile that MPI makes.

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Done, Launch, Mpi, Program, answer, execute, fetched, hook, library, skip, through};

fn oneccl() -> Option<PathBuf> {
    let folder = fetched("COMMSEE_GPU_LIBRARIES").map(|folder| folder.join("oneccl")).filter(|folder| folder.is_dir());
    if folder.is_none() {
        skip("oneCCL (its wheel cannot be had here)");
    }
    folder
}

/// Linked to oneCCL, and to MPI where it asks for that.
fn program(mpi: Mpi, name: &'static str, oneccl: &Path) -> PathBuf {
    let path = oneccl.join("libccl.so.2").display().to_string();
    Program { name, link: vec![path, format!("-Wl,-rpath,{}", oneccl.display())] }.compiled(mpi)
}

/// So that threads that wait leave the processor to others.
const ONECCL: [(&str, &str); 4] = [
    ("CCL_PLUGIN", "ONECCL_LEGACY_CPU"),
    ("CCL_YIELD", "sched_yield"),
    ("CCL_LOG_LEVEL", "error"),
    ("CCL_ATL_TRANSPORT", "ofi"),
];

fn under_launcher(mpi: Mpi, name: &'static str, oneccl: &Path, ranks: usize) -> Launch {
    let launch = Launch::of(mpi, program(mpi, name, oneccl)).ranks(ranks).preload(library()).preload(hook("nccl"));
    let launch = launch.variable("COMMSEE_HOOKS", "nccl").variable("LD_LIBRARY_PATH", &oneccl.display().to_string());
    ONECCL.iter().fold(launch, |launch, (name, value)| launch.variable(name, value))
}

/// Under `through run`, in a folder of its own.
fn run_by_shell(folder: &Path, oneccl: &Path, script: &str) -> Done {
    let program = program(Mpi::ALL[0], "without_mpi", oneccl);
    let mut command = Command::new(through());
    command.args(["run", "--hooks", "nccl", "-o", "run.db", "--", "sh", "-c"]).arg(script).current_dir(folder);
    command.envs(ONECCL).env("LD_LIBRARY_PATH", oneccl).env("PROGRAM", program).env("COMMSEE_LOG", "info");
    for name in ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"] {
        command.env_remove(name);
    }
    execute(&mut command)
}

const ROWS: &str = "SELECT comm, layer_comm, op, function, src, calls, bytes FROM transfers ORDER BY src, function";

/// What the ranks of `without_mpi.c` do: communicator of MPI and of oneCCL, operation of MPI, function, rank, calls, bytes.
fn told(ranks: usize) -> Vec<String> {
    let of = |rank: usize| {
        let sent = if rank == 0 { 80 } else { 0 };
        let row = |function: &str, comm: &str, calls: u64, bytes: u64| {
            format!("{comm}|{comm}|-|oneccl{function}|{rank}|{calls}|{bytes}")
        };
        let all = "oneccl:i0.0";
        let mut rows = vec![
            row("AllReduce", all, 3, 24_000),
            row("Broadcast", all, 1, sent),
            row("CommDestroy", all, 1, 0),
            row("CommInitRank", all, 1, 0),
        ];
        if rank == 0 {
            rows.push(row("GetUniqueId", "-", 1, 0));
        }
        rows
    };
    (0..ranks).flat_map(of).collect()
}

fn check(profile: &Path, ranks: usize) {
    assert_eq!(answer(profile, ROWS), told(ranks));
    let everybody = if ranks == 1 { "0".to_owned() } else { format!("0-{}", ranks - 1) };
    assert_eq!(
        answer(profile, "SELECT comm, size, ranks FROM communicators"),
        [format!("oneccl:i0.0|{ranks}|{everybody}")]
    );
    assert_eq!(answer(profile, "SELECT count(*) FROM profile"), ["0"]);
    let times = "SELECT count(*), min(wall_s > 0), max(mpi_s) FROM ranks";
    assert_eq!(answer(profile, times), [format!("{ranks}|1|0")]);
    assert_eq!(
        answer(profile, "SELECT value FROM meta WHERE key IN ('mpi_library', 'ranks') ORDER BY key"),
        ["none".to_owned(), ranks.to_string()]
    );
}

fn nothing_is_left(folder: &Path) {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.contains("shard") || name.ends_with(".db")).collect();
    names.sort();
    assert_eq!(names, ["run.db"]);
}

/// As torchrun does, and through a script of each rank's own.
#[test]
fn ranks_that_variables_tell_make_one_profile() {
    let Some(oneccl) = oneccl() else { return };
    for rank in ["\"$PROGRAM\" id RANK WORLD_SIZE", "sh -c '\"$PROGRAM\" id RANK WORLD_SIZE; exit $?'"] {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("for rank in 0 1 2; do RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=3 {rank} & done; wait");
        let done = run_by_shell(folder.path(), &oneccl, &script);
        assert!(done.status.success(), "{}", done.stderr);
        for text in ["finished, 3 ranks on 1 host", "run time"] {
            assert!(done.stderr.contains(text), "{}", done.stderr);
        }
        assert!(!done.stderr.contains("MPI time") && !done.stderr.contains("unlinked"), "{}", done.stderr);
        check(&folder.path().join("run.db"), 3);
        nothing_is_left(folder.path());
    }
}

#[test]
fn ranks_that_launchers_of_mpi_tell_make_one_profile() {
    let Some(oneccl) = oneccl() else { return };
    for mpi in Mpi::ALL {
        for ranks in [1, 2, 4] {
            let names = match mpi {
                Mpi::OpenMpi => ["id", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"],
                _ => ["id", "PMI_RANK", "PMI_SIZE"],
            };
            let run = under_launcher(mpi, "without_mpi", &oneccl, ranks).arguments(&names).run().succeeded();
            check(&run.profile_path(), ranks);
        }
    }
}

/// Nobody told it a rank: it is the only one.
#[test]
fn a_process_that_was_told_nothing_is_rank_0_of_1() {
    let Some(oneccl) = oneccl() else { return };
    let folder = tempfile::tempdir().unwrap();
    let done = run_by_shell(
        folder.path(),
        &oneccl,
        "\"$PROGRAM\" id ID SIZE_OF_IT || ID=0 SIZE_OF_IT=1 \"$PROGRAM\" id ID SIZE_OF_IT",
    );
    assert!(done.status.success(), "{}", done.stderr);
    check(&folder.path().join("run.db"), 1);
}

/// It records, too, and is told its parent's rank.
#[test]
fn a_child_that_inherits_a_rank_has_a_profile_of_its_own() {
    let Some(oneccl) = oneccl() else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = "export CHILD_RANK=0 CHILD_SIZE=1\n\
                  for rank in 0 1; do RANK=$rank WORLD_SIZE=2 \"$PROGRAM\" id RANK WORLD_SIZE child & done; wait";
    let done = run_by_shell(folder.path(), &oneccl, script);
    assert!(done.status.success(), "{}", done.stderr);
    // The child ends first.
    check(&folder.path().join("run.db"), 1);
    check(&folder.path().join("run-1.db"), 2);
}

/// Nothing runs at their end: whoever started them collects what they left.
#[test]
fn ranks_that_leave_by_exit_are_recovered() {
    let Some(oneccl) = oneccl() else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = "for rank in 0 1; do RANK=$rank WORLD_SIZE=2 \"$PROGRAM\" id RANK WORLD_SIZE exit & done; wait";
    let done = run_by_shell(folder.path(), &oneccl, script);
    assert!(done.status.success(), "{}", done.stderr);
    assert!(done.stderr.contains("recovered: ranks 0-1 ended by a signal or _exit"), "{}", done.stderr);
    check(&folder.path().join("run.db"), 2);
    nothing_is_left(folder.path());
}

/// What `before_mpi.c` does on both sides of `MPI_Init` is in one profile.
#[test]
fn mpi_takes_over_what_was_counted_before_it() {
    let Some(oneccl) = oneccl() else { return };
    for mpi in Mpi::ALL {
        for ranks in [1, 3] {
            let run = under_launcher(mpi, "before_mpi", &oneccl, ranks).run().succeeded();
            let profile = run.profile_path();
            let of = |rank: usize| {
                let own = format!("oneccl:i{rank}.0");
                let all = "oneccl:i0.1";
                let row = |comm: &str, calls: u64, bytes: u64| format!("{rank}|{comm}|{calls}|{bytes}");
                [row(all, 1, 80), row(&own, 2, 8080)]
            };
            let mut wanted: Vec<String> = (0..ranks).flat_map(of).collect();
            let rows = "SELECT src, layer_comm, sum(calls), sum(bytes) FROM transfers WHERE function = 'onecclAllReduce' \
                        GROUP BY 1, 2";
            let mut found = answer(&profile, rows);
            wanted.sort();
            found.sort();
            assert_eq!(found, wanted, "{mpi}, {ranks} ranks");
            let calls = "SELECT op, sum(calls), sum(bytes_sent) FROM profile GROUP BY 1 ORDER BY 1";
            let wanted = [
                format!("MPI_Allreduce|{ranks}|{}", 4000 * ranks),
                format!("MPI_Bcast|{ranks}|4096"),
                format!("MPI_Finalize|{ranks}|0"),
                format!("MPI_Init|{ranks}|0"),
            ];
            assert_eq!(answer(&profile, calls), wanted, "{mpi}, {ranks} ranks");
            assert_eq!(answer(&profile, "SELECT value FROM meta WHERE key = 'ranks_recorded'"), [ranks.to_string()]);
        }
    }
}
