//! Programs under sanitizers, memcheck and other allocators, and commsee's own threads under ThreadSanitizer: the preload library is built with it, and with it the programs. The MPI libraries are
//! not, so that what they do among themselves is not looked at. (Valgrind's drd and helgrind would not do: they know the
//! locks of pthreads only, and take every other one for a race.)

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{
    Done, Launch, Mpi, Program, Run, answer, check, execute, execute_within_s, library, shared_library, target_folder,
    through,
};

/// The preload library with the sanitizer's instrumentation. The compiler offers it to those who ask for what is not
/// stable yet, which the variable does.
fn instrumented_library() -> PathBuf {
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let target = target_folder().join("tsan");
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--release", "--package", "commsee-profiler", "--target", &host, "--target-dir"]).arg(&target);
    build.current_dir(env!("CARGO_MANIFEST_DIR")).env("RUSTC_BOOTSTRAP", "1");
    build.env("RUSTFLAGS", format!("--cfg instrumented -Zsanitizer=thread {}", beside_the_standard_library()));
    let built = execute_within_s(&mut build, 900);
    assert!(built.status.success(), "{}", built.stderr);
    target.join(host).join("release/libcommsee.so")
}

/// What newer compilers ask for, and older ones do not know, where the standard library is not instrumented.
fn beside_the_standard_library() -> &'static str {
    const FLAG: &str = "-Cunsafe-allow-abi-mismatch=sanitizer";
    let rustc =
        std::env::var("RUSTC").map_or_else(|_| PathBuf::from(env!("CARGO")).with_file_name("rustc"), PathBuf::from);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut empty = Command::new(rustc);
    empty
        .args(["-Zsanitizer=thread", FLAG, "--crate-type=lib", "--emit=metadata", "-", "--out-dir"])
        .arg(folder.path());
    if execute(empty.env("RUSTC_BOOTSTRAP", "1")).status.success() { FLAG } else { "" }
}

/// A run of an instrumented program, and what the sanitizer had to say, by report.
fn sanitized(mpi: Mpi, preload: &[PathBuf], name: &str, ranks: usize) -> (Run, Vec<String>) {
    let program = Program { name, link: vec!["-fsanitize=thread".to_owned()] }.compiled(mpi);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let log = folder.path().join("log");
    let options = format!("ignore_noninstrumented_modules=1 exitcode=0 log_path={}", log.display());
    let launch = preload.iter().fold(Launch::of(mpi, program), |launch, library| launch.preload(library.clone()));
    // UCX patches functions that the sanitizer has replaced, and the program crashes before anything else happens.
    let launch = launch.variable("TSAN_OPTIONS", &options).variable("UCX_MEM_EVENTS", "n");
    let run = launch.at_fixed_addresses().ranks(ranks).limit(300).run().succeeded();
    let read = |entry: std::io::Result<fs::DirEntry>| fs::read_to_string(entry.unwrap().path()).expect("a log");
    let logs: String = fs::read_dir(folder.path()).expect("the folder").map(read).collect();
    let reports = logs.split("WARNING: ThreadSanitizer").skip(1).map(str::to_owned).collect();
    (run, reports)
}

#[test]
fn a_program_with_the_sanitizer_runs_as_it_does_without_commsee() {
    for mpi in Mpi::ALL {
        let (run, reports) = sanitized(mpi, &[library()], "threads", 2);
        assert!(reports.is_empty(), "{mpi}: {reports:?}");
        check(&run);
    }
}

/// What faulty.c leaks.
const LEAKED: &str = "irect leak of 10 byte(s) in 1 object(s)";

/// Programs with a sanitizer of the compiler's find their errors, and no others, with and without `through run`: what it says of them, and the
/// status, are the same, and the profile is exact.
#[test]
fn sanitizers_find_what_they_find_without_commsee() {
    let sanitizers: [(&str, &[&str], &[&str]); 5] = [
        ("address", &["-fsanitize=address"], &["none", "overflow", "leak"]),
        ("address", &["-fsanitize=address", "-static-libasan"], &["none", "overflow"]),
        ("leak", &["-fsanitize=leak"], &["leak"]),
        ("thread", &["-fsanitize=thread"], &["none", "race"]),
        ("undefined", &["-fsanitize=undefined", "-fno-sanitize-recover"], &["none", "shift"]),
    ];
    // What the MPI library leaks by itself is not looked for.
    let options = [
        ("ASAN_OPTIONS", "detect_leaks=0"),
        ("TSAN_OPTIONS", "ignore_noninstrumented_modules=1"),
        ("UCX_MEM_EVENTS", "n"),
    ];
    for mpi in Mpi::ALL {
        for (sanitizer, flags, errors) in sanitizers {
            let program = Program { name: "faulty", link: flags.iter().map(|flag| (*flag).to_owned()).collect() };
            let program = program.compiled(mpi);
            for error in errors {
                let folder = tempfile::tempdir().expect("a temporary folder");
                let run = |mut command: Command| {
                    command.arg(&program).arg(error).current_dir(folder.path()).envs(options);
                    if *error == "leak" {
                        command.env("ASAN_OPTIONS", "detect_leaks=1");
                    }
                    // SAFETY: between fork and exec only this one system call is made.
                    unsafe {
                        command.pre_exec(|| {
                            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
                            Ok(())
                        })
                    };
                    execute_within_s(&mut command, 300)
                };
                let plain = run(mpi.launcher(1, &[]));
                let profiled = run(mpi.run_by(&through(), &["-o", "run.db"], 1));
                let what =
                    format!("{sanitizer} {error} under {mpi}: {}\nwithout commsee: {}", profiled.stderr, plain.stderr);
                // MPICH's launcher says in most runs that a process ended with an error, and not in all.
                let said = |run: &Done| run.stdout.split("\n====").next().map(str::to_owned);
                assert_eq!((profiled.status, said(&profiled)), (plain.status, said(&plain)), "{what}");
                let summaries = |text: &str| {
                    let lines =
                        text.lines().filter(|line| line.starts_with("SUMMARY: ") || line.contains("runtime error"));
                    // Either thread may come second to the race.
                    let lines = lines.filter_map(|line| line.split(" data race").next());
                    lines.map(str::to_owned).collect::<Vec<String>>()
                };
                match *error {
                    // MPI libraries leak texts that are longer where a process number is.
                    "leak" => assert!([&plain, &profiled].iter().all(|run| run.stderr.contains(LEAKED)), "{what}"),
                    _ => assert_eq!(summaries(&profiled.stderr), summaries(&plain.stderr), "{what}"),
                }
                assert_eq!(plain.status.success(), *error == "none", "{what}");
                let calls = "SELECT sum(calls) FROM profile WHERE op = 'MPI_Allreduce'";
                assert_eq!(answer(&folder.path().join("run.db"), calls), ["10"], "{what}");
            }
        }
    }
}

/// A runtime that is preloaded, and allocators, are no harm either.
#[test]
fn what_the_user_preloads_stays_at_work() {
    let libasan = execute(Command::new("cc").arg("-print-file-name=libasan.so")).stdout;
    for mpi in Mpi::ALL {
        let program = Program { name: "faulty", link: Vec::new() }.compiled(mpi);
        for library in [libasan.trim(), "libjemalloc.so.2", "libtcmalloc_minimal.so.4"] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let mut command = mpi.run_by(&through(), &["-o", "run.db"], 2);
            command.arg(&program).arg("loaded").current_dir(folder.path());
            command.env("LD_PRELOAD", library).env("ASAN_OPTIONS", "detect_leaks=0").env("UCX_MEM_EVENTS", "n");
            let done = execute(&mut command);
            if done.stderr.contains("cannot be preloaded") {
                eprintln!("left out: {library} is not there");
                continue;
            }
            assert!(done.status.success(), "{mpi} {library}: {}", done.stderr);
            let name = Path::new(library).file_stem().and_then(|name| name.to_str()).expect("a name");
            let name = name.split('.').next().expect("a name");
            assert!(done.stdout.contains(name), "{mpi} {library}: {}", done.stdout);
            let calls = "SELECT sum(calls) FROM profile WHERE op = 'MPI_Allreduce'";
            assert_eq!(answer(&folder.path().join("run.db"), calls), ["20"], "{mpi} {library}");
        }
    }
}

/// Valgrind's memcheck finds an error of the program, and none of commsee's.
#[test]
fn memcheck_finds_what_it_finds_without_commsee() {
    if execute(Command::new("sh").args(["-c", "command -v valgrind"])).stdout.is_empty() {
        return eprintln!("left out: valgrind is not there");
    }
    for mpi in Mpi::ALL {
        let program = Program { name: "faulty", link: Vec::new() }.compiled(mpi);
        for error in ["none", "overflow"] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let run = |mut command: Command| {
                command.args(["valgrind", "--error-exitcode=9"]).arg(&program).arg(error).current_dir(folder.path());
                execute_within_s(&mut command, 300)
            };
            let plain = run(mpi.launcher(1, &[]));
            let profiled = run(mpi.run_by(&through(), &["-o", "run.db"], 1));
            let what = format!("{error} under {mpi}: {}\nwithout commsee: {}", profiled.stderr, plain.stderr);
            assert_eq!(profiled.status, plain.status, "{what}");
            let errors = |text: &str| {
                let lines = text.lines().filter_map(|line| line.split_once("ERROR SUMMARY: "));
                lines.map(|(_, summary)| summary.to_owned()).collect::<Vec<String>>()
            };
            assert!(errors(&plain.stderr).len() == 1 && errors(&plain.stderr) == errors(&profiled.stderr), "{what}");
            let calls = "SELECT sum(calls) FROM profile WHERE op = 'MPI_Allreduce'";
            assert_eq!(answer(&folder.path().join("run.db"), calls), ["10"], "{what}");
        }
    }
}

#[test]
#[ignore = "heavy: builds the library once more"]
fn no_two_threads_touch_one_place_unordered() {
    let preload = [shared_library("tsan"), instrumented_library()];
    for mpi in Mpi::ALL {
        // The sanitizer is at work, sees single words and copies, and its reports are found.
        let (_, reports) = sanitized(mpi, &preload, "race", 1);
        for place in ["work", "__tsan_memcpy"] {
            assert!(
                reports.iter().any(|report| report.contains(&format!("#0 {place}"))),
                "{place} under {mpi}: {reports:?}"
            );
        }
        let programs = [
            ("thread_churn", 1),
            ("thread_churn", 2),
            ("thread_requests", 2),
            ("thread_completions", 2),
            ("thread_polls", 2),
            ("threads", 2),
        ];
        for (name, ranks) in programs {
            let (run, reports) = sanitized(mpi, &preload, name, ranks);
            let ours: Vec<&String> = reports.iter().filter(|report| report.contains("libcommsee")).collect();
            assert!(ours.is_empty(), "{} reports, {name} under {mpi}:\n{}", ours.len(), ours[0]);
            check(&run);
        }
    }
}
