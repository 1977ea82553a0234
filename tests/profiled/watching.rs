//! `through watch` and `through run --watch`: a job while it runs.

use std::fs;
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Mpi, Program, execute, library, through};
use tempfile::TempDir;

/// A job whose ranks have met and go on until they are told to end.
struct Job {
    launcher: Child,
    folder: TempDir,
}

const RANKS: usize = 3;

impl Job {
    fn start(mpi: Mpi) -> Job {
        let folder = tempfile::Builder::new().prefix("commsee-test-").tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("shards")).unwrap();
        let program = Program { name: "watched", link: Vec::new() }.compiled(mpi);
        let mut command = mpi.launcher(RANKS, &[&library()]);
        command.arg(program).arg(folder.path()).current_dir(folder.path());
        command.env("COMMSEE_OUT", folder.path().join("run.db")).env("COMMSEE_DIR", folder.path().join("shards"));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let job = Job { launcher: command.spawn().unwrap(), folder };
        job.wait_for("met");
        let begun = Instant::now();
        // Rank 0 has met nobody.
        while !execute(&mut job.watch(&["--once"]))
            .stdout
            .lines()
            .any(|line| line.contains("Barrier") && line.contains("1-2"))
        {
            assert!(begun.elapsed() < Duration::from_secs(60), "the ranks do not come to their barrier");
            std::thread::sleep(Duration::from_millis(20));
        }
        job
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn wait_for(&self, name: &str) {
        let begun = Instant::now();
        while !self.path(name).exists() {
            assert!(begun.elapsed() < Duration::from_secs(120), "{name} does not come");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn end(&self) {
        fs::write(self.path("go"), "").unwrap();
    }

    fn watch(&self, words: &[&str]) -> Command {
        let mut command = Command::new(through());
        command.arg("watch").args(words).current_dir(self.folder.path()).env("COMMSEE_DIR", self.path("shards"));
        command.env_remove("COLUMNS");
        command
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.end();
        let _ = self.launcher.wait();
    }
}

/// Every file with its size.
fn facts(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut facts: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.path(), entry.metadata().unwrap().len()))
        .collect();
    facts.sort();
    facts
}

fn look(text: &str) {
    let line = |words: &[&str]| text.lines().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(text.starts_with("run ") && line(&["watched", "3 ranks on 1 host", "since MPI_Init"]), "{text}");
    // Rank 0 counts messages to itself, the others wait for it.
    assert!(line(&["Barrier", "d0.1 \"waiting\"", "1-2"]), "{text}");
    assert!(line(&["W0.0", "Allreduce", "30"]), "{text}");
}

#[test]
fn one_look_shows_communicators_and_where_ranks_stand() {
    for mpi in Mpi::ALL {
        let job = Job::start(mpi);
        let before = facts(&job.path("shards"));
        let done = execute(&mut job.watch(&["--once"]));
        assert!(done.status.success() && done.stderr.is_empty(), "{mpi}: {}", done.stderr);
        look(&done.stdout);
        assert!(!done.stdout.contains("calls/s"), "{mpi}: there was no look before: {}", done.stdout);
        assert!(!done.stdout.contains('\u{1b}'), "{mpi}: {}", done.stdout);
        // By its name, and by its directory.
        let run = done.stdout.split_whitespace().nth(1).unwrap().to_owned();
        for what in [&run[..4], job.path("shards").to_str().unwrap()] {
            look(&execute(&mut job.watch(&[what, "--once"])).stdout);
        }
        assert_eq!(execute(&mut job.watch(&["nonsense", "--once"])).status.code(), Some(1));
        assert_eq!(facts(&job.path("shards")), before, "{mpi}");
    }
}

#[test]
fn looks_follow_each_other_and_end_with_the_job() {
    for mpi in Mpi::ALL {
        let job = Job::start(mpi);
        let file = job.path("looks");
        let mut command = job.watch(&["--interval", "0.2"]);
        command.stdout(fs::File::create(&file).unwrap()).stderr(Stdio::piped());
        let mut watch = command.spawn().unwrap();
        let looks = || fs::read_to_string(&file).unwrap_or_default().matches("since MPI_Init").count();
        let begun = Instant::now();
        while looks() < 3 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{mpi}: {}", fs::read_to_string(&file).unwrap());
            std::thread::sleep(Duration::from_millis(20));
        }
        job.end();
        let mut said = String::new();
        watch.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(watch.wait().unwrap().success(), "{mpi}: {said}");
        assert_eq!(said, "through: the job has ended; its profile: run.db\n", "{mpi}");
        let text = fs::read_to_string(&file).unwrap();
        text.split("\n\nrun ").next().map(look).unwrap();
        // Rank 0 goes on sending: what is new is shown from the second look on.
        assert!(text.contains("calls/s"), "{mpi}: {text}");
        assert_eq!(execute(&mut job.watch(&["--once"])).status.code(), Some(1));
        assert!(fs::read_dir(std::env::temp_dir()).unwrap().all(|entry| {
            !entry.unwrap().file_name().to_string_lossy().starts_with(&format!("through-watch-{}-", watch.id()))
        }));
    }
}

/// A terminal of 80 columns and 24 lines: its two ends.
fn terminal() -> (OwnedFd, OwnedFd) {
    let (mut master, mut slave) = (0, 0);
    let size = libc::winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the places are of the right types; the descriptors are new.
    unsafe {
        let made = libc::openpty(&mut master, &mut slave, std::ptr::null_mut(), std::ptr::null(), &size);
        assert_eq!(made, 0, "no terminal");
        (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
    }
}

/// Whatever runs the tests may ignore the signal, as shells do for what they start in the background.
fn interruptible(command: &mut Command) {
    // SAFETY: one system call between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        })
    };
}

#[test]
fn on_a_terminal_looks_are_drawn_in_place_until_it_is_interrupted() {
    if fs::File::open("/dev/ptmx").is_err() {
        eprintln!("left out: there are no pseudo-terminals here");
        return;
    }
    let job = Job::start(Mpi::Mpich);
    let (master, slave) = terminal();
    let mut command = job.watch(&["--interval", "0.1"]);
    command.stdin(Stdio::null()).stdout(slave).stderr(Stdio::null()).env("TERM", "xterm");
    interruptible(&mut command);
    let mut watch = command.spawn().unwrap();
    drop(command);
    let mut screen = fs::File::from(master);
    let mut drawn = String::new();
    let mut bytes = [0; 4096];
    while drawn.matches("since MPI_Init").count() < 3 {
        let read = screen.read(&mut bytes).expect("a look");
        drawn += &String::from_utf8_lossy(&bytes[..read]);
    }
    // SAFETY: a signal to the process that was started above.
    unsafe { libc::kill(watch.id() as i32, libc::SIGINT) };
    assert!(watch.wait().unwrap().success());
    let (first, rest) = drawn.split_once("\u{1b}[").map(|(_, rest)| rest.split_once("A\r").unwrap()).unwrap();
    let up: usize = first.rsplit("\u{1b}[").next().unwrap().parse().unwrap();
    assert_eq!(first.matches('\n').count(), up, "{drawn:?}");
    assert!(up < 24 && rest.starts_with("\u{1b}[J"), "{drawn:?}");
    // The cursor was never hidden.
    assert!(!drawn.contains("\u{1b}[?25l"), "{drawn:?}");
    assert!(execute(&mut job.watch(&["--once"])).status.success(), "the job goes on");
}

#[test]
fn run_shows_the_job_that_it_starts() {
    for mpi in Mpi::ALL {
        let folder = tempfile::Builder::new().prefix("commsee-test-").tempdir().unwrap();
        let program = Program { name: "watched", link: Vec::new() }.compiled(mpi);
        let mut command = mpi.run_by(&through(), &["--watch", "--interval", "0.2", "-o", "run.db"], RANKS);
        command.arg(program).arg(folder.path()).current_dir(folder.path()).env("COMMSEE_DIR", folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let file = folder.path().join("said");
        let mut run = command.stderr(fs::File::create(&file).unwrap()).spawn().unwrap();
        let begun = Instant::now();
        let said = || fs::read_to_string(&file).unwrap_or_default();
        while !said().contains("\"waiting\"") {
            assert!(begun.elapsed() < Duration::from_secs(120), "{mpi}: {}", said());
            std::thread::sleep(Duration::from_millis(20));
        }
        fs::write(folder.path().join("go"), "").unwrap();
        assert!(run.wait().unwrap().success(), "{mpi}: {}", said());
        assert!(said().contains("since MPI_Init") && said().contains("profile    run.db"), "{mpi}: {}", said());
    }
}
