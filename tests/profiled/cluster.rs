//! Jobs over several hosts, which are namespaces of this machine (`tests/cluster/vcluster.sh`).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use crate::gpu;
use common::timeline::{check_calls, check_messages, rows};
use common::{Call, Cluster, Kin, Mpi, Profile, Run, answer, check, hook, library, shared_library, side_by_side};

/// The host of each rank.
fn hosts(profile: &Profile) -> Vec<&str> {
    profile.ranks.iter().map(|rank| rank.host.as_str()).collect()
}

/// Nothing of commsee's is left on the hosts, nor in the folder of the job but for its profile.
fn check_nothing_is_left(cluster: &Cluster, run: &Run) {
    assert_eq!(cluster.left_on_hosts(), Vec::<String>::new(), "{}", run.output());
    assert_eq!(run.left_behind(), Vec::<std::path::PathBuf>::new(), "{}", run.output());
    assert_eq!(cluster.left_at_home(), Vec::<OsString>::new(), "{}", run.output());
}

#[test]
fn every_row_is_true_over_several_hosts() {
    let Some(cluster) = Cluster::start(3) else { return };
    for mpi in Mpi::ALL {
        for program in ["p2p", "creators", "collectives"] {
            let job = cluster.job(mpi, program).closing();
            let run = job.hosts(&[("node2", 2), ("node1", 1), ("node3", 1)]).run().succeeded();
            check(&run);
            assert_eq!(hosts(&run.profile()), ["node2", "node2", "node1", "node3"], "{mpi} {program}");
            check_nothing_is_left(&cluster, &run);
        }
    }
}

/// Each launcher tells in a way of its own which processes belong together.
#[test]
fn hosts_of_other_libraries_find_each_other() {
    let Some(cluster) = Cluster::start(3) else { return };
    for kin in Kin::all() {
        for through in [false, true] {
            let job = cluster.job_under(&kin, "exits").hosts(&[("node1", 1), ("node2", 2), ("node3", 1)]);
            let job = if through { job.through() } else { job };
            let run = job.arguments(&["returns"]).run().succeeded();
            let profile = run.profile();
            assert_eq!(
                hosts(&profile),
                ["node1", "node2", "node2", "node3"],
                "{} {through}: {}",
                kin.name(),
                run.output()
            );
            check(&run);
            check_nothing_is_left(&cluster, &run);
        }
    }
}

/// Intel MPI's launcher did so before 2021.2: each host has a profile of its own, which says why.
#[test]
fn hosts_whose_launcher_tells_nothing_keep_to_themselves() {
    let Some(cluster) = Cluster::start(2) else { return };
    for kin in Kin::all().iter().filter(|kin| kin.is_intel()) {
        let job = cluster.job_under(kin, "exits").hosts(&[("node1", 2), ("node2", 2)]);
        let run = job.started_by(&["env", "-u", "I_MPI_HYDRA_UUID"]).arguments(&["returns"]).run().succeeded();
        let said = "are in the profile: the launcher does not tell which hosts belong together";
        assert_eq!(run.stderr.matches(said).count(), 2, "{}", run.output());
        let profiles = ["profile.db", "profile-1.db"].map(|name| Profile::read(&run.folder().join(name)));
        let mut ranks: Vec<Vec<u32>> =
            profiles.iter().map(|profile| profile.ranks.iter().map(|rank| rank.rank).collect()).collect();
        ranks.sort();
        assert_eq!(ranks, [[0, 1], [2, 3]]);
        assert_eq!(cluster.left_on_hosts(), Vec::<String>::new());
    }
}

/// The variables of torchrun tell the rank before MPI is initialized; what was said between the hosts until then is taken back.
#[test]
fn ranks_that_were_told_before_mpi_leave_nothing() {
    let Some(cluster) = Cluster::start(2) else { return };
    for mpi in Mpi::ALL {
        let (rank, size) = match mpi {
            Mpi::OpenMpi => ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
            _ => ("PMI_RANK", "PMI_SIZE"),
        };
        let told = format!("RANK=${rank} WORLD_SIZE=${size} exec \"$@\"");
        let job = cluster.job_with(mpi, gpu::program(mpi)).beside(hook("gpu")).started_by(&["sh", "-c", &told, "sh"]);
        let job = job.variable("COMMSEE_HOOKS", "gpu").variable("MASTER_ADDR", "node1");
        let job = job.variable("COMMSEE_CUPTI", &shared_library("standin_cupti").display().to_string());
        let run = job.hosts(&[("node1", 1), ("node2", 1)]).run().succeeded();
        let copies = "SELECT src, sum(calls) FROM transfers GROUP BY 1";
        assert_eq!(answer(&run.profile_path(), copies), ["0|10014", "1|10014"], "{mpi}");
        check_nothing_is_left(&cluster, &run);
    }
}

/// MPICH before 4.2 hangs over TCP in its own MPI_Finalize where ranks come there one after the other. Without commsee this program does
/// not, since it leaves ranks of different pairs unconnected.
#[test]
fn ranks_that_commsee_connects_end_as_without_it() {
    let Some(cluster) = Cluster::start(3) else { return };
    for mpi in Mpi::ALL {
        for _ in 0..if mpi == Mpi::Mpich { 8 } else { 1 } {
            let job = cluster.job(mpi, "pairs").closing().hosts(&[("node1", 1), ("node2", 2), ("node3", 3)]);
            let profile = job.run().succeeded().profile();
            for rank in 0..6 {
                let is_its = |call: &&Call| call.rank == rank && call.op == "MPI_Sendrecv";
                let calls: Vec<_> = profile.calls.iter().filter(is_its).collect();
                assert_eq!(calls.len(), 1, "{mpi}");
                assert_eq!([calls[0].calls, calls[0].bytes_sent, calls[0].bytes_recv], [50, 5000, 5000], "{mpi}");
            }
        }
    }
}

/// Hosts meet in the directory where the job was started, and the profile lies where rank 0 was told to put it.
#[test]
fn a_profile_may_go_to_a_directory_of_rank_0s_host() {
    let Some(cluster) = Cluster::start(2) else { return };
    for mpi in Mpi::ALL {
        let job = cluster.job(mpi, "exits").arguments(&["returns"]).variable("COMMSEE_OUT", "/tmp/profiles/run.db");
        let job = job.hosts(&[("node1", 2), ("node2", 1)]);
        cluster.tell("node1", "rm -rf /tmp/profiles; mkdir /tmp/profiles");
        let run = job.run().succeeded();
        assert_eq!(cluster.tell("node1", "ls -A /tmp/profiles"), "run.db\n", "{mpi}: {}", run.output());
        cluster.tell("node1", &format!("cp /tmp/profiles/run.db '{}'", run.profile_path().display()));
        check(&run);
        assert_eq!(hosts(&run.profile()), ["node1", "node1", "node2"]);
        check_nothing_is_left(&cluster, &run);
    }
}

/// The clock of node K is K × 1000 s ahead: the offsets that were found are those, within the error that is said, and nothing arrives
/// before it was sent.
#[test]
fn clocks_of_hosts_are_aligned() {
    let Some(cluster) = Cluster::start(4) else { return };
    let nodes = [3, 1, 4, 2];
    let places = nodes.map(|node| (format!("node{node}"), 1));
    let places: Vec<(&str, usize)> = places.iter().map(|(host, ranks)| (host.as_str(), *ranks)).collect();
    for mpi in Mpi::ALL {
        let run = cluster.job(mpi, "hooked").hosts(&places).variable("COMMSEE_TRACE", "1").run().succeeded();
        run.profile();
        let path = run.profile_path();
        check_calls(&path);
        check_messages(&path);
        let sql = "SELECT rank, begin_offset_ns, begin_error_ns, end_offset_ns, end_error_ns, lost_events FROM clock ORDER BY rank";
        let clocks = rows(&path, sql);
        assert_eq!(clocks.len(), 4);
        for clock in clocks {
            // What is to be added, to have the time of rank 0.
            let known_ns = (nodes[0] - nodes[clock[0] as usize]) * 1_000_000_000_000;
            for [offset_ns, error_ns] in [[clock[1], clock[2]], [clock[3], clock[4]]] {
                assert!((offset_ns - known_ns).abs() <= error_ns, "{mpi}: {clock:?}, and not {known_ns}");
                // An error of seconds would be true as well, and of no use.
                assert!(error_ns < 1_000_000_000, "{mpi}: {clock:?}");
            }
            assert_eq!(clock[5], 0, "{mpi}: {clock:?}");
        }
        let back = "SELECT count(*) FROM (SELECT begin_ns < lag(begin_ns) OVER (PARTITION BY rank ORDER BY rowid) AS back, \
                    end_ns < begin_ns AS reversed FROM event) WHERE back OR reversed";
        assert_eq!(rows(&path, back), [[0]], "{mpi}");
        // All of them happened within the seconds that the job took.
        let span = "SELECT max(end_ns) - min(begin_ns) FROM event";
        assert!(rows(&path, span)[0][0] < 200_000_000_000, "{mpi}");
    }
}

/// Calls, failures and bytes by communicator, operation, bucket, phase and host.
type OfHosts = BTreeMap<(String, String, u64, String, String), [u64; 4]>;

fn of_hosts(profile: &Profile) -> OfHosts {
    let mut sums = OfHosts::new();
    // How often a program asks before a message is there differs from run to run.
    let is_fixed = |op: &str| !op.contains("Test") && !op.contains("robe");
    for call in profile.calls.iter().filter(|call| is_fixed(&call.op)) {
        let host = &profile.ranks.iter().find(|rank| rank.rank == call.rank).expect("its rank").host;
        let key = (call.comm.clone(), call.op.clone(), call.bucket_lo, call.phase.clone(), host.clone());
        let sum = sums.entry(key).or_default();
        for (part, more) in sum.iter_mut().zip([call.calls, call.failed, call.bytes_sent, call.bytes_recv]) {
            *part += more;
        }
    }
    sums
}

/// The row of a host is the sum over its ranks.
#[test]
fn rows_of_hosts_are_sums_over_their_ranks() {
    let Some(cluster) = Cluster::start(2) else { return };
    for mpi in Mpi::ALL {
        let run = |detail: &str| {
            let job = cluster.job(mpi, "phases").hosts(&[("node1", 3), ("node2", 1)]);
            let run = job.variable("COMMSEE_DETAIL", detail).run().succeeded();
            check_nothing_is_left(&cluster, &run);
            let profile = Profile::read(&run.profile_path());
            assert_eq!(profile.meta["detail"], detail);
            (run, profile)
        };
        let (single, ranks) = run("rank");
        check(&single);
        let (_, nodes) = run("node");
        let mut rows: Vec<u32> = nodes.calls.iter().map(|call| call.rank).collect();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows, [0, 3], "{mpi}: a host goes by its first rank");
        assert_eq!(hosts(&nodes), hosts(&ranks), "{mpi}");
        assert_eq!(of_hosts(&nodes), of_hosts(&ranks), "{mpi}");
    }
}

/// A library path that only some hosts have: the program's messages meet none of commsee's, and the profile says whose it is.
#[test]
fn a_library_that_some_hosts_lack_harms_nobody() {
    let path = Path::new("/tmp/only-here/libcommsee.so");
    let copy = format!("mkdir -p /tmp/only-here; cp '{}' '{}'", library().display(), path.display());
    // Each of them takes seconds: hosts wait for each other.
    let cases: [(Mpi, &[&str], &[u32]); 4] = [
        (Mpi::OpenMpi, &["node2", "node3"], &[2, 3]),
        (Mpi::OpenMpi, &["node1"], &[0, 1]),
        (Mpi::Mpich, &["node2", "node3"], &[2, 3]),
        (Mpi::Mpich, &["node1", "node3"], &[0, 1, 3]),
    ];
    side_by_side(cases, |(mpi, with, present)| {
        let Some(cluster) = Cluster::start(3) else { return };
        let job = || cluster.job(mpi, "foremost").hosts(&[("node1", 2), ("node2", 1), ("node3", 1)]);
        let plain = job().plain().run();
        assert_eq!((plain.status.code(), plain.stdout.as_str()), (Some(3), "0 wrong\n"), "{}", plain.output());
        let whole = calls(&job().run().profile());
        with.iter().for_each(|node| _ = cluster.tell(node, &copy));
        let run = job().preload(path).run();
        assert_eq!((run.status, &run.stdout), (plain.status, &plain.stdout), "{mpi} {with:?}: {}", run.output());
        let profile = Profile::read(&run.profile_path());
        let found: Vec<u32> = profile.ranks.iter().map(|rank| rank.rank).collect();
        assert_eq!(found, present, "{mpi} {with:?}: {}", run.output());
        let expected = whole.iter().filter(|(key, _)| present.contains(&key.3));
        let expected: Calls = expected.map(|(key, sum)| (key.clone(), *sum)).collect();
        assert_eq!(calls(&profile), expected, "{mpi} {with:?}");
        let world = profile.communicator("W0.0").expect("MPI_COMM_WORLD");
        assert_eq!((world.size, &world.ranks[..]), (4, present), "{mpi} {with:?}");
        assert_eq!(run.stderr.matches("of 4 are in the profile").count(), 1, "{mpi} {with:?}: {}", run.stderr);
        check_nothing_is_left(&cluster, &run);
    });
}

/// Calls and bytes by operation, bucket, size of the communicator and rank: what does not depend on names, of which the rank that
/// gives it may be missing.
type Calls = BTreeMap<(String, u64, Option<u32>, u32), (u64, u64, u64)>;

fn calls(profile: &Profile) -> Calls {
    let mut sums = Calls::new();
    for call in &profile.calls {
        let sum = sums.entry((call.op.clone(), call.bucket_lo, call.comm_size, call.rank)).or_default();
        *sum = (sum.0 + call.calls, sum.1 + call.bytes_sent, sum.2 + call.bytes_recv);
    }
    sums
}
