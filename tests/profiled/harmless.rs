//! The profiler changes nothing: results, return codes, exit statuses, output, files of others.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{
    Launch, Mpi, Profile, Run, answer, check, check_profile, demand, execute, library, side_by_side, with_fortran,
};
use commsee::profile::recover;

/// Runs the same job without and with the profiler; everything that a user sees of the job must be the same.
fn twins(launch: impl Fn() -> Launch) -> Run {
    let pair = || (launch().run(), launch().plain().run());
    // A launcher that sees a connection closed before it sees the end of the process gives a status of its own (MPICH's 1 in place of 4): now and then, and
    // without the profiler, too.
    let is_alike = |(profiled, plain): &(Run, Run)| plain.status == profiled.status || plain.status.success();
    let (profiled, plain) = (0..5).map(|_| pair()).find(is_alike).unwrap_or_else(pair);
    assert_eq!(plain.status, profiled.status, "{}\nwithout the profiler:\n{}", profiled.output(), plain.output());
    // A launcher that takes a job down may lose what its ranks have just said.
    if !plain.status.success() && plain.stdout.len().min(profiled.stdout.len()) == 0 {
        return profiled;
    }
    // Behind this line MPICH's launcher tells of one of the processes that ended badly: of which one differs.
    let of_program = |run: &Run| run.stdout.split("\n=====").next().map(str::to_owned);
    assert_eq!(of_program(&plain), of_program(&profiled));
    profiled
}

/// Whoever waits in `MPI_Finalize` for others goes on with the messages that these wait for. Over UCX, too, which Debian's Open MPI does not take
/// by itself.
#[test]
fn messages_go_on_while_others_are_waited_for() {
    for mpi in Mpi::ALL {
        side_by_side([false, true], |over_ucx| {
            let launch = Launch::new(mpi, "late_receive").ranks(3);
            let ucx = [("pml", "ucx"), ("pml_ucx_tls", "any"), ("pml_ucx_devices", "any")];
            let chosen = ucx.iter().filter(|_| over_ucx);
            let launch =
                chosen.fold(launch, |launch, (name, value)| launch.variable(&format!("OMPI_MCA_{name}"), value));
            check(&launch.run().succeeded());
        });
    }
}

#[test]
fn errors_are_returned_as_they_are() {
    for mpi in [Mpi::OpenMpi, Mpi::Mpich, Mpi::Standard].into_iter().filter(|mpi| mpi.is_there()) {
        let run = twins(|| Launch::new(mpi, "errors").ranks(2)).succeeded();
        assert!(run.stdout.contains("wait for all without statuses"), "{}", run.stdout);
        match mpi {
            // MPICH since 4.2 returns no error that a handler of the program has been told of.
            Mpi::Standard => _ = run.profile(),
            _ => check(&run),
        }
    }
}

/// Open MPI up to 5.0.9 says that a persistent request has failed in the status alone, if it is given any: a program that ignores statuses is told all the same.
#[test]
fn messages_that_are_too_long_are_told_as_they_are() {
    for mpi in Mpi::ALL {
        let launch =
            |how: &str| Launch::of(mpi, with_fortran(mpi, "too_long")).preload(library()).arguments(&[how]).ranks(1);
        for how in ["return", "handler", "fortran"] {
            for (name, value) in [("COMMSEE_SITES", "0"), ("COMMSEE_SITES", "1"), ("COMMSEE_TRACE", "1")] {
                let run = twins(|| launch(how).variable(name, value)).succeeded();
                let failed = "SELECT sum(failed) FROM profile WHERE comm = 'd0.1' AND op IN ('MPI_Waitall', 'MPI_Mrecv') GROUP BY op ORDER BY op DESC";
                let told = run.stdout.lines().last().expect("how many failed");
                assert_eq!(answer(&run.profile_path(), failed).join(" "), told, "{mpi} {how} {name}={value}");
            }
        }
        twins(|| launch("fatal"));
    }
}

/// What a handler of errors sets up is its own, though it has the handle of the request that failed.
#[test]
fn a_handle_that_a_handler_of_errors_is_given_is_a_new_request() {
    for mpi in Mpi::ALL {
        for kind in ["plain", "persistent"] {
            for way in ["wait", "all", "some"] {
                let run = twins(|| Launch::new(mpi, "reused").arguments(&[kind, way]).ranks(1)).succeeded();
                let made = "SELECT op, sum(calls), sum(bytes_recv) FROM profile WHERE comm = 'd0.2' AND op IN ('MPI_Start', 'MPI_Wait', 'MPI_Request_free') GROUP BY op ORDER BY op";
                let expected = ["MPI_Request_free|10|0", "MPI_Start|10|330", "MPI_Wait|20|0"];
                assert_eq!(answer(&run.profile_path(), made), expected, "{mpi} {kind} {way}");
            }
        }
    }
}

/// Nothing is asked of the library, or read, that only a call which succeeds is sure to have been given.
#[test]
fn calls_that_only_seem_to_succeed_do_no_harm() {
    for mpi in [Mpi::OpenMpi, Mpi::Mpich, Mpi::Standard].into_iter().filter(|mpi| mpi.is_there()) {
        let run = twins(|| Launch::new(mpi, "wrong").ranks(1)).succeeded();
        assert!(run.stdout.contains("sendrecv of -1"), "{}", run.stdout);
        let calls = run.profile().calls;
        let sent: u64 = calls.iter().filter(|call| call.op == "MPI_Sendrecv").map(|call| call.bytes_sent).sum();
        assert_eq!(sent, 3, "those that are right");
    }
}

#[test]
fn jobs_that_finalize_end_as_they_would() {
    for mpi in Mpi::ALL {
        for how in ["returns", "exits-3-after-finalize", "finalizes-at-exit"] {
            check(&twins(|| Launch::new(mpi, "exits").ranks(3).arguments(&[how])));
        }
        let run = twins(|| Launch::new(mpi, "exits").ranks(2).arguments(&["never-begins"]));
        assert!(!run.profile_path().exists() && run.left_behind().is_empty());
    }
}

#[test]
fn jobs_that_do_not_finalize_lose_no_count() {
    for mpi in Mpi::ALL {
        // Launchers wait a second for what they ask to end.
        side_by_side(["aborts-7", "is-killed", "segfaults", "exits-4-without-finalize"], |how| {
            let launch = |ranks, victim| Launch::new(mpi, "exits").ranks(ranks).arguments(&[how, victim]).waiting();
            // Which of several processes that end badly decides a job's status is left to chance: of one it is certain.
            twins(|| launch(1, "0"));
            let run = launch(3, "1").run();
            assert!(!run.status.success());
            assert!(!run.profile_path().exists(), "{how}: nobody can have written it");
            let left = &run.left_over();
            assert_eq!((left.world_size, left.shards.len()), (3, 3), "{how}");
            let mode = |shard: &PathBuf| fs::metadata(shard).expect("a shard").permissions().mode() & 0o777;
            assert!(left.shards.iter().all(|shard| mode(shard) == 0o600), "others cannot read shards");
            let recovered = recover::recover(left, &run.profile_path()).expect("a profile of the shards");
            assert_eq!(recovered.path, run.profile_path());
            assert_eq!((recovered.missing_ranks.count(), recovered.notes), (0, vec![]));
            let profile = Profile::read(&run.profile_path());
            assert!(profile.ranks.iter().all(|rank| rank.state != "finished"), "{how}");
            check_profile(&run, &profile);
        });
    }
}

/// The name of a file, for a look at it without the folder that it lies in.
fn named(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Processes that load the library and never call MPI: shells, launchers, scripts.
#[test]
fn processes_without_mpi_notice_nothing() {
    demand("python3", "python3");
    let commands: [&[&str]; 5] = [
        &["bash", "-c", "echo x; echo y >&2; exit 3"],
        &["ls", "/"],
        &["python3", "-c", "import threading, subprocess; print(subprocess.check_output(['echo', 'z']))"],
        &["bash", "-c", "(sleep 0.01 &) ; cat /proc/self/comm | tr a-z A-Z"],
        &["bash", "-c", "ulimit -n 8; exec env true"],
    ];
    for words in commands {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let run = |preload: Option<&Path>| {
            let mut command = Command::new(words[0]);
            command.args(&words[1..]).current_dir(folder.path()).env("COMMSEE_DIR", folder.path());
            command.env_remove("LD_PRELOAD").env_remove("COMMSEE_OUT");
            preload.map(|library| command.env("LD_PRELOAD", library));
            execute(&mut command)
        };
        let (plain, preloaded) = (run(None), run(Some(&library())));
        assert_eq!((plain.status, plain.stdout, plain.stderr), (preloaded.status, preloaded.stdout, preloaded.stderr));
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0, "{words:?} left files");
    }
}

/// Children of a process that calls MPI.
#[test]
fn children_count_nothing_and_clear_nothing_away() {
    for mpi in Mpi::ALL {
        check(&twins(|| Launch::new(mpi, "forks").ranks(2)).succeeded());
    }
}

#[test]
fn existing_files_are_left_alone() {
    for mpi in Mpi::ALL {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let wanted = folder.path().join("kept.db");
        fs::write(&wanted, "somebody else's").expect("a file");
        let out = wanted.to_str().expect("a path in UTF-8");
        for number in 1..=2 {
            let run = Launch::new(mpi, "control").ranks(2).variable("COMMSEE_OUT", out).run().succeeded();
            let taken = folder.path().join(format!("kept-{number}.db"));
            check_profile(&run, &Profile::read(&taken));
            assert!(run.stderr.contains(taken.to_str().unwrap()), "the name taken is said: {}", run.stderr);
        }
        assert_eq!(fs::read_to_string(&wanted).unwrap(), "somebody else's");
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(names.filter(|name| !name.contains("-snapshot-")).count(), 3);
    }
}

#[test]
fn a_directory_takes_the_profile() {
    for mpi in Mpi::ALL {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let out = folder.path().to_str().expect("a path in UTF-8");
        let run = Launch::new(mpi, "control").ranks(2).variable("COMMSEE_OUT", out).run().succeeded();
        let files: Vec<PathBuf> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        let [profile] = &files[..] else { panic!("{files:?} in {out}\n{}", run.output()) };
        assert!(named(profile).starts_with("commsee-"), "{files:?}");
        check_profile(&run, &Profile::read(profile));
    }
}

#[test]
fn an_unwritable_place_costs_neither_the_job_nor_the_profile() {
    for mpi in Mpi::ALL {
        for wanted in ["/missing/folder/run.db", "/dev/null/run.db", "/proc/run.db", ""] {
            let launch = || Launch::new(mpi, "control").ranks(2).variable("COMMSEE_OUT", wanted);
            let run = twins(launch).succeeded();
            let words = run.stderr.split_whitespace().map(|word| word.trim_matches(['\'', ',', ':', '(', ')']));
            // An empty name stands for no name, and a relative one is below the job's working directory.
            let paths: Vec<PathBuf> =
                words.filter(|word| word.ends_with(".db")).map(|word| run.folder().join(word)).collect();
            let is_snapshot = |path: &&PathBuf| named(path).contains("-snapshot-");
            let (snapshots, profiles): (Vec<&PathBuf>, Vec<&PathBuf>) =
                paths.iter().filter(|path| path.exists()).partition(is_snapshot);
            for snapshot in snapshots.into_iter().filter(|path| !path.starts_with(run.folder())) {
                fs::remove_file(snapshot).expect("the snapshot can be removed");
            }
            let written = profiles.first();
            let written = written.unwrap_or_else(|| panic!("'{wanted}': no place is named\n{}", run.stderr));
            let profile = Profile::read(written);
            if wanted == "/missing/folder/run.db" {
                // First choice is where the job was started. The host is named: its disks may be the ones that lack the folder.
                assert_eq!(written, &&run.folder().join("run.db"));
                let host = commsee::profile::recover::host_name();
                let said = format!("{wanted} cannot be written on host {host} (No such file or directory); ");
                assert!(run.stderr.contains(&said), "{}", run.stderr);
            }
            if !written.starts_with(run.folder()) {
                fs::remove_file(written).expect("the profile can be removed");
            }
            check_profile(&run, &profile);
        }
    }
}

/// Shards on a file system that is not there: nothing can be recorded, the job goes on.
#[test]
fn a_job_without_room_for_its_counters_goes_on() {
    for mpi in Mpi::ALL {
        let launch = || Launch::new(mpi, "control").ranks(2).variable("COMMSEE_DIR", "/dev/null/shards");
        let run = twins(launch).succeeded();
        assert!(run.stderr.lines().any(|line| line.starts_with("commsee: ")), "what is lost is said: {}", run.stderr);
    }
}

/// Where files may not grow beyond a limit, the profiler must stay below it: the signal would end the program.
#[test]
fn a_limit_on_the_size_of_files_costs_the_profile_and_not_the_job() {
    for mpi in Mpi::ALL {
        let cycles = ["45000", "0"];
        let launch = || Launch::new(mpi, "churn").ranks(2).arguments(&cycles).largest_file(8 << 20);
        let run = twins(launch);
        assert!(run.status.success(), "the limit is one that the program itself lives with: {}", run.output());
        assert!(run.stderr.lines().any(|line| line.starts_with("commsee: ")), "what is lost is said: {}", run.stderr);
    }
}

/// What a shard had no room for was kept in memory, and must not end with the process where no profile holds it.
#[test]
fn a_full_file_system_costs_no_count_where_no_profile_can_be_written() {
    for mpi in Mpi::ALL {
        let link = vec!["-rdynamic".to_owned(), "-ldl".to_owned()];
        let program = common::Program { name: "filled", link }.compiled(mpi);
        let launch = Launch::of(mpi, program).preload(library()).ranks(2);
        let run = launch.variable("COMMSEE_OUT", &"x".repeat(300)).run().succeeded();
        assert!(run.stderr.contains("kept in memory only"), "{}", run.stderr);
        assert!(run.stderr.contains("`through recover` makes it from the shards"), "{}", run.stderr);
        recover::recover(&run.left_over(), &run.profile_path()).expect("a profile of the shards");
        let profile = Profile::read(&run.profile_path());
        for operation in ["MPI_Comm_dup", "MPI_Allreduce", "MPI_Comm_free"] {
            assert_eq!(profile.total(operation), 2000, "{operation} under {mpi}");
        }
    }
}

/// More ranks than are asked for their counters at a time: none of them may wait for a question that does not come.
#[test]
fn a_profile_that_cannot_be_written_holds_nobody_up() {
    for mpi in Mpi::ALL {
        // Longer than any file system takes: there is no other place either.
        let launch = Launch::new(mpi, "foreign").ranks(12).variable("COMMSEE_OUT", &"x".repeat(300));
        let run = launch.variable("COMMSEE_DIR", "/dev/null/shards").run().succeeded();
        assert!(run.stderr.contains("no profile could be written"), "{}", run.stderr);
    }
}

/// Processes that may not read each other's memory any more send small messages only, and so does the gathering. Of an address space that is
/// limited in the midst of the run, the program has what it needs.
#[test]
fn a_program_that_confines_itself_ends_as_it_would() {
    for mpi in Mpi::ALL {
        for how in ["reading", "memory"] {
            let run = twins(|| Launch::new(mpi, "confined").ranks(3).arguments(&[how]));
            assert!(run.status.success(), "{mpi}, {how}: {}", run.output());
            check(&run);
            let others: Vec<_> = run.stderr.lines().filter(|line| !line.starts_with("commsee: ")).collect();
            assert_eq!(others, Vec::<&str>::new(), "{mpi}, {how}");
        }
    }
}

/// The program writes nothing to its standard error, whose reader has gone: what the profiler says there ends nobody.
#[test]
fn a_closed_standard_error_is_nobodys_trouble() {
    for mpi in Mpi::ALL {
        let program = common::Program { name: "foreign", link: Vec::new() }.compiled(mpi);
        let folder = tempfile::tempdir().unwrap();
        let script = "{ sleep 0.3; \"$0\"; echo $? > status; } 2>&1 | true; cat status";
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(program).current_dir(folder.path()).env("LD_PRELOAD", library());
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        assert_eq!(execute(&mut command).stdout, "0\n", "{mpi}");
    }
}
