//! A system that fails under the profiler: calls of the C library that commsee itself makes return errors. The program must not
//! notice, and what is lost must be said.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use common::{Launch, Mpi, Profile, Run, shared_library, side_by_side};
use commsee::profile::recover;

const SHORT: i32 = 0;
const RANKS: usize = 2;
/// Of tests/programs/steady.c, on each rank.
const ALLREDUCES: u64 = 200;
/// So many calls on: to the end.
const ALWAYS: u64 = 1 << 40;

/// What may fail, and how.
const FAULTS: [(&str, &[i32]); 20] = [
    ("open", &[libc::EMFILE, libc::EACCES, libc::ENOSPC]),
    ("posix_fallocate", &[libc::ENOSPC, libc::EIO, libc::EINTR, libc::EOPNOTSUPP]),
    ("mmap", &[libc::ENOMEM]),
    ("write", &[SHORT, libc::EINTR, libc::EIO, libc::ENOSPC]),
    ("pwrite", &[SHORT, libc::EINTR, libc::EIO, libc::ENOSPC]),
    ("read", &[SHORT, libc::EINTR, libc::EIO]),
    ("pread", &[SHORT, libc::EINTR, libc::EIO]),
    ("fsync", &[libc::EIO, libc::ENOSPC]),
    ("rename", &[libc::EIO]),
    ("renameat2", &[libc::EINVAL, libc::EIO, libc::EPERM]),
    ("unlink", &[libc::EACCES]),
    ("close", &[libc::EIO, libc::EINTR]),
    ("fstat", &[libc::EIO]),
    ("stat", &[libc::EACCES]),
    ("lstat", &[libc::EACCES]),
    ("statx", &[libc::EACCES, libc::ENOSYS]),
    ("getrandom", &[libc::ENOSYS, libc::EINTR, SHORT]),
    ("process_vm_readv", &[libc::EPERM, libc::ENOSYS]),
    ("getcwd", &[libc::ENOENT]),
    ("fcntl", &[libc::ENOLCK, libc::EINVAL]),
];

#[derive(Clone, Copy, Debug)]
struct Fault {
    function: &'static str,
    error: i32,
    /// The first call that fails, from 1, and how many fail.
    call: u64,
    times: u64,
    /// On this rank only.
    rank: Option<usize>,
}

/// A job that prints the same whatever happens to commsee. UCX would put its own functions between commsee and the system's.
fn job(mpi: Mpi) -> Launch {
    Launch::new(mpi, "steady").preload(shared_library("broken")).ranks(RANKS).variable("UCX_MEM_EVENTS", "n")
}

/// How often commsee calls each function in a run without trouble, on the rank that calls it most.
fn calls(mpi: Mpi) -> BTreeMap<String, u64> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = job(mpi).variable("BROKEN_COUNTS", folder.path().to_str().unwrap()).run().succeeded();
    assert_eq!(counted(&Profile::read(&run.profile_path())), ALLREDUCES * RANKS as u64);
    let mut calls = BTreeMap::new();
    for entry in fs::read_dir(folder.path()).expect("the folder") {
        for line in fs::read_to_string(entry.unwrap().path()).expect("the counts").lines() {
            let (name, count) = line.split_once(' ').expect("a name and a count");
            let most: &mut u64 = calls.entry(name.to_owned()).or_default();
            *most = (*most).max(count.parse().unwrap());
        }
    }
    calls
}

fn counted(profile: &Profile) -> u64 {
    assert_eq!(profile.integrity, "ok");
    profile.total("MPI_Allreduce")
}

/// What is left of the counts after a run: in profiles, wherever they are, and of ranks that none holds in the shards.
fn saved(run: &Run) -> u64 {
    let words = run.stderr.split_whitespace().map(|word| run.folder().join(word));
    let is_profile = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.ends_with(".db") && !name.contains("snapshot") && path.exists()
    };
    let profiles: BTreeSet<PathBuf> = [run.profile_path()].into_iter().chain(words).filter(is_profile).collect();
    let in_profiles: u64 = profiles.iter().map(|path| counted(&Profile::read(path))).sum();
    match &run.leftovers()[..] {
        [left] if in_profiles < ALLREDUCES * RANKS as u64 => {
            let recovered =
                recover::recover(left, &run.folder().join("recovered.db")).expect("a profile of the shards");
            in_profiles + counted(&Profile::read(&recovered.path))
        }
        _ => in_profiles,
    }
}

fn is_unharmed(mpi: Mpi, fault: Fault, plain: &Run) {
    let mut launch = job(mpi).variable("BROKEN_FUNCTION", fault.function);
    for (name, value) in [("ERROR", fault.error as u64), ("CALL", fault.call), ("TIMES", fault.times)] {
        launch = launch.variable(&format!("BROKEN_{name}"), &value.to_string());
    }
    if let Some(rank) = fault.rank {
        launch = launch.variable("BROKEN_RANK", &rank.to_string());
    }
    let run = launch.run();
    let what = format!("{fault:?} under {mpi}\n{}", run.output());
    assert_eq!((run.status, &run.stdout), (plain.status, &plain.stdout), "{what}");
    let said: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("commsee")).collect();
    let saved = saved(&run);
    assert!(!run.stderr.contains("internal error") && !run.stderr.contains("panicked"), "{what}");
    let all = ALLREDUCES * RANKS as u64;
    let lost = ["nothing is recorded", "lost", "no memory", "missing"];
    assert!(saved <= all, "{saved} of {all} calls: {what}");
    assert!(saved == all || lost.iter().any(|word| run.stderr.contains(word)), "{saved} of {all} calls: {what}");
    if run.stderr.contains("makes it from the shards") {
        assert!(!run.leftovers().is_empty(), "a promise that nothing can keep: {what}");
    }
    let is_empty = |path: &PathBuf| fs::metadata(path).is_ok_and(|facts| facts.len() == 0);
    // A claim is empty where it cannot be removed.
    let debris = run.left_behind().into_iter().filter(|path| fault.function != "unlink" && is_empty(path));
    assert_eq!(debris.collect::<Vec<_>>(), Vec::<PathBuf>::new(), "{what}");
    let shards_stay = run.left_behind().iter().any(|path| path.extension().is_some_and(|end| end == "shard"));
    let is_said = ["through recover", "missing from", "cannot be removed"].iter().any(|word| run.stderr.contains(word));
    assert!(!shards_stay || is_said || fault.function == "write", "shards stay and nobody knows: {what}");
    // At most two troubles of each rank, where its profile is and what that lacks, and where the snapshot is.
    assert!(said.len() <= 4 * RANKS + 1, "{what}");
}

fn break_all(mpi: Mpi, mut wanted: impl FnMut(&Fault) -> bool) {
    let plain = job(mpi).plain().run().succeeded();
    let calls = calls(mpi);
    for (function, errors) in FAULTS {
        let last = calls[function];
        for error in errors {
            // Whoever is interrupted tries again, and would do so for ever.
            let lasting = if *error == libc::EINTR { 3 } else { ALWAYS };
            for call in 1..=last {
                for (times, rank) in [(1, None), (lasting, None), (lasting, Some(0)), (lasting, Some(1))] {
                    let fault = Fault { function, error: *error, call, times, rank };
                    if wanted(&fault) {
                        is_unharmed(mpi, fault, &plain);
                    }
                }
            }
        }
    }
}

#[test]
fn a_failing_system_costs_counts_and_not_the_program() {
    break_all(Mpi::Mpich, |fault| fault.call == 1 && fault.rank.is_none() && fault.times > 1);
    // Each run takes longer there.
    let mut turn = 0;
    break_all(Mpi::OpenMpi, |fault| {
        turn += usize::from(fault.call == 1);
        fault.call == 1 && turn.is_multiple_of(29)
    });
}

#[test]
#[ignore = "heavy: the calls of ours fail one after the other"]
fn every_call_of_ours_may_fail() {
    break_all(Mpi::Mpich, |fault| fault.call <= 12);
    break_all(Mpi::OpenMpi, |fault| [1, 3, 8].contains(&fault.call));
}

/// A program that needs much of commsee, and prints the same whatever happens to it.
fn much(mpi: Mpi) -> Launch {
    let launch = Launch::new(mpi, "much").preload(shared_library("broken")).ranks(RANKS);
    launch.variable("UCX_MEM_EVENTS", "n").variable("COMMSEE_DATATYPES", "1").limit(60)
}

/// How often commsee asks for memory in a run without trouble, on the rank that does most.
fn wants_memory(launch: Launch) -> u64 {
    let folder = tempfile::tempdir().expect("a temporary folder");
    launch.variable("BROKEN_COUNTS", folder.path().to_str().unwrap()).run();
    let counts = fs::read_dir(folder.path()).expect("the folder").map(|entry| {
        let text = fs::read_to_string(entry.unwrap().path()).expect("the counts");
        let count = text.lines().find_map(|line| line.strip_prefix("memory ")).expect("a count");
        count.parse().unwrap()
    });
    counts.max().expect("a count")
}

/// Memory fails once or from a point on: at so many points, over the whole run.
fn without_memory(mpi: Mpi, points: u64) {
    let plain = much(mpi).plain().run();
    let wanted = wants_memory(much(mpi));
    assert!(wanted > 500, "{wanted} under {mpi}");
    let cases = (0..points).flat_map(|point| [(point, 1), (point, ALWAYS)]);
    // Ranks wait for one that could not join, and Open MPI's launcher waits a second where the status is not 0.
    side_by_side(cases, |(point, times)| {
        // The first of them are the most different.
        let call = 1 + point * (1 + wanted * point / points / points);
        let launch = much(mpi).variable("BROKEN_FUNCTION", "memory").variable("BROKEN_CALL", &call.to_string());
        let run = launch.variable("BROKEN_TIMES", &times.to_string()).waiting().run();
        let what = format!("{times} times from {call} of {wanted} on under {mpi}\n{}", run.output());
        assert_eq!((run.status, &run.stdout), (plain.status, &plain.stdout), "{what}");
        assert!(!run.stderr.contains("internal error") && !run.stderr.contains("panicked"), "{what}");
    });
}

#[test]
fn without_memory_the_program_goes_on() {
    for mpi in Mpi::ALL {
        without_memory(mpi, 8);
    }
}

#[test]
#[ignore = "heavy: memory fails at hundreds of points"]
fn without_memory_from_any_point_on_the_program_goes_on() {
    for mpi in Mpi::ALL {
        without_memory(mpi, 300);
    }
}

/// Polling a request that commsee does not know, such as a generalized one, asks other threads for it: without memory of its own.
#[test]
fn polling_needs_no_memory() {
    for mpi in Mpi::ALL {
        let polls = |number: &str| {
            let launch = Launch::new(mpi, "polls").preload(shared_library("broken")).ranks(1).arguments(&[number]);
            wants_memory(launch.variable("UCX_MEM_EVENTS", "n"))
        };
        let (few, many) = (polls("10"), polls("1000"));
        assert!(many < few + 100, "{few} and {many} under {mpi}");
    }
}
