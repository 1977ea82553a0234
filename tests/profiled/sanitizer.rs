//! Threads under ThreadSanitizer: the preload library is built with it, and with it the programs. The MPI libraries are
//! not, so that what they do among themselves is not looked at. (Valgrind's drd and helgrind would not do: they know the
//! locks of pthreads only, and take every other one for a race.)

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use common::{Launch, Mpi, Program, Run, check, execute, execute_within_s, library, shared_library, target_folder};

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
