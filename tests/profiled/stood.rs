//! Where every rank stood: jobs that hang, are killed or crash at places that are known.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{fs, thread};

use common::{Launch, Mpi, Run, execute, root};
use commsee::profile::recover;
use commsee::profile::recover::Recovered;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;
use tempfile::TempDir;

/// Rank, label of the communicator (or its name), operation; the last two are empty in the program.
type Stood = (u32, String, String);

fn stood(rank: u32, comm: &str, op: &str) -> Stood {
    (rank, comm.to_owned(), op.to_owned())
}

fn open(profile: &Path) -> Connection {
    Connection::open_with_flags(profile, OpenFlags::SQLITE_OPEN_READ_ONLY).expect("the profile opens")
}

fn all(profile: &Path) -> Vec<Stood> {
    let sql = "SELECT s.rank, coalesce(c.label, c.name, ''), coalesce(o.name, '') FROM standing s \
               LEFT JOIN communicator c ON c.id = s.comm LEFT JOIN operation o ON o.id = s.op ORDER BY s.rank, o.name";
    let db = open(profile);
    let mut statement = db.prepare(sql).expect("the table");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).expect("rows");
    rows.collect::<Result<_, _>>().expect("rows")
}

/// The view has the calls among them, with times that can be.
fn check_view(profile: &Path, stood: &[Stood]) {
    let db = open(profile);
    let sql = "SELECT v.rank, coalesce(c.label, c.name), v.op, v.since_s, v.for_s, r.wall_s FROM running v \
               JOIN communicator c ON c.name = v.comm JOIN ranks r ON r.rank = v.rank ORDER BY v.rank, v.op";
    let mut statement = db.prepare(sql).expect("the view");
    let mut calls = Vec::new();
    let mut rows = statement.query([]).expect("rows");
    while let Some(row) = rows.next().expect("a row") {
        let times = [3, 4, 5].map(|column| row.get::<_, f64>(column).expect("seconds"));
        let [since_s, for_s, wall_s] = times;
        assert!(since_s > 0.0 && for_s >= 0.0 && since_s + for_s <= wall_s + 1e-6, "{times:?}");
        calls.push((row.get(0).unwrap(), row.get(1).unwrap(), row.get(2).unwrap()));
    }
    let expected: Vec<Stood> = stood.iter().filter(|(.., op)| !op.is_empty()).cloned().collect();
    assert_eq!(calls, expected);
}

/// Each call among them is told by function, file and line, also where the process is gone.
fn check_lines(profile: &Path, stood: &[Stood]) {
    let source = root().join("tests/programs/stands.c");
    let source = fs::read_to_string(source).expect("the program");
    let mut command = Command::new(common::through());
    let done = execute(command.arg(profile).args(["--in-flight", "--format", "json"]));
    let answer: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}{}", done.stdout, done.stderr));
    let rows: Vec<&Value> =
        answer["stood"].as_array().expect("an array").iter().filter(|row| !row["op"].is_null()).collect();
    let calls = stood.iter().filter(|(.., op)| !op.is_empty()).count();
    assert_eq!(rows.iter().map(|row| row["threads"].as_u64().unwrap_or(0)).sum::<u64>(), calls as u64, "{answer}");
    for row in rows {
        let (op, site) = (row["op"].as_str().expect("an operation"), row["site"].as_str().unwrap_or("nowhere"));
        let is_there =
            |(line, text): (usize, &str)| text.contains(&format!("{op}(")) && site == format!("stands.c:{}", line + 1);
        assert!(source.lines().enumerate().any(is_there) && row["function"].is_string(), "{row}");
    }
}

/// A job that goes on. Its shards, and what is made of them on the way, lie in a folder of its own.
struct Job {
    what: String,
    folder: TempDir,
    run: JoinHandle<Run>,
    looks: u32,
}

impl Job {
    fn start(mpi: Mpi, how: &str, ranks: usize) -> Job {
        Job::of(format!("{mpi} {how}"), Launch::new(mpi, "stands").ranks(ranks).arguments(&[how]))
    }

    fn of(what: String, launch: Launch) -> Job {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = folder.path().to_str().expect("a path in UTF-8");
        let launch = launch.variable("STANDS_DIR", place).variable("COMMSEE_DIR", place);
        Job { what, folder, run: thread::spawn(move || launch.run()), looks: 0 }
    }

    fn find(&self) -> Vec<recover::Run> {
        recover::find(&[self.folder.path().to_owned()])
    }

    /// A profile of the shards as they are now; none while they are being made.
    fn look(&mut self) -> Option<PathBuf> {
        let found = self.find();
        let [run] = &found[..] else { return None };
        if !run.is_alive() {
            return None;
        }
        self.looks += 1;
        let profile = self.folder.path().join(format!("look-{}.db", self.looks));
        recover::recover(run, &profile).ok().map(|recovered| recovered.path)
    }

    /// Waits until all stand where they are going. The limit only ends a test that hangs.
    fn wait_until(&mut self, are_there: impl Fn(&Path) -> bool) {
        let begin = Instant::now();
        loop {
            let look = self.look();
            if look.as_deref().is_some_and(&are_there) {
                return;
            }
            let seen = look.map(|profile| all(&profile));
            let is_late = begin.elapsed() > Duration::from_secs(100) || self.run.is_finished();
            assert!(!is_late, "{}: nobody gets there: {seen:?}", self.what);
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn go(&self) {
        fs::write(self.folder.path().join("go"), "").expect("a file");
    }

    /// Ends its ranks, and so the job, whatever its launcher makes of that.
    fn kill(&mut self) {
        let profile = self.look().expect("the job goes on");
        let pids: Vec<i32> = open(&profile)
            .prepare("SELECT pid FROM ranks")
            .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
            .expect("the view");
        // SAFETY: signals to processes of the job, which waits for nothing but this.
        pids.into_iter().for_each(|pid| _ = unsafe { libc::kill(pid, libc::SIGKILL) });
    }
}

/// Runs a job that ends badly when all are where they are going, and makes a profile of what it left.
fn left_by(mpi: Mpi, how: &str, ranks: usize, are_there: impl Fn(&Path) -> bool, check: impl Fn(&Path, &Recovered)) {
    let mut job = Job::start(mpi, how, ranks);
    job.wait_until(are_there);
    job.go();
    if how == "hangs" {
        job.wait_until(|profile| all(profile).last() == Some(&stood(3, "*", "MPI_Waitall")));
        job.kill();
    }
    while !job.run.is_finished() {
        thread::sleep(Duration::from_millis(20));
    }
    let left = (0..300).find_map(|_| {
        let mut found = job.find();
        assert_eq!(found.len(), 1, "{mpi} {how}: shards of one run");
        let ended = found.pop().filter(|run| !run.is_alive());
        ended.or_else(|| {
            thread::sleep(Duration::from_millis(50));
            None
        })
    });
    let left = left.unwrap_or_else(|| panic!("{mpi} {how}: processes outlive their job"));
    let run = job.run.join().expect("the job is run");
    // What a launcher makes of ranks that were killed from outside is its own affair.
    assert!(how == "hangs" || !run.status.success(), "{mpi} {how}: {}", run.output());
    let profile = run.profile_path();
    let recovered = recover::recover(&left, &profile).expect("a profile of the shards");
    assert_eq!(recovered.notes, Vec::<String>::new());
    check(&profile, &recovered);
}

#[test]
fn every_rank_is_found_where_it_stood() {
    for mpi in [Mpi::OpenMpi, Mpi::Mpich, Mpi::Standard].into_iter().filter(|mpi| mpi.is_there()) {
        for (how, last) in [
            ("is-killed", stood(3, "", "")),
            ("aborts", stood(3, "W0.0", "MPI_Abort")),
            ("exits", stood(3, "", "")),
            ("segfaults", stood(3, "", "")),
            ("segfaults-in-callback", stood(3, "S3.0", "MPI_Comm_dup")),
            ("hangs", stood(3, "*", "MPI_Waitall")),
        ] {
            let expected = [stood(0, "W0.0", "MPI_Barrier"), stood(1, "pipes", "MPI_Recv"), stood(2, "", ""), last];
            // Rank 3 waits, to go to its place then.
            let are_there = |profile: &Path| all(profile).get(..3) == Some(&expected[..3]);
            left_by(mpi, how, 4, are_there, |profile, recovered| {
                let mut expected = expected.clone();
                if how == "aborts" && mpi == Mpi::Standard && all(profile).last() == Some(&stood(3, "", "")) {
                    // MPICH 5 may return from it.
                    expected[3] = stood(3, "", "");
                }
                assert_eq!(all(profile), expected, "{mpi} {how}");
                check_view(profile, &expected);
                check_lines(profile, &expected);
                assert!(recovered.missing_ranks.is_empty());
            });
        }
    }
}

/// A Fortran program through one of Fortran's interfaces, with the lines of its calls.
fn with_lines(mpi: Mpi, source: &Path, interface: &str, folder: &Path) -> PathBuf {
    mpi.demand();
    let program = folder.join("program");
    let mut compiler = Command::new(mpi.fortran_compiler());
    compiler.args(["-g", "-O0", "-ffree-line-length-none", "-fallow-argument-mismatch"]);
    compiler.arg(format!("-DINTERFACE={interface}")).arg(source).arg("-o").arg(&program);
    let made = execute(&mut compiler);
    assert!(made.status.success(), "{}", made.stderr);
    program
}

/// The line of the Fortran program, also where the C function below counts the call.
#[test]
fn a_rank_stands_on_a_line_of_a_fortran_program() {
    let source = root().join("tests/programs/stands.F90");
    let text = fs::read_to_string(&source).expect("the program");
    for mpi in Mpi::ALL {
        for interface in ["1", "2", "3"] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let program = with_lines(mpi, &source, interface, folder.path());
            let launch = Launch::of(mpi, program).preload(common::library()).ranks(2);
            let mut job = Job::of(format!("{mpi} interface {interface}"), launch);
            let expected = [stood(0, "W0.0", "MPI_Recv"), stood(1, "W0.0", "MPI_Allreduce")];
            // They have been there before, from other lines.
            let lines: Vec<usize> = text
                .lines()
                .enumerate()
                .filter(|(_, text)| text.ends_with("! stands"))
                .map(|(line, _)| line + 1)
                .collect();
            let sites: Vec<String> = lines.iter().map(|line| format!("stands.F90:{line}")).collect();
            job.wait_until(|profile| all(profile) == expected && sites_in(profile) == sites);
            job.kill();
            job.run.join().expect("the job is run");
        }
    }
}

/// Which rank ended the job, and from which line.
#[test]
fn a_rank_of_a_fortran_program_that_aborts_is_told() {
    let source = root().join("tests/programs/aborts.F90");
    let text = fs::read_to_string(&source).expect("the program");
    let line = text.lines().position(|line| line.ends_with("! aborts")).expect("the line") + 1;
    for mpi in Mpi::ALL {
        for interface in ["1", "2", "3"] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let program = with_lines(mpi, &source, interface, folder.path());
            let alone = Launch::of(mpi, program.clone()).ranks(3).run();
            let run = Launch::of(mpi, program).preload(common::library()).ranks(3).run();
            assert_eq!(run.status.code(), alone.status.code(), "{mpi} interface {interface}");
            let left = run.leftovers().pop().expect("shards");
            recover::recover(&left, &run.profile_path()).expect("a profile of the shards");
            let aborting: Vec<Stood> = all(&run.profile_path()).into_iter().filter(|(rank, ..)| *rank == 1).collect();
            assert_eq!(aborting, [stood(1, "W0.0", "MPI_Abort")], "{mpi} interface {interface}");
            let head = execute(Command::new(common::through()).arg(run.profile_path())).stdout;
            assert!(head.contains("MPI_Abort was called by rank 1\n"), "{mpi} interface {interface}: {head}");
            let sites = sites_in(&run.profile_path());
            assert!(sites.contains(&format!("aborts.F90:{line}")), "{mpi} interface {interface}: {sites:?}");
        }
    }
}

/// Where ranks stand, in their order.
fn sites_in(profile: &Path) -> Vec<String> {
    let done = execute(Command::new(common::through()).arg(profile).args(["--in-flight", "--format", "json"]));
    let answer: Value = serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}{}", done.stdout, done.stderr));
    let mut rows: Vec<&Value> = answer["stood"].as_array().expect("an array").iter().collect();
    rows.sort_by_key(|row| row["ranks"].to_string());
    rows.iter().map(|row| row["site"].as_str().unwrap_or("nowhere").to_owned()).collect()
}

#[test]
fn a_rank_that_waits_for_the_gathering_stands_in_finalize() {
    for mpi in Mpi::ALL {
        let is_there = |profile: &Path| all(profile).first() == Some(&stood(0, "W0.0", "MPI_Finalize"));
        left_by(mpi, "finalizes", 4, is_there, |profile, _| {
            assert!(is_there(profile), "{mpi}: {:?}", all(profile));
            check_lines(profile, &all(profile));
        });
    }
}

/// A window stands for the communicator it was made over.
#[test]
fn a_call_over_a_window_stands_on_its_communicator() {
    for mpi in Mpi::ALL {
        let is_there = |profile: &Path| all(profile).first() == Some(&stood(0, "pipes", "MPI_Win_fence"));
        left_by(mpi, "fences", 4, is_there, |profile, _| assert!(is_there(profile), "{mpi}: {:?}", all(profile)));
    }
}

/// A blocking call made while counting pauses is not looked at: it must not look as if its rank computed.
#[test]
fn while_counting_pauses_nothing_is_known() {
    for mpi in Mpi::ALL {
        let known = |profile: &Path| -> Vec<bool> {
            open(profile)
                .prepare("SELECT since_ns IS NOT NULL FROM standing ORDER BY rank")
                .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
                .expect("the table")
        };
        let are_there = |profile: &Path| known(profile) == [true, true, false, true];
        left_by(mpi, "pauses", 4, are_there, |profile, _| assert!(are_there(profile), "{mpi}: {:?}", known(profile)));
    }
}

#[test]
fn threads_stand_each_for_itself() {
    for mpi in Mpi::ALL {
        let expected = [
            stood(0, "W0.0", "MPI_Barrier"),
            stood(0, "pipes", "MPI_Recv"),
            stood(1, "", ""),
            stood(1, "pipes", "MPI_Recv"),
        ];
        let are_there = |profile: &Path| all(profile) == expected;
        left_by(mpi, "threads", 2, are_there, |profile, _| {
            assert_eq!(all(profile), expected, "{mpi}");
            check_lines(profile, &expected);
        });
    }
}

/// A profile of a job that goes on: it says where all ranks are, and the job ends as if nobody had looked.
#[test]
fn a_job_that_goes_on_is_not_disturbed() {
    for mpi in Mpi::ALL {
        let mut job = Job::start(mpi, "goes-on", 4);
        let expected =
            [stood(0, "W0.0", "MPI_Barrier"), stood(1, "pipes", "MPI_Recv"), stood(2, "", ""), stood(3, "", "")];
        job.wait_until(|profile| all(profile) == expected);
        let least_s = |profile: &Path| -> f64 {
            open(profile).query_row("SELECT min(for_s) FROM running", [], |row| row.get(0)).expect("seconds")
        };
        let first = job.look().expect("a profile of the shards");
        let begin = Instant::now();
        thread::sleep(Duration::from_millis(100));
        let passed_s = begin.elapsed().as_secs_f64();
        let second = job.look().expect("a profile of the shards");
        for profile in [&first, &second] {
            assert_eq!(all(profile), expected, "{mpi}");
            check_view(profile, &expected);
            let states: Vec<String> = open(profile)
                .prepare("SELECT state FROM ranks")
                .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
                .expect("the view");
            assert_eq!(states, ["running"; 4]);
        }
        // They have stood there meanwhile. How long a tick lasts is known a little better each time.
        let (before_s, after_s) = (least_s(&first), least_s(&second));
        assert!(after_s - before_s >= 0.9 * passed_s, "{mpi}: {before_s}, {after_s}, {passed_s}");
        job.go();
        let run = job.run.join().expect("the job is run").succeeded();
        let profile = run.profile();
        assert!(profile.ranks.iter().all(|rank| rank.state == "finished"));
        assert_eq!((profile.total("MPI_Recv"), profile.total("MPI_Send")), (1, 1));
        assert!(recover::find(&[job.folder.path().to_owned()]).is_empty(), "{mpi}: no shard is left");
        assert_eq!(all(&run.profile_path()), []);
    }
}
