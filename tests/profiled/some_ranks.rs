//! The profiler on some ranks of a job only: the others must not notice, and the profile is that of the ranks that had it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Launch, Mpi, Profile, Program, Run, execute, library, side_by_side, target_folder, through};

/// Starts the program on some ranks in another way than on the others: `SCRIPT LIST WORD PROGRAM…` sets the variable in WORD, or
/// adds the library in it to the preloaded ones, on the ranks of the list.
const SCRIPT: &str = r#"
list=$1 word=$2; shift 2
case ",$list," in
*,${OMPI_COMM_WORLD_RANK:-$PMI_RANK},*)
    case $word in
    *=*) export "$word" ;;
    *) export LD_PRELOAD="$word${LD_PRELOAD:+:$LD_PRELOAD}" ;;
    esac ;;
esac
exec "$@"
"#;

fn on_some(mpi: Mpi, ranks: &str, word: &str, program: &Path) -> Launch {
    let program = program.to_str().expect("a path in UTF-8");
    Launch::of(mpi, PathBuf::from("/bin/sh")).arguments(&["-c", SCRIPT, "sh", ranks, word, program])
}

/// Calls and bytes by operation, bucket, size of the communicator and rank: what does not depend on names, of which the rank that
/// gives it may be missing.
type Counts = BTreeMap<(String, u64, Option<u32>, u32), (u64, u64, u64)>;

fn counts(profile: &Profile) -> Counts {
    let mut counts = Counts::new();
    for call in &profile.calls {
        let key = (call.op.clone(), call.bucket_lo, call.comm_size, call.rank);
        let sum = counts.entry(key).or_default();
        *sum = (sum.0 + call.calls, sum.1 + call.bytes_sent, sum.2 + call.bytes_recv);
    }
    counts
}

fn whole(mpi: Mpi, program: &Path, ranks: usize) -> (Run, Counts) {
    let run = Launch::of(mpi, program.to_owned()).ranks(ranks).preload(library()).run();
    assert_eq!((run.status.code(), run.stdout.as_str()), (Some(3), "0 wrong\n"), "{}", run.output());
    let counts = counts(&run.profile());
    (run, counts)
}

/// The job went as without the profiler, and its profile holds just what these ranks did.
fn holds(run: &Run, whole: &Counts, present: &[u32]) {
    assert_eq!((run.status.code(), run.stdout.as_str()), (Some(3), "0 wrong\n"), "{present:?}: {}", run.output());
    assert!(run.profile_path().exists(), "{present:?}: {}", run.output());
    let profile = Profile::read(&run.profile_path());
    assert_eq!(profile.ranks.iter().map(|rank| rank.rank).collect::<Vec<_>>(), present, "{}", run.output());
    assert!(profile.ranks.iter().all(|rank| rank.state == "finished"), "{present:?}");
    let expected: Counts =
        whole.iter().filter(|(key, _)| present.contains(&key.3)).map(|(key, sum)| (key.clone(), *sum)).collect();
    assert_eq!(counts(&profile), expected, "{present:?}");
    assert_eq!(run.left_behind(), Vec::<PathBuf>::new(), "{present:?}: {}", run.output());
    let world = profile.communicators.iter().find(|comm| comm.comm == "W0.0").expect("MPI_COMM_WORLD");
    assert_eq!((world.size as usize, &world.ranks[..]), (run.ranks, present));
}

#[test]
fn a_preload_on_some_ranks_harms_nobody() {
    for mpi in Mpi::ALL {
        let program = Program { name: "foremost", link: Vec::new() }.compiled(mpi);
        let (_, whole) = whole(mpi, &program, 4);
        let library = library();
        // Ranks wait for those that do not come.
        let some = [&[0][..], &[1], &[2], &[3], &[0, 1, 2], &[1, 2, 3], &[0, 2]];
        side_by_side(some, |present| {
            let list: Vec<String> = present.iter().map(u32::to_string).collect();
            let launch = on_some(mpi, &list.join(","), library.to_str().unwrap(), &program).ranks(4);
            let run = launch.waiting().run();
            holds(&run, &whole, present);
            let said = run.stderr.lines().filter(|line| line.contains("of 4 are in the profile")).count();
            assert_eq!(said, 1, "what is missing is said once: {}", run.stderr);
        });
    }
}

#[test]
fn a_rank_that_is_switched_off_harms_nobody() {
    for mpi in Mpi::ALL {
        let program = Program { name: "foremost", link: Vec::new() }.compiled(mpi);
        let (_, whole) = whole(mpi, &program, 3);
        side_by_side([0, 2], |off| {
            let launch = on_some(mpi, &off.to_string(), "COMMSEE_DISABLE=1", &program).preload(library());
            let present: Vec<u32> = (0..3).filter(|rank| *rank != off).collect();
            holds(&launch.ranks(3).waiting().run(), &whole, &present);
        });
    }
}

/// Two programs as one job, of which one is profiled.
#[test]
fn a_job_of_two_programs_may_be_profiled_in_part() {
    for mpi in Mpi::ALL {
        let program = Program { name: "foremost", link: Vec::new() }.compiled(mpi);
        let (_, whole) = whole(mpi, &program, 3);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let shards = folder.path().join("shards");
        std::fs::create_dir(&shards).expect("a folder");
        let mut command = mpi.launcher(1, &[]);
        let out = folder.path().join("profile.db");
        let preload = format!("LD_PRELOAD={}", library().display());
        let program = program.to_str().unwrap();
        command.args([program, ":", "-n", "2", "env", &preload, program]);
        let done = execute(command.env("COMMSEE_OUT", &out).env("COMMSEE_DIR", &shards));
        assert_eq!((done.status.code(), done.stdout.as_str()), (Some(3), "0 wrong\n"), "{}", done.stderr);
        let expected: Counts = whole.into_iter().filter(|(key, _)| key.3 > 0).collect();
        assert_eq!(counts(&Profile::read(&out)), expected);
    }
}

/// Each program of a job is named, with its ranks.
#[test]
fn programs_of_one_job_are_told_apart() {
    for mpi in Mpi::ALL {
        let program = Program { name: "foremost", link: Vec::new() }.compiled(mpi);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut command = mpi.launcher(1, &[]);
        let preload = format!("LD_PRELOAD={}", library().display());
        let program = program.to_str().unwrap();
        command.args(["env", &preload, program, "one", ":", "-n", "2", "env", &preload, program, "other"]);
        let out = folder.path().join("profile.db");
        let done = execute(command.env("COMMSEE_OUT", &out).env("COMMSEE_DIR", folder.path()));
        assert_eq!(done.status.code(), Some(3), "{}", done.stderr);
        let db = rusqlite::Connection::open(&out).expect("a profile");
        let programs = "SELECT value FROM meta WHERE key = 'programs'";
        let programs: String = db.query_row(programs, [], |row| row.get(0)).expect("several programs");
        assert_eq!(programs, format!("0\t{program} one\n1-2\t{program} other"));
        let through = target_folder().join("release/through");
        let shown = execute(Command::new(through).arg(&out).env("COLUMNS", "400")).stdout;
        assert!(shown.contains("other (ranks 1-2)"), "{shown}");
    }
}

/// Each rank was told other buckets: the profile has the edges that all share, and every call is in the right one of them.
#[test]
fn ranks_with_other_buckets_share_a_profile() {
    for mpi in Mpi::ALL {
        let program = Program { name: "foremost", link: Vec::new() }.compiled(mpi);
        let coarse = Launch::of(mpi, program.clone()).ranks(3).preload(library()).variable("COMMSEE_BUCKETS", "512");
        let coarse = counts(&coarse.run().profile());
        for present in ["0", "1,2"] {
            let launch = on_some(mpi, present, "COMMSEE_BUCKETS=4,512,4K", &program).preload(library()).ranks(3);
            let run = launch.variable("COMMSEE_BUCKETS", "128,512,1K").run();
            holds(&run, &coarse, &[0, 1, 2]);
            assert_eq!(run.stderr.matches("different COMMSEE_BUCKETS").count(), 1, "{}", run.stderr);
        }
    }
}

/// A timeline that reached some ranks only.
#[test]
fn a_timeline_on_some_ranks_harms_nobody() {
    for mpi in Mpi::ALL {
        let program = Program { name: "foremost", link: Vec::new() }.compiled(mpi);
        let (_, whole) = whole(mpi, &program, 3);
        let run = on_some(mpi, "1", "COMMSEE_TRACE=1", &program).preload(library()).ranks(3).run();
        holds(&run, &whole, &[0, 1, 2]);
    }
}

/// `through run` in front of a script that loses the preload on some ranks.
#[test]
fn through_run_shows_what_there_is() {
    for mpi in Mpi::ALL {
        let program = Program { name: "foremost", link: Vec::new() }.compiled(mpi);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let shards = folder.path().join("shards");
        std::fs::create_dir(&shards).expect("a folder");
        let script = "[ \"${OMPI_COMM_WORLD_RANK:-$PMI_RANK}\" = 1 ] && unset LD_PRELOAD; exec \"$0\"";
        let mut command = mpi.run_by(&through(), &["-o", "run.db"], 3);
        command.args(["/bin/sh", "-c", script]).arg(&program).current_dir(folder.path());
        let done = execute(command.env("COMMSEE_DIR", &shards));
        assert_eq!((done.status.code(), done.stdout.as_str()), (Some(3), "0 wrong\n"), "{}", done.stderr);
        let profile = Profile::read(&folder.path().join("run.db"));
        assert_eq!(profile.ranks.iter().map(|rank| rank.rank).collect::<Vec<_>>(), [0, 2], "{}", done.stderr);
        assert!(done.stderr.contains("only ranks 0,2 of 3"), "{}", done.stderr);
        assert!(done.stderr.contains("not in the profile: rank 1"), "{}", done.stderr);
    }
}
