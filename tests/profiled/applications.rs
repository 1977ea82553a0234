//! Real applications: the profile's totals equal those of a second, independent count of a run with the same input.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use common::{Launch, Mpi, Profile, Run, check_invariants, demand, execute, library, mpi_shared_library, root};

/// Calls, bytes sent and received by operation and rank.
type Totals = BTreeMap<(String, u32), (u64, u64, u64)>;

/// Operations whose received bytes the second count does not know.
const UNKNOWN_BYTES: &str = "MPI_Irecv";

fn counted(run: &Run) -> Totals {
    let mut totals = Totals::new();
    for rank in 0..run.ranks as u32 {
        let path = run.truth_folder().join(rank.to_string());
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for line in text.lines() {
            let words: Vec<&str> = line.split('\t').collect();
            let number = |at: usize| words[at].parse::<u64>().expect("a number");
            totals.insert((words[0].to_owned(), rank), (number(1), number(2), number(3)));
        }
    }
    totals
}

fn profiled(profile: &Profile) -> Totals {
    let mut totals = Totals::new();
    for call in &profile.calls {
        let total = totals.entry((call.op.clone(), call.rank)).or_default();
        let received = if call.op == UNKNOWN_BYTES { 0 } else { call.bytes_recv };
        *total = (total.0 + call.calls, total.1 + call.bytes_sent, total.2 + received);
    }
    totals
}

/// Runs an application once with each count; `least` names operations that it must have used.
fn agree(mpi: Mpi, ranks: usize, command: &str, arguments: &[&str], least: &[&str]) {
    let launch = || Launch::of(mpi, installed(command)).ranks(ranks).arguments(arguments);
    let second = launch().preload(mpi_shared_library(mpi, "count")).run().succeeded();
    let profile = {
        let run = launch().preload(library()).run().succeeded();
        run.discard_other_files();
        run.profile()
    };
    let (expected, mut found) = (counted(&second), profiled(&profile));
    for op in ["MPI_Init", "MPI_Init_thread", "MPI_Finalize"] {
        found.retain(|(name, _), _| name != op);
    }
    let used: BTreeSet<&str> = expected.keys().map(|(op, _)| op.as_str()).collect();
    assert!(least.iter().all(|op| used.contains(op)), "{command} did less than it used to: {used:?}");
    assert_eq!(expected, found);
    // What one side sends, the other receives.
    let sum = |pick: fn(&(u64, u64, u64)) -> u64, ops: &[&str]| -> u64 {
        found.iter().filter(|((op, _), _)| ops.contains(&op.as_str())).map(|(_, total)| pick(total)).sum()
    };
    let sends = sum(|total| total.1, &["MPI_Send", "MPI_Ssend", "MPI_Rsend", "MPI_Isend", "MPI_Sendrecv"]);
    let irecv: u64 = profile.calls.iter().filter(|call| call.op == "MPI_Irecv").map(|call| call.bytes_recv).sum();
    assert_eq!(sends, irecv + sum(|total| total.2, &["MPI_Recv", "MPI_Sendrecv"]));
    assert_eq!(sends, profile.matrix.iter().map(|edge| edge.bytes).sum::<u64>());
}

fn installed(command: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(command)).find(|path| path.is_file()).unwrap()
}

fn input(name: &str) -> String {
    let path = root().join("tests/inputs").join(name);
    path.to_str().expect("a path in UTF-8").to_owned()
}

#[test]
fn lammps_counts_agree() {
    demand("lmp", "lammps");
    let input = input("lennard_jones.lmp");
    let used = ["MPI_Allreduce", "MPI_Bcast", "MPI_Sendrecv", "MPI_Irecv", "MPI_Send", "MPI_Wait", "MPI_Cart_create"];
    agree(Mpi::OpenMpi, 4, "lmp", &["-log", "none", "-in", &input], &used);
}

/// Two simulations side by side, each on its half of the ranks.
#[test]
fn lammps_counts_agree_in_partitions() {
    demand("lmp", "lammps");
    let input = input("lennard_jones.lmp");
    let arguments = ["-partition", "2x2", "-log", "none", "-plog", "none", "-pscreen", "none", "-in", &input];
    agree(Mpi::OpenMpi, 4, "lmp", &arguments, &["MPI_Comm_split", "MPI_Allreduce", "MPI_Sendrecv"]);
}

#[test]
fn netpipe_counts_agree() {
    demand("NPmpich2", "netpipe-mpich2");
    // A fixed number of repetitions: by default it depends on how fast they are.
    let sizes = ["-l", "1", "-u", "20000", "-n", "7", "-o", "netpipe.out"];
    for (mode, receive) in [(&[][..], "MPI_Recv"), (&["-a"][..], "MPI_Irecv"), (&["-S"][..], "MPI_Recv")] {
        agree(Mpi::Mpich, 2, "NPmpich2", &[&sizes[..], mode].concat(), &[receive]);
    }
}

/// What HPC Challenge says of the correctness of its results; all else in its report is how fast they came.
#[test]
#[ignore = "heavy: needs hpcc"]
fn hpcc_finds_its_results_correct() {
    demand("hpcc", "hpcc");
    let verdicts = |library: Option<PathBuf>| {
        // It reads its input from its working directory, where it writes its report.
        let script = format!("cp '{}' hpccinf.txt && exec hpcc", input("hpcc.txt"));
        let launch = Launch::of(Mpi::OpenMpi, installed("sh")).ranks(4).arguments(&["-c", &script]);
        let run = library.into_iter().fold(launch, Launch::preload).run().succeeded();
        let report = fs::read_to_string(run.folder().join("hpccoutf.txt")).expect("the report");
        let words =
            ["Ax-b", "tests completed", "errors in", "with error", "Validates", "Success", "Errors", "PTRANS_res"];
        let lines = report.lines().filter(|line| words.iter().any(|word| line.contains(word)));
        (lines.map(str::to_owned).collect::<Vec<_>>(), run)
    };
    let (expected, _) = verdicts(None);
    let (found, run) = verdicts(Some(library()));
    assert!(expected.len() > 20 && expected.contains(&"Success=1".to_owned()), "{expected:#?}");
    assert_eq!(expected, found);
    run.discard_other_files();
    let profile = run.profile();
    assert!(["MPI_Send", "MPI_Alltoall", "MPI_Comm_split"].iter().all(|op| profile.total(op) > 0));
}

/// A program in Fortran, with grids of communicators and requests: its energies are those without commsee, and each path of a call counts the same.
#[test]
#[ignore = "heavy: needs cp2k"]
fn cp2k_finds_its_energies() {
    demand("cp2k.psmp", "cp2k");
    let water = input("water.cp2k");
    let launch = || {
        let launch = Launch::of(Mpi::OpenMpi, installed("cp2k.psmp")).ranks(4).arguments(&["-i", &water]);
        launch.variable("OMP_NUM_THREADS", "1").variable("CP2K_DATA_DIR", "/usr/share/cp2k")
    };
    let energies = |run: &Run| {
        let lines = run.stdout.lines().filter(|line| line.contains("ENERGY|")).map(str::to_owned);
        lines.collect::<Vec<_>>()
    };
    let expected = energies(&launch().run().succeeded());
    assert_eq!(expected.len(), 4, "one at the begin, and one for each step");
    let counted = |name: &str, value: &str| {
        let run = launch().preload(library()).variable(name, value).run().succeeded();
        assert_eq!(energies(&run), expected, "{name}={value}");
        run.discard_other_files();
        // It names its folder on its output, and so commsee.
        let profile = Profile::read(&run.profile_path());
        check_invariants(&profile, run.ranks);
        let mut totals = profiled(&profile);
        // How often it polls depends on how fast the others are.
        totals.retain(|(op, _), _| !op.starts_with("MPI_Test"));
        totals
    };
    let counted_alone = counted("COMMSEE_SITES", "0");
    let used = |op: &str| counted_alone.keys().any(|(name, _)| name == op);
    assert!(["MPI_Allreduce", "MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Cart_create"].into_iter().all(used));
    assert_eq!(counted("COMMSEE_TRACE", "1"), counted_alone);
    assert_eq!(counted("COMMSEE_SITES", "1"), counted_alone);
}

/// Water in a box, bit by bit: GROMACS can be told to do its sums in one order.
#[test]
#[ignore = "heavy: needs gromacs"]
fn gromacs_moves_water_as_it_does_without() {
    demand("gmx_mpi", "gromacs");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let prepare = |arguments: &[&str]| {
        let mut command = Command::new("gmx_mpi");
        command.args(arguments).current_dir(folder.path()).env_remove("LD_PRELOAD");
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        let done = execute(&mut command);
        assert!(done.status.success(), "{}", done.stderr);
    };
    fs::copy(input("water.top"), folder.path().join("water.top")).expect("the topology");
    let parameters = input("water.mdp");
    prepare(&["solvate", "-cs", "spc216.gro", "-box", "2.2", "2.2", "2.2", "-o", "water.gro", "-p", "water.top"]);
    prepare(&["grompp", "-f", &parameters, "-c", "water.gro", "-p", "water.top", "-o", "water.tpr"]);
    let system = folder.path().join("water.tpr");
    let arguments = ["mdrun", "-s", system.to_str().unwrap(), "-reprod", "-ntomp", "1", "-cpt", "-1"];
    let results = |library: Option<PathBuf>| {
        let launch = Launch::of(Mpi::OpenMpi, installed("gmx_mpi")).ranks(4).arguments(&arguments);
        let run = library.into_iter().fold(launch, Launch::preload).run().succeeded();
        let files = ["traj.trr", "ener.edr", "confout.gro"];
        (files.map(|name| fs::read(run.folder().join(name)).expect(name)), run)
    };
    let ((expected, _), (found, run)) = (results(None), results(Some(library())));
    assert!(expected == found, "other positions, velocities or energies");
    run.discard_other_files();
    check_invariants(&run.profile(), 4);
    let used = ["MPI_Sendrecv", "MPI_Allreduce", "MPI_Alltoall", "MPI_Comm_split"];
    agree(Mpi::OpenMpi, 4, "gmx_mpi", &arguments, &used);
}
