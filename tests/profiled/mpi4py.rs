//! Python: mpi4py's own tests end as they do without the profiler, and a small program's calls are counted.
//!
//! `./test` builds mpi4py where `COMMSEE_MPI4PY` says: `source`, and for each MPI library a folder of its name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Kin, Launch, Mpi, Profile, Run, check, check_invariants, fetched, interpreter, library, root};

/// Left out: what hangs also without the profiler.
fn left_out(mpi: Mpi, ranks: usize) -> &'static [&'static str] {
    match (mpi, ranks) {
        // MPI_Comm_spawn of Open MPI 4.1 hangs now and then: in 1 of 7 runs of these tests without the profiler. A pool of
        // one rank spawns its workers.
        (Mpi::OpenMpi, 1) => &["-e", "test_spawn", "-e", "test_util_pool"],
        (Mpi::OpenMpi, _) => &["-e", "test_spawn"],
        // Its locks and conditions are made of one-sided calls, which fail or hang between ranks under MPICH 4.0 over UCX.
        (Mpi::Mpich, 2..) => &["-e", "test_util_sync"],
        _ => &[],
    }
}

fn built() -> Option<PathBuf> {
    fetched("COMMSEE_MPI4PY")
}

fn launch(mpi: Mpi, built: &Path, script: &str) -> Launch {
    let script = root().join("tests/programs").join(script);
    let packages = built.join(mpi.to_string());
    assert!(packages.is_dir(), "{} is missing: run `./test --heavy`", packages.display());
    let launch = Launch::of(mpi, interpreter()).arguments(&[script.to_str().expect("a path in UTF-8")]);
    launch.variable("PYTHONPATH", packages.to_str().expect("a path in UTF-8"))
}

/// What became of each test, by rank.
fn outcomes(run: &Run) -> BTreeMap<(usize, String), String> {
    let mut outcomes = BTreeMap::new();
    for rank in 0..run.ranks {
        let path = run.truth_folder().join(rank.to_string());
        let text =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}\n{}", path.display(), run.output()));
        for line in text.lines() {
            let (test, outcome) = line.split_once('\t').expect("a test and its outcome");
            outcomes.insert((rank, test.to_owned()), outcome.to_owned());
        }
    }
    outcomes
}

/// The outcome of every test, without and with the profiler.
fn outcomes_are_the_same(mpi: Mpi) {
    let built = built().expect("COMMSEE_MPI4PY is not set: run `./test --heavy`");
    let tests = built.join("source/test");
    for ranks in [1, 2, 4] {
        let launch = || {
            let launch = launch(mpi, &built, "mpi4py_suite.py").ranks(ranks).limit(900);
            launch.arguments(&[tests.to_str().expect("a path in UTF-8")]).arguments(left_out(mpi, ranks))
        };
        let plain = launch().run();
        let profiled = launch().preload(library()).run();
        assert_eq!(plain.status, profiled.status, "{ranks} ranks under {mpi}: {}", profiled.output());
        let (expected, found) = (outcomes(&plain), outcomes(&profiled));
        let differ = |(key, outcome): (&(usize, String), &String)| {
            let other = found.get(key);
            (other != Some(outcome)).then(|| format!("{key:?}: {outcome}, profiled {other:?}"))
        };
        let differences: Vec<String> = expected.iter().filter_map(differ).collect();
        assert!(differences.is_empty(), "{ranks} ranks under {mpi}:\n{}", differences.join("\n"));
        assert_eq!(expected.len(), found.len());
        let count = |what: &str| expected.values().filter(|outcome| outcome.starts_with(what)).count();
        let (passed, skipped) = (count("passed"), count("skipped"));
        println!("{ranks} ranks under {mpi}: {passed} passed, {skipped} skipped, {} tests", expected.len());
        assert!(expected.len() > 1500 * ranks, "{}", plain.output());
        // Worlds that the tests spawned have left profiles of their own, under the next free names.
        let is_profile = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "db");
        let mut profiles = profiled.left_behind();
        profiles.retain(is_profile);
        profiles.push(profiled.profile_path());
        let profile = profiles.iter().map(|path| Profile::read(path)).max_by_key(|profile| profile.calls.len());
        check_invariants(&profile.expect("a profile"), ranks);
    }
}

#[test]
#[ignore = "heavy: some 2000 tests of mpi4py, six times"]
fn the_tests_of_mpi4py_end_as_they_do_without_under_openmpi() {
    outcomes_are_the_same(Mpi::OpenMpi);
}

#[test]
#[ignore = "heavy: some 2000 tests of mpi4py, six times"]
fn the_tests_of_mpi4py_end_as_they_do_without_under_mpich() {
    outcomes_are_the_same(Mpi::Mpich);
}

/// Parts of mpi4py's tests whose first calls ask for functions of MPI 4.
const ASKING: [&str; 6] =
    ["test_cco_buf", "test_cco_nb_buf", "test_cco_vec", "test_request", "test_util_pkl5", "test_comm"];

/// The MPI libraries that the wheel runs under: how a job of two ranks begins, and where its library is.
fn under_the_wheel(folder: &Path) -> Vec<(String, Command)> {
    let mut all = Vec::new();
    for mpi in Mpi::ALL {
        let mut command = mpi.launcher(2, &[]);
        if mpi == Mpi::Mpich {
            // Debian calls it by another name than MPICH does.
            let library = common::library_file(mpi);
            let link = folder.join("libmpi.so.12");
            std::os::unix::fs::symlink(library, &link).expect("a link");
            command.env("LD_LIBRARY_PATH", folder).env("MPI4PY_MPIABI", "mpich").env("MPI4PY_LIBMPI", link);
        } else {
            command.env("MPI4PY_MPIABI", "openmpi");
        }
        all.push((mpi.to_string(), command));
    }
    for kin in Kin::all().iter().filter(|kin| kin.mpi() == Mpi::OpenMpi) {
        let mut command = kin.launcher(2, &[]);
        command.env("MPI4PY_MPIABI", "openmpi");
        all.push((kin.name().to_owned(), command));
    }
    all
}

/// The wheel finds out by weak references which functions the library has, and calls those.
fn the_wheel_is_the_same(parts: &[&str], seconds: u64) {
    let Some(wheel) = fetched("COMMSEE_MPI4PY_WHEEL") else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let script = root().join("tests/programs/mpi4py_suite.py");
    for (name, launcher) in under_the_wheel(folder.path()) {
        let run = |preload: bool| -> (Option<i32>, BTreeMap<String, String>, String) {
            let truth = tempfile::tempdir().expect("a temporary folder");
            let mut command = Command::new(launcher.get_program());
            command.args(launcher.get_args());
            command.envs(launcher.get_envs().filter_map(|(name, value)| Some((name, value?))));
            command.current_dir(truth.path()).env("TRUTH_DIR", truth.path()).env("PYTHONPATH", &wheel);
            command.env("COMMSEE_OUT", truth.path().join("run.db")).env("COMMSEE_DIR", truth.path());
            command.arg("env");
            if preload {
                command.arg(format!("LD_PRELOAD={}", library().display()));
            }
            command.arg(interpreter()).arg(&script).arg(wheel.join("test")).args(parts);
            let done = common::execute_within_s(&mut command, seconds);
            let mut outcomes = BTreeMap::new();
            for rank in ["0", "1"] {
                let text = fs::read_to_string(truth.path().join(rank)).unwrap_or_default();
                outcomes.extend(text.lines().filter_map(|line| {
                    let (test, outcome) = line.split_once('\t')?;
                    Some((format!("{rank}: {test}"), outcome.to_owned()))
                }));
            }
            if preload {
                assert!(Profile::read(&truth.path().join("run.db")).total("MPI_Allreduce") > 100, "{}", done.stderr);
            }
            (done.status.code(), outcomes, done.stderr)
        };
        let (plain, profiled) = (run(false), run(true));
        assert!(plain.1.values().filter(|outcome| *outcome == "passed").count() > 200, "{name}: {}", plain.2);
        let differ = |(test, outcome): &(&String, &String)| profiled.1.get(*test) != Some(*outcome);
        let differences: Vec<_> = plain.1.iter().filter(differ).collect();
        assert!(differences.is_empty(), "{name}: without the profiler {differences:?}\n{}", profiled.2);
        assert_eq!((plain.0, plain.1.len()), (profiled.0, profiled.1.len()), "{name}: {}", profiled.2);
    }
}

#[test]
fn the_wheel_of_mpi4py_is_not_told_what_is_not_there() {
    let parts: Vec<&str> = ASKING.iter().flat_map(|part| ["-i", part]).collect();
    the_wheel_is_the_same(&parts, 300);
}

#[test]
#[ignore = "heavy: all tests of mpi4py, six times"]
fn all_tests_of_the_wheel_of_mpi4py_end_as_they_do_without() {
    the_wheel_is_the_same(
        &["-e", "test_spawn", "-e", "test_util_sync", "-e", "test_util_pool", "-e", "test_dynproc"],
        1500,
    );
}

#[test]
fn a_python_program_is_counted() {
    let Some(built) = built() else { return };
    for mpi in Mpi::ALL.into_iter().filter(|mpi| built.join(mpi.to_string()).is_dir()) {
        let launch = || launch(mpi, &built, "python.py").ranks(2);
        check(&launch().preload(library()).run().succeeded());
        launch().run().succeeded();
    }
}
