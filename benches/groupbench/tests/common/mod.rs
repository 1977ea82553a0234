//! Jobs of the MPI library that this was compiled for.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// One job at a time: ranks that share two processors with other jobs wait for ever for each other.
pub fn alone() -> impl Sized {
    let file = File::create(std::env::temp_dir().join("groupbench-tests.lock")).unwrap();
    // SAFETY: an open file, which lives as long as the lock.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) };
    file
}

/// The launcher beside the compiler wrapper.
fn launcher_name() -> String {
    let mpicc = env!("GROUPBENCH_MPICC");
    let (folder, name) =
        mpicc.rsplit_once('/').map_or(("", mpicc), |(folder, name)| (&mpicc[..folder.len() + 1], name));
    format!("{folder}{}", name.replacen("mpicc", "mpirun", 1))
}

pub fn is_open_mpi() -> bool {
    let said = Command::new(launcher_name()).arg("--version").output().unwrap().stdout;
    let said = String::from_utf8_lossy(&said);
    said.contains("Open MPI") || said.contains("OpenRTE")
}

/// Words of a launcher of so many ranks.
pub fn launcher_words(ranks: usize) -> Vec<String> {
    let mut words = vec![launcher_name()];
    if is_open_mpi() {
        words.extend(["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"].map(str::to_owned));
    }
    words.extend(["-n".to_owned(), ranks.to_string()]);
    words
}

pub fn launcher(ranks: usize) -> Command {
    let words = launcher_words(ranks);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1").stdin(Stdio::null());
    command
}

pub const PROGRAM: &str = env!("CARGO_BIN_EXE_groupbench");

pub struct Done {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

pub fn done(output: Output) -> Done {
    Done {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// `groupbench run WORDS` on so many ranks.
pub fn run(ranks: usize, words: &[&str]) -> Done {
    let _alone = alone();
    done(launcher(ranks).arg(PROGRAM).arg("run").args(words).output().unwrap())
}

impl Done {
    #[track_caller]
    pub fn succeeded(self) -> Done {
        assert_eq!(self.status, Some(0), "{}{}", self.stdout, self.stderr);
        self
    }

    /// Lines of comma-separated values, without their first.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let mut reader = csv::Reader::from_reader(self.stdout.as_bytes());
        reader.records().map(|record| record.unwrap().iter().map(str::to_owned).collect()).collect()
    }
}

/// What `cargo build --release` left in the workspace's own target directory; `None` where it was not run.
pub fn built(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release").join(name);
    path.exists().then(|| path.canonicalize().unwrap())
}

/// As short as it gets, and verified.
pub const ONCE: [&str; 6] = ["--reps", "1", "--warm-up", "0", "--format", "csv"];

pub fn once<'a>(words: &[&'a str]) -> Vec<&'a str> {
    words.iter().copied().chain(ONCE).collect()
}

/// Runs it, and asks that every byte of every row arrived; the rows, and what was left out.
#[track_caller]
pub fn right(ranks: usize, words: &[&str]) -> (Vec<Vec<String>>, String) {
    let done = run(ranks, &once(words)).succeeded();
    let rows = done.rows();
    assert!(rows.iter().all(|row| row[11] == "0"), "{}", done.stdout);
    (rows, done.stderr)
}

/// Runs it profiled; the profile of `out`.
pub fn profiled(ranks: usize, words: &[&str], folder: &Path) -> Option<(Done, PathBuf)> {
    let (Some(through), Some(_)) = (built("through"), built("libcommsee.so")) else {
        eprintln!("left out: profiles of the benchmark (`cargo build --release` was not run)");
        return None;
    };
    let _alone = alone();
    let profile = folder.join("profile.db");
    let _ = fs::remove_file(&profile);
    let mut command = Command::new(through);
    command.args(["run", "-o"]).arg(&profile).arg("--").args(launcher_words(ranks)).args(words);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1").stdin(Stdio::null());
    Some((done(command.current_dir(folder).output().unwrap()).succeeded(), profile))
}
