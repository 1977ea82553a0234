//! What configures a run, and where its ranks were bound, is in its profile: settings of the layers below MPI, nothing that launchers set for
//! themselves, and no secrets.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use common::{Launch, Mpi, Profile, Program, Run, answer, demand, execute, library, through};
use commsee::environment::is_setting;
use commsee::profile::recover;

/// By name.
fn settings(profile: &Path) -> BTreeMap<String, String> {
    Profile::read(profile).meta.into_iter().filter(|(key, _)| is_setting(key)).collect()
}

/// Whether any value of the metadata has these words.
fn is_anywhere(profile: &Path, words: &str) -> bool {
    Profile::read(profile).meta.iter().any(|(key, value)| key.contains(words) || value.contains(words))
}

fn of(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// What the harness sets for its own jobs.
fn of_harness(mpi: Mpi) -> BTreeMap<String, String> {
    match mpi {
        Mpi::OpenMpi => of(&[
            ("OMPI_MCA_mpi_yield_when_idle", "1"),
            ("OMPI_MCA_mtl", "^ofi,psm,psm2"),
            ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ]),
        _ => BTreeMap::new(),
    }
}

fn configured(mpi: Mpi, program: &str) -> Launch {
    let long = "x".repeat(700);
    Launch::new(mpi, program)
        .variable("NCCL_DEBUG_SUBSYS", "INIT\tNET")
        .variable("NCCL_DEBUG_FILE", &long)
        .variable("MPIR_CVAR_ALLTOALLV_INTRA_ALGORITHM", "scattered")
        .variable("OMPI_MCA_coll_tuned_alltoallv_algorithm", "2")
        .variable("OMP_NUM_THREADS", "1")
        .variable("UCX_API_KEY", "confidential")
        .variable("NCCL_AUTH_TOKEN", "confidential")
        .variable("FI_PASSWORD", "confidential")
        .variable("SOME_OTHER", "not-kept")
}

fn is_as_configured(mpi: Mpi, profile: &Path) {
    let mut wanted = of_harness(mpi);
    wanted.extend(of(&[
        ("NCCL_DEBUG_SUBSYS", "INIT NET"),
        ("NCCL_DEBUG_FILE", &"x".repeat(700)),
        ("MPIR_CVAR_ALLTOALLV_INTRA_ALGORITHM", "scattered"),
        ("OMPI_MCA_coll_tuned_alltoallv_algorithm", "2"),
        ("OMP_NUM_THREADS", "1"),
    ]));
    assert_eq!(settings(profile), wanted, "{mpi}");
    assert!(!["confidential", "not-kept", "SOME_OTHER"].iter().any(|word| is_anywhere(profile, word)), "{mpi}");
}

#[test]
fn settings_are_kept_and_nothing_else() {
    for mpi in Mpi::ALL {
        let run = configured(mpi, "phases").run().succeeded();
        is_as_configured(mpi, &run.profile_path());
        let bare = Launch::new(mpi, "phases").run().succeeded();
        assert_eq!(settings(&bare.profile_path()), of_harness(mpi), "{mpi}: launchers set these");
    }
}

fn recovered(run: &Run) -> std::path::PathBuf {
    let path = run.folder().join("recovered.db");
    recover::recover(&run.left_over(), &path).expect("a profile of the shards").path
}

#[test]
fn recovered_profiles_have_them_too() {
    for mpi in Mpi::ALL {
        let run = configured(mpi, "exits").arguments(&["is-killed"]).run();
        let profile = recovered(&run);
        is_as_configured(mpi, &profile);
        let bound = answer(&profile, "SELECT count(*) FROM ranks WHERE cpus <> ''");
        assert_eq!(bound, ["2"], "{mpi}");
    }
}

#[test]
fn ranks_that_differ_are_told() {
    for mpi in Mpi::ALL {
        let program = Program { name: "phases", link: Vec::new() }.compiled(mpi);
        let script = "case ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} in 0) export UCX_RNDV_THRESH=1k;; 3) export UCX_RNDV_THRESH=3k UCX_LOG_LEVEL=warn;; \
                      *) export UCX_RNDV_THRESH=2k;; esac; exec \"$0\"";
        let launch = Launch::of(mpi, "/bin/sh".into()).ranks(4).preload(library());
        let run = launch.arguments(&["-c", script, program.to_str().unwrap()]).run().succeeded();
        let mut wanted = of_harness(mpi);
        wanted.extend(of(&[("UCX_RNDV_THRESH", "0\t1k\n1-2\t2k\n3\t3k"), ("UCX_LOG_LEVEL", "3\twarn")]));
        assert_eq!(settings(&run.profile_path()), wanted, "{mpi}");
    }
}

/// Each rank is bound by `taskset`, to what the kernel then says of it.
#[test]
fn the_binding_of_ranks_is_told() {
    demand("taskset", "util-linux");
    let allowed = execute(Command::new("taskset").args(["-pc", &std::process::id().to_string()])).stdout;
    let last = allowed.trim().rsplit([',', '-', ' ']).next().expect("a processor").to_owned();
    for mpi in Mpi::ALL {
        let program = Program { name: "phases", link: Vec::new() }.compiled(mpi);
        let launch = Launch::of(mpi, "/usr/bin/taskset".into()).preload(library());
        let run = launch.arguments(&["-c", &last, program.to_str().unwrap()]).run().succeeded();
        let bound = answer(&run.profile_path(), "SELECT rank, cpus FROM ranks ORDER BY rank");
        assert_eq!(bound, [0, 1].map(|rank| format!("{rank}|{last}")), "{mpi}");
        // Both on one processor, where there are others.
        let advice = execute(Command::new(through()).args(["advise", "--format=json"]).arg(run.profile_path())).stdout;
        let is_alone = Profile::read(&run.profile_path()).meta["processors"] == "1";
        assert_eq!(advice.contains("\"shared-processors\""), !is_alone, "{mpi}: {advice}");
        // Machines have a NUMA node for it, if the kernel knows any.
        let nodes = answer(&run.profile_path(), "SELECT count(*) FROM ranks WHERE numa <> ''");
        let is_known = Path::new("/sys/devices/system/node/node0").exists();
        assert_eq!(nodes, [if is_known { "2" } else { "0" }], "{mpi}");
    }
}
