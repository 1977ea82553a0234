//! Jobs over several hosts that end badly: nothing that was counted is lost, no rank that lives is robbed, and what is said is true.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use common::{
    Cluster, Done, Facts, Job, Kin, Mpi, Profile, Run, Running, check, check_profile, side_by_side, target_folder,
    wait_for,
};

const PLACES: [(&str, usize); 3] = [("node1", 1), ("node2", 2), ("node3", 1)];
/// A rank on another host than rank 0 and the launcher.
const VICTIM: &str = "2";

/// How a job ends: by one of its ranks, as `exits.c` does it, or from outside.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Rank(&'static str),
    /// SIGKILL for the launcher.
    Launcher,
    /// Node 2 loses power.
    Node,
}

impl End {
    fn arguments(self) -> [&'static str; 2] {
        match self {
            End::Rank(how) => [how, VICTIM],
            _ => ["waits", VICTIM],
        }
    }

    /// Ends a job that has been started, from outside where it does not end by itself.
    fn strike(self, cluster: &Cluster, mpi: Mpi, launcher: &[&str], running: &Running) {
        running.wait_until_met();
        match self {
            End::Rank("one-exits-3") if mpi == Mpi::Mpich => {
                // Hydra lets the others wait for ever, without commsee as well: the user ends it.
                let is_gone = || (cluster.running("node2", "exits-mpich") < 2).then_some(());
                wait_for("end of one rank", is_gone, || running.output());
                cluster.signal("login", "TERM", launcher);
            }
            End::Rank(_) => {}
            End::Launcher => cluster.signal("login", "KILL", launcher),
            End::Node => {
                cluster.kill_node("node2");
                if mpi == Mpi::OpenMpi {
                    // Open MPI 4.1's launcher says so and then waits for ever in most runs, without commsee as well: the user ends it.
                    let is_told = || running.output().contains("has lost communication").then_some(());
                    wait_for("word of the lost node", is_told, || running.output());
                    cluster.signal("login", "KILL", launcher);
                }
            }
        }
    }
}

fn launcher(mpi: Mpi) -> &'static str {
    if mpi == Mpi::OpenMpi { "mpirun.openmpi" } else { "mpiexec.mpich" }
}

fn ended(cluster: &Cluster, mpi: Mpi, end: End, with: impl Fn(Job<'_>) -> Job<'_>) -> Run {
    let job = with(cluster.job(mpi, "exits").hosts(&PLACES).arguments(&end.arguments()));
    let running = job.start();
    end.strike(cluster, mpi, &[launcher(mpi)], &running);
    running.wait()
}

fn ended_under(cluster: &Cluster, kin: &Kin, end: End, with: impl Fn(Job<'_>) -> Job<'_>) -> Run {
    let job = with(cluster.job_under(kin, "exits").hosts(&PLACES).arguments(&end.arguments()));
    let running = job.start();
    end.strike(cluster, kin.mpi(), kin.launcher_names(), &running);
    running.wait()
}

/// The status as a shell tells it: `through run` cannot be killed by its job's signal.
fn code(run: &Run) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    run.status.code().unwrap_or_else(|| 128 + run.status.signal().unwrap_or(0))
}

/// What commsee left in the folder of the job, at home and on the hosts that are up.
fn left(cluster: &Cluster, run: &Run) -> Vec<String> {
    let mut left = cluster.left_on_hosts();
    left.extend(run.left_behind().iter().map(|path| path.display().to_string()));
    left.extend(cluster.left_at_home().iter().map(|name| format!("$HOME/{}", name.display())));
    left
}

/// All ranks of all hosts are in the one profile, with all that they had done.
fn check_whole(run: &Run, what: &str) {
    assert!(run.profile_path().exists(), "{what}: no profile\n{}", run.output());
    let profile = Profile::read(&run.profile_path());
    let ranks: Vec<(u32, &str)> = profile.ranks.iter().map(|rank| (rank.rank, rank.host.as_str())).collect();
    assert_eq!(ranks, [(0, "node1"), (1, "node2"), (2, "node2"), (3, "node3")], "{what}: {}", run.output());
    assert!(profile.ranks.iter().all(|rank| rank.state != "finished"), "{what}: {:?}", profile.ranks);
    check_profile(run, &profile);
}

/// By `through run`: when it is back the profile is there, and the status is that of the job without commsee.
fn check_through_run(cluster: &Cluster, mpi: Mpi, end: End, with: impl Fn(Job<'_>) -> Job<'_>) {
    let what = format!("{mpi} {end:?}");
    let through = ended(cluster, mpi, end, |job| with(job).through());
    check_end(cluster, &through, &what, || ended(cluster, mpi, end, |job| with(job).plain()));
}

fn check_end(cluster: &Cluster, run: &Run, what: &str, plain: impl Fn() -> Run) {
    assert_ne!(code(run), 0, "{what}: {}", run.output());
    // Which of several processes that end badly decides a job's status is left to chance by launchers on a busy machine, and MPICH 4.3.2's fails
    // in a quarter of all cases itself.
    let is_same = (0..20).any(|_| code(&plain()) == code(run));
    assert!(is_same, "{what}: never {} without commsee\n{}", code(run), run.output());
    check_whole(run, what);
    assert_eq!(left(cluster, run), Vec::<String>::new(), "{what}: {}", run.output());
    assert!(run.stderr.contains("4 ranks on 3 hosts"), "{what}: {}", run.stderr);
    assert!(
        !run.stderr.contains("nothing was profiled") && !run.stderr.contains("left no shard"),
        "{what}: {}",
        run.stderr
    );
}

const ENDS: [End; 5] =
    [End::Rank("is-killed"), End::Rank("segfaults"), End::Rank("aborts-7"), End::Rank("one-exits-3"), End::Launcher];

#[test]
fn whoever_ends_a_job_its_profile_is_whole() {
    side_by_side(Mpi::ALL, |mpi| {
        let Some(cluster) = Cluster::start(3) else { return };
        for end in ENDS {
            check_through_run(&cluster, mpi, end, |job| job);
        }
    });
}

#[test]
fn so_it_is_with_shards_in_a_shared_directory() {
    let Some(cluster) = Cluster::start(3) else { return };
    for mpi in Mpi::ALL {
        for end in [End::Rank("is-killed"), End::Launcher] {
            check_through_run(&cluster, mpi, end, |job| job.shared_shards());
        }
    }
}

/// Launchers of other versions and libraries end their ranks in ways of their own.
#[test]
fn so_it_is_under_other_libraries() {
    let Some(cluster) = Cluster::start(3) else { return };
    for kin in Kin::all() {
        for end in [End::Rank("is-killed"), End::Launcher] {
            let through = ended_under(&cluster, &kin, end, |job| job.through());
            let what = format!("{} {end:?}", kin.name());
            check_end(&cluster, &through, &what, || ended_under(&cluster, &kin, end, |job| job.plain()));
        }
    }
}

/// Nobody waits for the job's end: its shards stay, and a command that is told gets them.
#[test]
fn a_job_without_through_run_is_collected_afterwards() {
    let Some(cluster) = Cluster::start(3) else { return };
    let share: fn(Job) -> Job = |job| job.shared_shards();
    let on_nodes: fn(Job) -> Job = |job| job;
    let all = [
        (Mpi::OpenMpi, End::Rank("is-killed"), on_nodes),
        (Mpi::OpenMpi, End::Launcher, share),
        (Mpi::Mpich, End::Launcher, on_nodes),
        (Mpi::Mpich, End::Rank("aborts-7"), share),
    ];
    for (mpi, end, with) in all {
        let what = format!("{mpi} {end:?}");
        let run = ended(&cluster, mpi, end, with);
        assert!(!run.profile_path().exists(), "{what}: {}", run.output());
        let told = through(&cluster, &run, "recover");
        assert!(told.stderr.contains("there are shards of"), "{what}: {}", told.stderr);
        assert!(
            told.stderr.contains("node2") && told.stderr.contains("fetch them: through recover --all-hosts"),
            "{}",
            told.stderr
        );
        let collected = through(&cluster, &run, "recover --all-hosts --rsh vssh");
        assert!(collected.status.success(), "{what}: {}", collected.stderr);
        check_whole(&run, &what);
        assert_eq!(left(&cluster, &run), Vec::<String>::new(), "{what}: {}", collected.stderr);
    }
}

/// A command of `through` on the login host, in the folder of a job.
fn through(cluster: &Cluster, run: &Run, command: &str) -> Done {
    let program = target_folder().join("release/through");
    cluster.on("login", &format!("cd '{}' && '{}' {command}", run.folder().display(), program.display()))
}

/// What the ranks of a lost host did is lost with its memory. All else is in the profile, and the user reads what is not.
#[test]
fn a_lost_node_costs_its_own_ranks_only() {
    for mpi in Mpi::ALL {
        let Some(cluster) = Cluster::start(3) else { return };
        let run = ended(&cluster, mpi, End::Node, |job| job.through());
        assert_ne!(code(&run), 0, "{mpi}: {}", run.output());
        assert!(run.profile_path().exists(), "{mpi}: {}", run.output());
        let profile = Profile::read(&run.profile_path());
        let ranks: Vec<u32> = profile.ranks.iter().map(|rank| rank.rank).collect();
        assert_eq!(ranks, [0, 3], "{mpi}: {}", run.output());
        let of_others = |facts: Facts| -> BTreeMap<_, _> {
            facts.calls.into_iter().filter(|((.., rank), _)| ranks.contains(rank)).collect()
        };
        assert_eq!(of_others(Facts::found(&profile)), of_others(Facts::said(&run, &profile)), "{mpi}");
        let ours = |line: &&str| ["commsee: ", "through: "].iter().any(|name| line.starts_with(name));
        let says = |word: &str| run.stderr.lines().filter(ours).any(|line| line.contains(word));
        assert!(says("node2") && says("1-2"), "{mpi}: {}", run.stderr);
    }
}

/// A shared directory outlives the node.
#[test]
fn a_lost_node_costs_nothing_in_a_shared_directory() {
    let Some(cluster) = Cluster::start(3) else { return };
    let run = ended(&cluster, Mpi::Mpich, End::Node, |job| job.shared_shards().through());
    assert_ne!(code(&run), 0, "{}", run.output());
    check_whole(&run, "a lost node");
    assert_eq!(left(&cluster, &run), Vec::<String>::new(), "{}", run.output());
}

/// The shards in a directory, by name and inode.
fn shards(folder: &std::path::Path) -> Vec<(PathBuf, u64)> {
    use std::os::unix::fs::MetadataExt;
    let paths = fs::read_dir(folder).expect("the directory").map(|entry| entry.unwrap().path());
    let shards = paths.filter(|path| path.extension().is_some_and(|end| end == "shard"));
    let mut shards: Vec<_> =
        shards.map(|path| (path.clone(), path.metadata().map_or(0, |facts| facts.ino()))).collect();
    shards.sort();
    shards
}

/// Looked at from a host without ranks, from another PID namespace, and from a host that bears the name of one with ranks: shards of
/// ranks that live stay, and the job ends as if nobody had looked.
#[test]
fn no_shard_of_a_living_rank_is_touched() {
    let Some(cluster) = Cluster::start(3) else { return };
    cluster.tell("node3", "hostname node2");
    let through = target_folder().join("release/through").display().to_string();
    let places = [
        ("login", ""),
        ("node1", ""),
        ("node1", "unshare --pid --fork --mount-proc "),
        ("node3", ""),
        ("node3", "unshare --pid --fork --mount-proc "),
    ];
    for mpi in Mpi::ALL {
        let job = cluster.job(mpi, "exits").hosts(&[("node1", 1), ("node2", 2)]).arguments(&["goes-on"]);
        let running = job.shared_shards().start();
        running.wait_until_met();
        let folder = running.folder().join("shards");
        let before = shards(&folder);
        assert_eq!(before.len(), 3, "{mpi}: {}", running.output());
        for (host, namespace) in places {
            for command in [
                "recover -o /tmp/taken.db",
                "recover --force -o /tmp/taken.db",
                "recover --clean",
                "recover --clean --force",
            ] {
                let done = cluster.on(host, &format!("{namespace}'{through}' {command} '{}'", folder.display()));
                let what = format!("{mpi}: {host}: {namespace}through {command}: {}{}", done.stdout, done.stderr);
                assert_eq!(shards(&folder), before, "{what}");
                let made = cluster.tell(host, "ls /tmp | grep -c taken || true");
                assert_eq!(made, "0\n", "{what}");
            }
        }
        running.go();
        let run = running.wait().succeeded();
        check(&run);
        assert_eq!(left(&cluster, &run), Vec::<String>::new(), "{mpi}: {}", run.output());
    }
}

/// The launcher is killed, and the daemon of node 2 does not get to end its ranks: they live on, with their shards, and when they have
/// ended `through recover --all-hosts` makes the whole profile.
#[test]
fn ranks_that_outlive_their_launcher_keep_their_shards() {
    let through = target_folder().join("release/through").display().to_string();
    side_by_side([(Mpi::OpenMpi, "orted"), (Mpi::Mpich, "hydra_pmi_proxy")], |(mpi, daemon)| {
        let Some(cluster) = Cluster::start(3) else { return };
        let name = format!("exits-{mpi}");
        let job = cluster.job(mpi, "exits").hosts(&PLACES).arguments(&["waits"]).shared_shards().through();
        let running = job.start();
        running.wait_until_met();
        cluster.signal("node2", "STOP", &[daemon]);
        cluster.signal("login", "KILL", &[launcher(mpi)]);
        let run = running.wait();
        assert_eq!(cluster.running("node2", &name), 2, "{mpi}: the ranks of node 2 live");
        let folder = run.folder().join("shards");
        let of_living = |shards: &[(PathBuf, u64)]| {
            let is_theirs = |(path, _): &&(PathBuf, u64)| {
                ["-1.shard", "-2.shard"].iter().any(|end| path.to_string_lossy().ends_with(end))
            };
            shards.iter().filter(is_theirs).cloned().collect::<Vec<_>>()
        };
        let before = of_living(&shards(&folder));
        assert_eq!(before.len(), 2, "{mpi}: {}", run.output());
        // What the user reads: who still runs, and where.
        let said = "node2 still runs ranks 1-2; when they have ended, run: through recover --all-hosts";
        assert!(run.stderr.contains(said), "{mpi}: {}", run.stderr);
        for host in ["login", "node1", "node2"] {
            for command in ["recover -o /tmp/taken.db", "recover --clean"] {
                let done = cluster.on(host, &format!("'{through}' {command} '{}'", folder.display()));
                let what = format!("{mpi}: {host}: {command}: {}{}", done.stdout, done.stderr);
                assert_eq!(of_living(&shards(&folder)), before, "{what}");
            }
        }
        cluster.signal("node2", "KILL", &[&name]);
        let collected = self::through(&cluster, &run, "recover --all-hosts --rsh vssh");
        assert!(collected.status.success(), "{mpi}: {}", collected.stderr);
        check_whole(&run, &format!("{mpi}, of ranks that lived on"));
        cluster.signal("node2", "KILL", &[daemon]);
    });
}

/// Open MPI 4 has no sessions.
#[test]
fn sessions_over_several_hosts_are_one_run() {
    let Some(cluster) = Cluster::start(2) else { return };
    for is_shared in [false, true] {
        let job = cluster.job(Mpi::Mpich, "sessions").hosts(&[("node1", 2), ("node2", 2)]).arguments(&["one"]);
        let run = if is_shared { job.shared_shards() } else { job }.run().succeeded();
        let is_there = || run.profile_path().exists().then_some(());
        wait_for("profile", is_there, || format!("shared: {is_shared}: {:?}\n{}", left(&cluster, &run), run.output()));
        let is_clear = || left(&cluster, &run).is_empty().then_some(());
        wait_for("end of clearing away", is_clear, || format!("shared: {is_shared}: {:?}", left(&cluster, &run)));
        check(&run);
        assert_eq!(
            run.profile().ranks.iter().map(|rank| &rank.host[..]).collect::<Vec<_>>(),
            ["node1", "node1", "node2", "node2"]
        );
    }
}

/// The host with the shards bears the name of the one where somebody looks for them.
#[test]
fn a_host_of_the_same_name_is_not_taken_for_the_one_with_the_shards() {
    let Some(cluster) = Cluster::start(2) else { return };
    cluster.tell("node2", "hostname login");
    let job = cluster.job(Mpi::Mpich, "exits").hosts(&[("node1", 1), ("node2", 1)]).arguments(&["aborts-7"]);
    let run = job.through().run();
    let is_shard = |path: &&String| path.starts_with("node2:") && path.ends_with(".shard");
    assert_eq!(left(&cluster, &run).iter().filter(is_shard).count(), 1, "{}", run.output());
    let said = |line: &str| line.contains("login") && line.contains("through recover --all-hosts");
    assert!(run.stderr.lines().any(said), "{}", run.stderr);
    // What tells of it stays for whoever comes after.
    assert!(left(&cluster, &run).iter().any(|path| path.ends_with(".joined")), "{}", run.output());
}
