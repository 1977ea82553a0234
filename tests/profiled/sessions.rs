//! Programs with sessions, and snapshots: profiles that are made without a message.

use std::fs;
use std::process::Command;

use common::{Launch, Mpi, Profile, Program, Run, check, execute, fortran, library, shared_library};
use commsee::profile::recover;

/// Open MPI 4 has no sessions.
fn libraries() -> impl Iterator<Item = Mpi> {
    [Mpi::Mpich, Mpi::Standard].into_iter().filter(|mpi| mpi.is_there())
}

/// MPICH 4.0.2 crashes when MPI starts again after its end, with the profiler and without.
fn can_start_again(mpi: &Mpi) -> bool {
    *mpi != Mpi::Mpich
}

fn run(mpi: Mpi, how: &str, ranks: usize) -> Run {
    Launch::new(mpi, "sessions").arguments(&[how]).ranks(ranks).run().succeeded()
}

#[test]
fn a_program_without_init_leaves_one_profile() {
    for mpi in libraries() {
        for ranks in [1, 2, 4] {
            let run = run(mpi, "one", ranks);
            check(&run);
            assert_eq!(run.left_behind(), Vec::<std::path::PathBuf>::new(), "{}", run.output());
            assert_eq!(run.stderr.lines().filter(|line| line.contains("profile in")).count(), 1, "{}", run.stderr);
        }
    }
}

/// What a shard found no room for was kept in memory, which ends with its process: the last one makes the profile of files.
#[test]
fn a_full_file_system_costs_no_count_of_sessions() {
    for mpi in libraries() {
        let link = vec!["-rdynamic".to_owned(), "-ldl".to_owned()];
        let program = Program { name: "filled", link }.compiled(mpi);
        let run = Launch::of(mpi, program).preload(library()).ranks(3).arguments(&["sessions"]).run().succeeded();
        assert!(run.stderr.contains("kept in memory only"), "{}", run.stderr);
        let profile = run.profile();
        assert_eq!(profile.total("MPI_Allreduce"), 3000, "{mpi}");
        assert_eq!(profile.total("MPI_Session_finalize"), 3, "{mpi}");
        assert_eq!(run.left_behind(), Vec::<std::path::PathBuf>::new(), "{}", run.output());
    }
}

#[test]
fn several_sessions_are_one_run() {
    libraries().for_each(|mpi| check(&run(mpi, "several", 3)));
    // With three ranks MPICH 5.0.2 hangs in its second start in one of twenty runs, without commsee as well.
    libraries().filter(can_start_again).for_each(|mpi| check(&run_again(mpi)));
}

/// In its second start a rank of MPICH 5.0.2 may, once in some hundred runs, read where another one was in the first, and then ends itself.
fn run_again(mpi: Mpi) -> Run {
    let launch = || Launch::new(mpi, "sessions").arguments(&["again"]).ranks(2).run();
    let is_lost = |run: &Run| run.stderr.contains("Fatal error in internal_Comm_create_from_group");
    (0..3).map(|_| launch()).find(|run| !is_lost(run)).unwrap_or_else(launch).succeeded()
}

#[test]
fn sessions_beside_init_are_part_of_its_profile() {
    libraries().for_each(|mpi| check(&run(mpi, "beside", 2)));
    libraries().filter(can_start_again).for_each(|mpi| check(&run(mpi, "before", 2)));
    for mpi in libraries() {
        let run = run(mpi, "across", 2);
        check(&run);
        // Nothing of ours keeps MPI alive.
        assert_eq!(run.stdout.matches("MPI has ended").count(), 2, "{}", run.output());
    }
}

/// The launcher is found behind the shells that it starts.
#[test]
fn sessions_under_a_script_are_one_run() {
    for mpi in libraries() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let script = folder.path().join("run.sh");
        std::fs::write(&script, "#!/bin/sh\n\"$@\"\nexit $?\n").expect("a script");
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a script");
        let program = Program { name: "sessions", link: Vec::new() }.compiled(mpi);
        let launch = Launch::of(mpi, script).preload(library());
        check(&launch.arguments(&[program.to_str().expect("a path in UTF-8"), "one"]).run().succeeded());
    }
}

#[test]
fn sessions_in_fortran_need_no_world() {
    let run = Launch::of(Mpi::Mpich, fortran(Mpi::Mpich, "session", 3)).preload(library()).run().succeeded();
    let profile = run.profile();
    for (operation, calls) in [("MPI_Barrier", 2), ("MPI_Ibarrier", 2), ("MPI_Wait", 2), ("MPI_Session_init", 2)] {
        assert_eq!(profile.total(operation), calls, "{operation}");
    }
}

#[test]
fn snapshots_hold_what_was_counted_so_far() {
    for mpi in Mpi::ALL {
        let run = Launch::new(mpi, "snapshots").ranks(3).run().succeeded();
        check(&run);
        for number in [1, 2] {
            let snapshot = Profile::read(&run.folder().join(format!("profile-snapshot-{number}.db")));
            assert_eq!((snapshot.total("MPI_Barrier"), snapshot.total("MPI_Pcontrol")), (number * 30, number * 3));
            assert_eq!((snapshot.ranks.len(), snapshot.total("MPI_Finalize")), (3, 0));
            assert!(snapshot.ranks.iter().all(|rank| rank.state == "running"), "{:?}", snapshot.ranks);
        }
        assert_eq!(run.left_behind(), Vec::<std::path::PathBuf>::new());
    }
}

/// The claim to write what all have ready is that of a living process: nobody waits for one that was killed, or for one that lives.
#[test]
fn the_claim_of_a_killed_process_holds_nobody_up() {
    for mpi in Mpi::ALL {
        for how in ["killed", "held"] {
            let run = Launch::new(mpi, "claimed").arguments(&[how]).ranks(3).run().succeeded();
            let snapshot = Profile::read(&run.folder().join("profile-snapshot-1.db"));
            assert_eq!((snapshot.total("MPI_Pcontrol"), snapshot.ranks.len()), (3, 3), "{mpi} {how}");
            assert_eq!(run.profile().total("MPI_Pcontrol"), 3, "{mpi} {how}");
        }
    }
}

/// Who joins is killed when the profile is whole, and about to get its name: the shards are there, and nothing of it stays.
#[test]
fn what_a_killed_joiner_leaves_becomes_a_profile() {
    let dies = |mpi, program, how: &[&str]| {
        let launch = Launch::new(mpi, program).arguments(how).ranks(3).preload(shared_library("broken"));
        let launch = launch.variable("BROKEN_FUNCTION", "renameat2").variable("UCX_MEM_EVENTS", "n");
        let run = launch.variable("BROKEN_DIES", "1").run();
        let left = run.left_over();
        assert!(!run.profile_path().exists(), "{}", run.output());
        assert!(left.others.iter().any(|path| path.to_string_lossy().ends_with(".claim")), "{:?}", left.others);
        let recovered = recover::recover(&left, &run.profile_path()).expect("a profile of the shards");
        assert!(recovered.missing_ranks.is_empty() && recovered.notes.is_empty());
        left.remove().expect("shards and what lies beside them");
        assert_eq!(fs::read_dir(run.folder().join("shards")).expect("the folder").count(), 0);
        Profile::read(&run.profile_path())
    };
    for mpi in Mpi::ALL {
        assert_eq!(dies(mpi, "snapshots", &[]).total("MPI_Pcontrol"), 3, "{mpi}: the first snapshot");
    }
    for mpi in libraries() {
        assert_eq!(dies(mpi, "sessions", &["one"]).total("MPI_Session_finalize"), 3, "{mpi}");
    }
}

/// Started by one shell at the same time, without a launcher: nothing in their surroundings tells these runs apart.
#[test]
fn runs_of_one_process_each_keep_apart() {
    for mpi in libraries() {
        let program = Program { name: "sessions", link: Vec::new() }.compiled(mpi);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let script = "for run in 1 2 3 4 5 6 7 8; do LD_PRELOAD=$1 \"$0\" one & done; wait";
        let mut command = Command::new("bash");
        command.args(["-c", script]).arg(program).arg(library()).current_dir(folder.path());
        command.env("COMMSEE_DIR", folder.path()).env("COMMSEE_OUT", "run.db").env_remove("COMMSEE_LAUNCH");
        let done = execute(&mut command);
        let entries = fs::read_dir(folder.path()).expect("the folder").map(|entry| entry.unwrap().path());
        let profiles: Vec<_> = entries.collect();
        assert!(profiles.iter().all(|path| path.extension().is_some_and(|end| end == "db")), "{profiles:?}");
        assert_eq!(profiles.len(), 8, "{mpi}: {profiles:?}\n{}", done.stderr);
        assert!(profiles.iter().all(|path| Profile::read(path).total("MPI_Session_init") == 1));
    }
}

/// Nobody waits for a process that takes no snapshot: the others' is written at the end.
#[test]
fn a_snapshot_waits_for_nobody() {
    for mpi in Mpi::ALL {
        let run = Launch::new(mpi, "snapshots").arguments(&["partial"]).ranks(3).run().succeeded();
        check(&run);
        let snapshot = Profile::read(&run.folder().join("profile-snapshot-2.db"));
        assert_eq!((snapshot.total("MPI_Barrier"), snapshot.ranks.len()), (40, 2));
    }
}
