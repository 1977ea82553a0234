//! Jobs of the MPI library that this was compiled for.

use std::fs::File;
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
