//! Batch jobs: what profiles are called, and what they and shards say of the job.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use common::{Launch, Mpi, Program, execute, library, through};
use commsee::profile::recover;
use rusqlite::Connection;

/// What Slurm tells a step in a task of an array. Set for the program alone, since launchers act on some of them.
const STEP: [&str; 5] =
    ["SLURM_JOB_ID=17", "SLURM_ARRAY_JOB_ID=16", "SLURM_ARRAY_TASK_ID=3", "SLURM_STEP_ID=2", "SLURM_JOB_NUM_NODES=4"];

fn in_a_step(mpi: Mpi, program: &'static str) -> Launch {
    let program = Program { name: program, link: Vec::new() }.compiled(mpi);
    let words = [&STEP[..], &[program.to_str().expect("UTF-8")]].concat();
    Launch::of(mpi, "/usr/bin/env".into()).arguments(&words).preload(library())
}

fn job_of(profile: &Path) -> BTreeMap<String, String> {
    let db = Connection::open(profile).expect("the profile");
    let sql = "SELECT key, value FROM meta WHERE key LIKE 'job%' OR key = 'batch_system'";
    let mut query = db.prepare(sql).expect("the view");
    query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
}

fn expected() -> BTreeMap<String, String> {
    let facts = [("batch_system", "Slurm"), ("job", "16_3"), ("job_step", "2"), ("job_task", "3"), ("job_nodes", "4")];
    facts.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

#[test]
fn profiles_are_named_after_job_and_step_and_tell_them() {
    for mpi in Mpi::ALL {
        let run = in_a_step(mpi, "foreign").variable("COMMSEE_OUT", "run-%j.%s.db").run().succeeded();
        assert_eq!(job_of(&run.folder().join("run-16_3.2.db")), expected(), "{mpi}");
    }
}

/// More ranks than processors are told where the profile is shown.
#[test]
fn the_profile_tells_the_processors_that_are_switched_on() {
    let processors = execute(std::process::Command::new("getconf").arg("_NPROCESSORS_ONLN")).stdout;
    let processors: u32 = processors.trim().parse().expect("a number");
    for mpi in Mpi::ALL {
        let run = Launch::new(mpi, "foreign").ranks(2).run().succeeded();
        let db = Connection::open(run.profile_path()).expect("the profile");
        let sql = "SELECT value FROM meta WHERE key = 'processors'";
        let told: String = db.query_row(sql, [], |row| row.get(0)).expect("a row");
        assert_eq!(told, processors.to_string(), "{mpi}");
        let head = execute(std::process::Command::new(through()).arg(run.profile_path())).stdout;
        assert_eq!(head.contains("work and waiting times are unreliable"), processors < 2, "{mpi}: {head}");
    }
}

#[test]
fn shards_tell_their_job_to_those_outside_of_it() {
    for mpi in Mpi::ALL {
        let run = in_a_step(mpi, "killed").arguments(&["1", "400", "0", "30", "SIGKILL"]).run();
        let left = run.left_over();
        assert_eq!(left.origin.expand("%j.%s"), "16_3.2", "{mpi}");
        assert_eq!(left.origin.host, recover::host_name());
        let recovered = recover::recover(&left, &run.folder().join("recovered.db")).expect("a profile");
        assert_eq!(job_of(&recovered.path), expected(), "{mpi}");
    }
}

/// The profiler and `through run` agree on where it goes then.
#[test]
fn through_run_finds_the_profile_that_had_to_go_elsewhere() {
    for mpi in Mpi::ALL {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = Program { name: "foreign", link: Vec::new() }.compiled(mpi);
        let mut command = mpi.run_by(&through(), &["-o", "/missing/folder/run.db"], 2);
        let done = execute(command.arg(program).current_dir(folder.path()));
        assert!(done.status.success(), "{mpi}: {}", done.stderr);
        assert!(done.stderr.contains("/missing/folder/run.db cannot be written on host "), "{}", done.stderr);
        assert!(done.stderr.contains("\nprofile    run.db\n"), "{mpi}: {}", done.stderr);
        assert!(folder.path().join("run.db").exists(), "{mpi}");
    }
}

#[test]
fn outside_of_a_job_nothing_is_told() {
    let run = Launch::new(Mpi::Mpich, "foreign").variable("COMMSEE_OUT", "run-%j.%s.db").run().succeeded();
    assert_eq!(job_of(&run.folder().join("run-0.0.db")), BTreeMap::new());
}

/// Ctrl-C, as a launcher sees it: MPICH's ends with status 0 then, or with that of a rank, whichever comes first.
#[test]
fn an_interrupted_job_has_not_finished() {
    for mpi in Mpi::ALL {
        let stopped = |command: &mut Command, folder: &Path| {
            // Whoever runs the tests in the background may ignore the signal, which is inherited.
            // SAFETY: signal may be called between fork and exec.
            unsafe {
                command.pre_exec(|| {
                    libc::signal(libc::SIGINT, libc::SIG_DFL);
                    Ok(())
                })
            };
            let (said, ready) = (folder.join("said"), folder.join("ready"));
            let _ = fs::remove_file(&ready);
            let mut job = command.current_dir(folder).stderr(File::create(&said).unwrap()).spawn().expect("a job");
            while !ready.exists() {
                assert!(job.try_wait().expect("its state").is_none(), "{}", fs::read_to_string(&said).unwrap());
                thread::sleep(Duration::from_millis(5));
            }
            // SAFETY: the process is a child that is not waited for yet.
            unsafe { libc::kill(job.id() as i32, libc::SIGINT) };
            (job.wait().expect("its status"), fs::read_to_string(&said).expect("what it said"))
        };
        let program = Program { name: "endless", link: Vec::new() }.compiled(mpi);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (status, said) = stopped(mpi.run_by(&through(), &["-o", "run.db"], 2).arg(&program), folder.path());
        let job = said.lines().find(|line| line.starts_with("job ")).unwrap_or_else(|| panic!("{mpi}: {said}"));
        let ended = format!("interrupted by SIGINT, ended with status {}", status.code().expect("a status"));
        assert!(job.contains(&ended), "{mpi}: {said}");
    }
}
