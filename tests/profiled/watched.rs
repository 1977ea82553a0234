//! The process that outlives the ranks of each host, in a job over several hosts, and carries what they leave. Here all are on one host: where
//! the launcher does not say how many ranks are on each host there may be others.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::{Launch, Mpi, Profile, Program, Run, check_profile, library, side_by_side};

/// Ends what hangs; nothing here takes as long.
const PATIENCE: Duration = Duration::from_secs(100);
const UNTOLD: &str = "unset OMPI_COMM_WORLD_LOCAL_SIZE MPI_LOCALNRANKS; exec \"$@\"";

fn untold(mpi: Mpi, program: &str, arguments: &[&str]) -> Launch {
    let program = Program { name: program, link: Vec::new() }.compiled(mpi);
    let program = program.to_str().expect("a path in UTF-8");
    Launch::of(mpi, PathBuf::from("/bin/sh")).arguments(&["-c", UNTOLD, "sh", program]).arguments(arguments)
}

fn until(what: &str, run: &Run, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "not so: {what}\n{:?}\n{}", run.left_behind(), run.output());
        sleep(Duration::from_millis(20));
    }
}

/// Command lines of watchers of jobs in this folder.
fn watchers(folder: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(" watch ") && line.contains(&*folder.to_string_lossy())).collect()
}

#[test]
fn what_dead_ranks_leave_becomes_a_profile_by_itself() {
    let all = ["is-killed", "aborts-7", "segfaults", "exits-4-without-finalize"];
    for mpi in Mpi::ALL {
        // What the launcher makes of it is the launcher's; over several hosts all are tried with both.
        let ways = if mpi == Mpi::OpenMpi { &all[..] } else { &all[..1] };
        // Watchers wait for those of other hosts.
        side_by_side(ways, |how| {
            let run = untold(mpi, "exits", &[how]).ranks(3).preload(library()).waiting().run();
            assert!(!run.status.success(), "{}", run.output());
            until("the profile is there, and nothing else", &run, || {
                run.profile_path().exists() && run.left_behind().is_empty()
            });
            until("nobody watches any more", &run, || watchers(run.folder()).is_empty());
            let profile = Profile::read(&run.profile_path());
            assert!(profile.ranks.iter().all(|rank| rank.state != "finished"), "{how}");
            check_profile(&run, &profile);
        });
    }
}

#[test]
fn nobody_stays_behind_a_job_that_ends_well() {
    for mpi in Mpi::ALL {
        let run = untold(mpi, "exits", &["returns"]).ranks(3).preload(library()).run().succeeded();
        until("nobody watches any more", &run, || watchers(run.folder()).is_empty());
        check_profile(&run, &run.profile());
    }
}

#[test]
fn without_a_watcher_the_shards_stay() {
    for mpi in Mpi::ALL {
        let launch = untold(mpi, "exits", &["is-killed"]).ranks(3).preload(library());
        let run = launch.variable("COMMSEE_WATCH", "0").run();
        assert_eq!(run.left_over().shards.len(), 3, "{}", run.output());
        assert!(!run.profile_path().exists() && watchers(run.folder()).is_empty());
    }
}

#[test]
fn a_program_sees_nothing_of_its_watcher() {
    for mpi in Mpi::ALL {
        let sorted = |run: Run| {
            let mut lines: Vec<String> = run.succeeded().stdout.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        for arguments in [&[][..], &["adopts"]] {
            let plain = sorted(untold(mpi, "kin", arguments).run());
            assert_eq!(plain.len(), 2);
            assert_eq!(sorted(untold(mpi, "kin", arguments).preload(library()).run()), plain, "{arguments:?}");
        }
    }
}

/// Until the watcher is another program it shares the program's memory, and so that of all tools in it.
#[test]
fn no_tool_in_the_program_sees_its_watcher_begin() {
    for mpi in Mpi::ALL {
        let launch = untold(mpi, "exits", &["returns"]).ranks(3).preload(library());
        let run = launch.preload(common::shared_library("nosy")).run().succeeded();
        let files = fs::read_dir(run.truth_folder()).expect("the folder").map(|entry| entry.unwrap().path());
        let records = files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("nosy-"));
        let records: Vec<String> = records.map(|path| fs::read_to_string(path).expect("a record")).collect();
        assert!(records.len() >= 3 && records.iter().all(|strangers| strangers == "0"), "{mpi}: {records:?}");
    }
}
