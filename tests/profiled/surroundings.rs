//! What belongs to the program stays the program's: errno, signals, descriptors, limits, the time before `MPI_Init` and after
//! `MPI_Finalize`. What belongs to the profiler is nobody else's.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use common::{
    Launch, Mpi, Profile, Program, Run, check, check_profile, executable, execute, library, plugin, shared_library,
};

/// The job with the profiler and without: their status, and what they print, are the same.
fn same(launch: impl Fn() -> Launch) -> Run {
    let (plain, profiled) = (launch().plain().run(), launch().run());
    assert_eq!(
        (plain.status, &plain.stdout),
        (profiled.status, &profiled.stdout),
        "{}\n{}",
        plain.output(),
        profiled.output()
    );
    profiled
}

#[test]
fn errno_is_the_programs() {
    for mpi in Mpi::ALL {
        let run = same(|| Launch::new(mpi, "errno")).succeeded();
        assert!(run.stdout.contains("most are kept: 1; changed: 0"), "{}", run.output());
        // The same when our own calls fail: shards cannot grow, snapshots cannot be taken.
        let broken = || Launch::new(mpi, "errno").preload(shared_library("broken")).variable("BROKEN_FUNCTION", "open");
        let broken = broken().variable("BROKEN_ERROR", "24").variable("BROKEN_CALL", "10");
        let run = broken.variable("BROKEN_TIMES", "100000").run().succeeded();
        assert!(run.stdout.contains("changed: 0") && run.stderr.contains("cannot grow"), "{}", run.output());
    }
}

#[test]
fn signals_and_descriptors_are_the_programs() {
    for mpi in Mpi::ALL {
        let run = same(|| Launch::new(mpi, "surroundings")).succeeded();
        assert!(run.stdout.contains("a child fails to find any: 1"), "{}", run.output());
        assert!(run.stdout.contains("destructor: initialized 1 finalized 1"), "{}", run.output());
        let calls = Profile::read(&run.profile_path()).total("MPI_Allreduce");
        assert_eq!(calls, 600, "{}", run.output());

        // Nor can a child inherit what is open only for a moment.
        let folder = tempfile::tempdir().expect("a temporary folder");
        let launch = Launch::new(mpi, "surroundings").preload(shared_library("broken"));
        launch.variable("BROKEN_COUNTS", folder.path().to_str().unwrap()).run().succeeded();
        let counts: Vec<String> = fs::read_dir(folder.path())
            .expect("the folder")
            .map(|entry| fs::read_to_string(entry.unwrap().path()).expect("the counts"))
            .filter(|counts| !counts.contains("open 0\n"))
            .collect();
        assert_eq!(counts.len(), 2, "each process opens files");
        assert!(counts.iter().all(|counts| counts.contains("\ninheritable 0\n")), "{counts:?}");
    }
}

#[test]
fn shards_are_readable_by_their_owner_only() {
    for mpi in Mpi::ALL {
        let run = Launch::new(mpi, "exits").arguments(&["is-killed"]).run();
        let shards = run.left_over().shards;
        assert_eq!(shards.len(), 2);
        for shard in shards {
            let mode = fs::metadata(&shard).expect("the shard").permissions().mode();
            assert_eq!(mode & 0o7777, 0o600, "{}", shard.display());
        }
    }
}

/// The umask is the program's, and it may forbid the owner of a file to read it.
#[test]
fn profiles_and_shards_are_their_owners_whatever_the_umask() {
    let mode = |path: &Path| {
        fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).permissions().mode() & 0o7777
    };
    for mpi in Mpi::ALL {
        for (umask, expected) in [("0027", 0o640), ("0177", 0o600), ("0777", 0o600)] {
            // MPI libraries fail where they cannot open their own files. Root can.
            // SAFETY: asks for a number.
            if umask != "0027" && unsafe { libc::geteuid() } != 0 {
                eprintln!("left out: umask {umask}, for other users than root");
                continue;
            }
            // The launcher and the MPI library make files of their own: the umask is set by a process between them, and one rank needs no others'.
            let under = |name: &str, arguments: &[&str]| {
                let program = Program { name, link: Vec::new() }.compiled(mpi);
                let script = format!("umask {umask}; exec \"$@\"");
                let words = ["-c", &script, "sh", program.to_str().expect("a path in UTF-8")];
                Launch::of(mpi, "/bin/sh".into())
                    .preload(library())
                    .ranks(1)
                    .arguments(&words)
                    .arguments(arguments)
                    .run()
            };
            let run = under("snapshots", &[]).succeeded();
            assert_eq!(mode(&run.profile_path()), expected, "{mpi}, umask {umask}");
            let snapshot = run.folder().join("profile-snapshot-1.db");
            assert_eq!(mode(&snapshot), expected, "{mpi}, umask {umask}");
            let run = under("exits", &["exits-4-without-finalize"]);
            assert_eq!(mode(&run.left_over().shards[0]), 0o600, "{mpi}, umask {umask}");
        }
    }
}

/// Where everybody may write, somebody may have put a link under our name, or in the place of a file of ours.
#[test]
fn planted_links_are_not_followed() {
    for mpi in Mpi::ALL {
        let mut found = 0;
        for call in 1..=12 {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let target = folder.path().join("somebody's");
            fs::write(&target, "somebody else's").expect("a file");
            let launch =
                Launch::new(mpi, "steady").preload(shared_library("broken")).variable("BROKEN_FUNCTION", "open");
            let launch = launch.variable("BROKEN_PLANT", target.to_str().unwrap()).variable("UCX_MEM_EVENTS", "n");
            let run = launch.variable("BROKEN_CALL", &call.to_string()).run().succeeded();
            assert_eq!(fs::read_to_string(&target).expect("the file"), "somebody else's", "call {call}");
            // The first files that are opened are the system's, where nobody can plant anything.
            found += u32::from(run.stderr.contains("in memory only"));
        }
        assert!(found >= 2, "of a shard, its making and its growing: {found}");
    }
}

#[test]
fn little_memory_and_few_descriptors_are_lived_with() {
    for mpi in Mpi::ALL {
        // About as little as the MPI libraries and their launchers can do with.
        for mebibytes in [600, 1000, 4000] {
            check(&same(|| Launch::new(mpi, "control").limited(libc::RLIMIT_AS, mebibytes << 20)).succeeded());
        }
        check(&same(|| Launch::new(mpi, "control").limited(libc::RLIMIT_NOFILE, 100)).succeeded());
    }
}

/// The preload reaches the launcher and what it starts, too.
#[test]
fn a_preloaded_launcher_launches() {
    for mpi in Mpi::ALL {
        let launch = || Launch::new(mpi, "control").variable("LD_PRELOAD", library().to_str().unwrap());
        check(&same(launch).succeeded());
    }
}

/// The plugin that brought MPI is unloaded before the program ends.
#[test]
fn an_unloaded_plugin_is_done_with() {
    for mpi in Mpi::ALL {
        let plugin = plugin(mpi, "control");
        let arguments = [plugin.to_str().expect("a path in UTF-8"), "closes"];
        let plain = Launch::of(mpi, executable("host")).arguments(&arguments).run();
        let run = Launch::of(mpi, executable("host")).preload(library()).arguments(&arguments).run();
        assert_eq!((plain.status, &plain.stdout), (run.status, &run.stdout), "{}", run.output());
        check_profile(&run, &run.profile());
    }
}

/// Values that no sane person sets.
#[test]
fn absurd_variables_do_no_harm() {
    let long = "x".repeat(100_000);
    let values: [&[u8]; 6] = [b"", b"\xff\xfe", b"-1", b"%%%n%s%p%", b"/dev/null/\n", long.as_bytes()];
    let names = commsee::settings::VARIABLES.iter().map(|variable| variable.name);
    let names: Vec<&str> = names.filter(|name| *name != "COMMSEE_DISABLE").collect();
    for mpi in Mpi::ALL {
        let program = Program { name: "foreign", link: Vec::new() }.compiled(mpi);
        let preloads = [library(), shared_library("yield")].map(|path| path.display().to_string());
        for value in values {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let mut command = Command::new(&program);
            command.current_dir(folder.path()).env("TMPDIR", folder.path()).env("LD_PRELOAD", preloads.join(":"));
            command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            command.envs(names.iter().map(|name| (name, OsStr::from_bytes(value))));
            let done = execute(&mut command);
            assert!(done.status.success(), "{mpi}: {}\n{}", done.status, done.stderr);
            assert!(!done.stderr.contains("internal error"), "{}", done.stderr);
        }
    }
}
