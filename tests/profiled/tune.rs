//! The algorithms that `through tune` names are those that the libraries know, and its script compares them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use common::{Kin, Launch, Mpi, Profile, answer, c_source, demand, execute, execute_within_s, library, root, through};
use insight::tune::Library;
use insight::tune::algorithms::{COLLECTIVES, Collective, find};
use serde_json::Value;

use crate::ucx::seen;

#[test]
fn open_mpi_knows_the_algorithms() {
    demand("ompi_info", "openmpi-bin");
    let known =
        execute(Command::new("ompi_info").args(["--param", "coll", "tuned", "--level", "9", "--parsable"])).stdout;
    for collective in COLLECTIVES {
        let op = collective.op.trim_start_matches("MPI_").to_lowercase();
        for (number, name) in collective.openmpi_algorithms {
            let line = format!(":coll_tuned_{op}_algorithm:enumerator:value:{number}:{name}\n");
            assert!(known.contains(&line), "{line}");
        }
    }
}

/// Which version of MPICH a profile is of.
fn version_of(profile: &Profile) -> (u32, u32) {
    match Library::of("mpich", &profile.meta["mpi_library"]) {
        Some(Library::Mpich { version }) => version,
        other => panic!("{other:?}"),
    }
}

/// It refuses to start with an algorithm that it does not know.
#[test]
fn mpich_knows_the_algorithms() {
    let debian = || Launch::new(Mpi::Mpich, "foreign");
    let known = |job: &dyn Fn() -> Launch| {
        let version = version_of(&job().run().succeeded().profile());
        let job = |settings: &[(String, &str)]| {
            let launch = job().ranks(2).plain();
            settings.iter().fold(launch, |launch, (name, value)| launch.variable(name, value)).run()
        };
        let variable = |mpich: &str| format!("MPIR_CVAR_{mpich}_INTRA_ALGORITHM");
        let names = |collective: &Collective| collective.mpich_algorithms(version);
        let most = COLLECTIVES.iter().map(|collective| names(collective).len()).max().unwrap();
        for at in 0..most {
            let algorithm = |names: &[&'static str]| names[at % names.len()];
            let settings: Vec<(String, &str)> =
                COLLECTIVES.iter().map(|one| (variable(one.mpich), algorithm(names(one)))).collect();
            let run = job(&settings);
            assert!(run.status.success(), "{settings:?}\n{}", run.output());
        }
        assert!(!job(&[(variable("ALLTOALLV"), "nonsense")]).status.success());
        // What the other versions have.
        let others = find("MPI_Barrier").unwrap().mpich_algorithms(if version < (4, 1) { (4, 1) } else { (4, 0) });
        assert!(!job(&[(variable("BARRIER"), others[0])]).status.success(), "{version:?}: {others:?}");
    };
    known(&debian);
    for kin in Kin::all().iter().filter(|kin| kin.name().starts_with("mpich-")) {
        known(&|| Launch::of(Mpi::Mpich, kin.compiled("foreign")).under(kin).preload(library()));
    }
}

#[test]
fn a_script_runs_each_algorithm_and_compares() {
    for mpi in Mpi::ALL {
        let source = root().join("examples/transpose.c");
        let program = c_source(mpi, &source, "transpose");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = std::env::var("PATH").expect("a path");
        let path = format!("{}:{path}", through().parent().expect("a folder").display());
        let asked = |words: &[&str]| {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).current_dir(folder.path()).env("PATH", &path).env("COMMSEE_LIB", library());
            command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            execute_within_s(&mut command, 300)
        };
        let launcher = mpi.launcher(4, &[]);
        let mut job: Vec<&str> = vec![launcher.get_program().to_str().unwrap()];
        job.extend(launcher.get_args().map(|word| word.to_str().unwrap()));
        job.extend([program.to_str().unwrap(), "3", "8"]);
        let run = asked(&[&["through", "run", "-o", "first.db", "--"], &job[..]].concat());
        assert!(run.status.success(), "{}", run.stderr);
        let tuned =
            asked(&["through", "tune", "first.db", "--op", "Alltoallv", "--comm", "row", "--runs", "2", "-o", "try"]);
        assert!(
            tuned.status.success() && tuned.stdout.contains("sh try/compare.sh"),
            "{}{}",
            tuned.stdout,
            tuned.stderr
        );
        let again = asked(&["through", "tune", "first.db", "-o", "try"]);
        assert_eq!(again.status.code(), Some(2), "nothing is overwritten");
        assert!(again.stderr.contains("try: the directory exists") && again.stderr.contains("-o"), "{}", again.stderr);
        let compared = asked(&[&["sh", "try/compare.sh"], &job[..]].concat());
        let collective = find("MPI_Alltoallv").unwrap();
        let names: Vec<&str> = match mpi {
            Mpi::OpenMpi => collective.openmpi_algorithms.iter().map(|(_, name)| *name).collect(),
            _ => collective.mpich_algorithms(version_of(&Profile::read(&folder.path().join("first.db")))).to_vec(),
        };
        for name in ["default"].iter().chain(&names) {
            assert!(folder.path().join(format!("try/{name}-1.db")).exists(), "{mpi} {name}: {}", compared.stderr);
        }
        for name in &names {
            assert!(
                compared.stdout.contains(&format!("== {name} against default")),
                "{}{}",
                compared.stdout,
                compared.stderr
            );
        }
        let is_right = |line: &&str| line.contains(" steps on 2 x 2 ranks") && line.ends_with(", right");
        assert!(compared.stdout.lines().filter(is_right).count() == 2 * (1 + names.len()), "{}", compared.stdout);
        // Settings tell the runs apart.
        let of_settings = names.iter().map(|name| match mpi {
            Mpi::OpenMpi => format!("{name}.rules"),
            _ => format!("ALLTOALLV_INTRA_ALGORITHM={name}"),
        });
        let wanted: BTreeSet<String> = of_settings.chain(["default".to_owned()]).collect();
        let all = compared.stdout.split_once("== all").expect("all runs together").1;
        assert!(all.contains(&format!("{} runs of {} configurations", 2 * wanted.len(), wanted.len())), "{all}");
        let runs: Vec<String> = ["default"].iter().chain(&names).map(|name| format!("try/{name}-1.db")).collect();
        let words = ["through", "compare", "try/default-2.db"].into_iter().chain(runs.iter().map(String::as_str));
        let words: Vec<&str> = words.chain(["--format=json"]).collect();
        let titles = |words: &[&str]| -> BTreeSet<String> {
            let document: Value = serde_json::from_str(&asked(words).stdout).expect("JSON");
            let found = document["configurations"].as_array().unwrap().iter();
            found.map(|one| one["configuration"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(titles(&words), wanted, "{mpi}");
        assert_eq!(titles(&[&words[..], &["--by=command"]].concat()).len(), 1);
        assert!(fs::read_dir(folder.path().join("try")).unwrap().count() >= 2 + names.len());
    }
}

/// Two sizes and two algorithms are four configurations: the rules change just these sizes.
#[test]
fn sizes_are_tuned_together() {
    let job = || seen(Mpi::OpenMpi, "three_sizes", "posix,sysv,cma,self").ranks(4);
    let usual = job().run().succeeded();
    let folder = usual.folder().join("try");
    let mut tune = Command::new(through());
    tune.arg("tune").arg(usual.profile_path()).args(["--op=Allreduce", "--comm=two", "--comm=W0.0", "-o"]).arg(&folder);
    let said = execute(tune.arg("--algorithms=rabenseifner,basic_linear"));
    assert!(said.status.success() && said.stdout.contains("communicators of 2 and 4 ranks"), "{}", said.stdout);
    assert!(said.stdout.contains("25 runs compare them"), "{}", said.stdout);
    let rules: BTreeSet<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".rules"))
        .collect();
    assert_eq!(rules.len(), 4, "{rules:?}");
    let sent = |name: &str, comm: &str| {
        let rules = folder.join(format!("{name}.rules")).display().to_string();
        let job = job().variable("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
        let ruled = job.variable("OMPI_MCA_coll_tuned_dynamic_rules_filename", &rules).run().succeeded();
        allreduce(&ruled.profile_path(), comm)
    };
    // Three ranks take the ring by default, and two send the same messages by most algorithms.
    let both = "2-rabenseifner+4-basic_linear";
    assert_eq!(sent(both, "three"), allreduce(&usual.profile_path(), "three"), "a size between keeps the default");
    assert_ne!(sent(both, "two"), sent("2-basic_linear+4-basic_linear", "two"));
    assert_ne!(sent(both, "W0.0"), sent("2-rabenseifner+4-rabenseifner", "W0.0"));
    assert_eq!(sent(both, "W0.0"), sent("2-basic_linear+4-basic_linear", "W0.0"));
}

/// Who sent how much to whom.
fn allreduce(profile: &Path, comm: &str) -> Vec<String> {
    let sql = format!(
        "SELECT src, dst, calls, bytes FROM transfers WHERE layer = 'ucp' AND op = 'MPI_Allreduce' AND comm IN (SELECT comm FROM communicators \
         WHERE coalesce(label, comm) = '{comm}') ORDER BY 1, 2, 3, 4"
    );
    answer(profile, &sql)
}

/// Who sent how much to whom within an Allreduce tells its algorithm.
#[test]
fn rules_of_open_mpi_leave_communicators_of_other_sizes_alone() {
    let job = || seen(Mpi::OpenMpi, "three_sizes", "posix,sysv,cma,self").ranks(4);
    let usual = job().run().succeeded();
    let folder = usual.folder().join("try");
    let mut tune = Command::new(through());
    tune.arg("tune").arg(usual.profile_path()).args(["--op", "Allreduce", "--comm", "three", "-o"]).arg(&folder);
    assert!(execute(&mut tune).status.success());
    let comms = ["W0.0", "three", "two"];
    for name in ["basic_linear", "recursive_doubling"] {
        let rules = folder.join(format!("{name}.rules")).display().to_string();
        let job = job().variable("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");
        let ruled = job.variable("OMPI_MCA_coll_tuned_dynamic_rules_filename", &rules).run().succeeded();
        let changed: Vec<&str> = comms
            .into_iter()
            .filter(|comm| {
                let before = allreduce(&usual.profile_path(), comm);
                assert!(!before.is_empty(), "{comm}");
                before != allreduce(&ruled.profile_path(), comm)
            })
            .collect();
        assert_eq!(changed, ["three"], "{name}");
    }
}
