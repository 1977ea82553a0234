//! Launches programs: with or without the profiler, in a folder of their own, a few jobs at a time, with a time limit.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use commsee::profile::recover;
use tempfile::TempDir;

use super::compile::{Program, shared_library};
use super::execute::{Done, execute, execute_within};
use super::kin::Kin;
use super::mpi::Mpi;
use super::paths::{library, temporary_folder};
use super::profile::Profile;

/// A job to be run.
pub struct Launch {
    mpi: Mpi,
    kin: Option<Kin>,
    program: PathBuf,
    ranks: usize,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    preload: Vec<PathBuf>,
    limit: Duration,
    limits: Vec<(libc::__rlimit_resource_t, u64)>,
    has_fixed_addresses: bool,
    waits: bool,
}

/// What became of a job.
pub struct Run {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
    pub mpi: Mpi,
    pub ranks: usize,
    pub(super) folder: TempDir,
}

impl Launch {
    /// A program of `tests/programs/`, profiled.
    pub fn new(mpi: Mpi, program: &str) -> Launch {
        let program = Program { name: program, link: Vec::new() }.compiled(mpi);
        Launch::of(mpi, program).preload(library())
    }

    /// Any program, without the profiler.
    pub fn of(mpi: Mpi, program: PathBuf) -> Launch {
        Launch {
            mpi,
            kin: None,
            program,
            ranks: 2,
            arguments: Vec::new(),
            environment: Vec::new(),
            preload: Vec::new(),
            // It ends what hangs, not what is slow: the machine may have other work.
            limit: Duration::from_secs(300),
            limits: Vec::new(),
            has_fixed_addresses: false,
            waits: false,
        }
    }

    /// Under another library of the family.
    pub fn under(mut self, kin: &Kin) -> Launch {
        self.kin = Some(kin.clone());
        self
    }

    /// Without the profiler.
    pub fn plain(mut self) -> Launch {
        self.preload.clear();
        self
    }

    pub fn preload(mut self, library: PathBuf) -> Launch {
        self.preload.push(library);
        self
    }

    pub fn ranks(mut self, ranks: usize) -> Launch {
        self.ranks = ranks;
        self
    }

    pub fn arguments(mut self, arguments: &[&str]) -> Launch {
        self.arguments.extend(arguments.iter().map(|word| (*word).to_owned()));
        self
    }

    pub fn variable(mut self, name: &str, value: &str) -> Launch {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A program with windows. On one machine those components of Open MPI 4.1.4 that it would take by itself (ucx, rdma) lose accumulates now and
    /// then, or fail. Later versions have no `pt2pt`.
    pub fn with_windows(self) -> Launch {
        static IS_OLD: OnceLock<bool> = OnceLock::new();
        let is_old = || execute(Command::new("mpirun.openmpi").arg("--version")).stdout.contains(" 4.");
        if *IS_OLD.get_or_init(is_old) { self.variable("OMPI_MCA_osc", "pt2pt,sm") } else { self }
    }

    pub fn limit(mut self, seconds: u64) -> Launch {
        self.limit = Duration::from_secs(seconds);
        self
    }

    /// Writing further than this into any file is answered by SIGXFSZ, as where a batch system limits files.
    pub fn largest_file(self, bytes: u64) -> Launch {
        self.limited(libc::RLIMIT_FSIZE, bytes)
    }

    /// One of the limits of `ulimit`, for all processes of the job.
    pub fn limited(mut self, resource: libc::__rlimit_resource_t, value: u64) -> Launch {
        self.limits.push((resource, value));
        self
    }

    /// Without random addresses, where the system permits that: sanitizers end programs whose addresses are more random than they know.
    pub fn at_fixed_addresses(mut self) -> Launch {
        self.has_fixed_addresses = true;
        self
    }

    /// A job that waits for most of its time: it runs beside all others.
    pub fn waiting(mut self) -> Launch {
        self.waits = true;
        self
    }

    /// Runs the job. It fails the test if the time is up, whatever the job's status is otherwise.
    pub fn run(self) -> Run {
        let folder = tempfile::Builder::new().prefix("commsee-test-").tempdir().expect("a temporary folder");
        for name in ["shards", "truth"] {
            fs::create_dir(folder.path().join(name)).expect("a folder in the temporary folder");
        }
        let yielding;
        let mut preload: Vec<&Path> = self.preload.iter().map(PathBuf::as_path).collect();
        if self.mpi != Mpi::OpenMpi {
            yielding = shared_library("yield");
            preload.push(&yielding);
        }
        let mut command = match &self.kin {
            Some(kin) => kin.launcher(self.ranks, &preload),
            None => self.mpi.launcher(self.ranks, &preload),
        };
        command.arg(&self.program).args(&self.arguments).current_dir(folder.path());
        for variable in ["COMMSEE_BUCKETS", "COMMSEE_DISABLE", "COMMSEE_LAUNCH", "COMMSEE_HOOKS", "LD_PRELOAD"] {
            command.env_remove(variable);
        }
        command.env("COMMSEE_OUT", folder.path().join("profile.db"));
        command.env("COMMSEE_DIR", folder.path().join("shards"));
        command.env("TRUTH_DIR", folder.path().join("truth"));
        // Of launchers that run at the same time, one makes the folder of all sessions while another removes it; and one that was killed
        // leaves a folder there, which the next one with its process number stumbles over.
        let sessions = tempfile::Builder::new().prefix("commsee-test-").tempdir().expect("a temporary folder");
        if self.mpi == Mpi::OpenMpi {
            command.env("OMPI_MCA_orte_tmpdir_base", sessions.path());
        }
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        for (resource, value) in self.limits {
            let limit = libc::rlimit { rlim_cur: value, rlim_max: value };
            // SAFETY: between fork and exec only this one system call is made.
            unsafe {
                command.pre_exec(move || match libc::setrlimit(resource, &limit) {
                    0 => Ok(()),
                    _ => Err(io::Error::last_os_error()),
                });
            }
        }
        if self.has_fixed_addresses {
            // SAFETY: as above.
            unsafe {
                command.pre_exec(|| {
                    libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
                    Ok(())
                });
            }
        }
        let done = {
            let _place = if self.waits { None } else { Some(Place::take()) };
            execute_within(&mut command, self.limit)
        };
        Run { status: done.status, stdout: done.stdout, stderr: done.stderr, mpi: self.mpi, ranks: self.ranks, folder }
    }
}

impl Run {
    /// What became of a job that was started in another way, in such a folder.
    pub fn of(mpi: Mpi, ranks: usize, done: Done, folder: TempDir) -> Run {
        Run { status: done.status, stdout: done.stdout, stderr: done.stderr, mpi, ranks, folder }
    }

    /// Fails the test if the job did not end well.
    pub fn succeeded(self) -> Run {
        assert!(self.status.success(), "{} ranks under {}: {}\n{}", self.ranks, self.mpi, self.status, self.output());
        self
    }

    /// Both outputs, for messages.
    pub fn output(&self) -> String {
        format!("--- stdout\n{}--- stderr\n{}", self.stdout, self.stderr)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn truth_folder(&self) -> PathBuf {
        self.folder.path().join("truth")
    }

    /// Where the profile is expected.
    pub fn profile_path(&self) -> PathBuf {
        self.folder.path().join("profile.db")
    }

    /// The profile, after a look at what must hold of every profile.
    pub fn profile(&self) -> Profile {
        assert!(self.profile_path().exists(), "no profile was written\n{}", self.output());
        assert!(!self.stdout.contains("commsee"), "the profiler speaks on stdout:\n{}", self.stdout);
        assert_eq!(self.left_behind(), Vec::<PathBuf>::new(), "what must be gone after a clean run");
        let profile = Profile::read(&self.profile_path());
        super::invariants::check(&profile, self.ranks);
        profile
    }

    /// The runs whose shards are still there. A launcher may come back a moment before its last process is gone.
    pub fn leftovers(&self) -> Vec<recover::Run> {
        for _ in 0..300 {
            let found = recover::find(&[self.folder().join("shards")]);
            if found.iter().all(|run| !run.is_alive()) {
                return found;
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("processes that outlive their job, or shards that seem alive without them");
    }

    /// The one run whose shards are still there.
    pub fn left_over(&self) -> recover::Run {
        let mut found = self.leftovers();
        assert_eq!(found.len(), 1, "shards of one run\n{}", self.output());
        found.remove(0)
    }

    /// Removes what the program itself wrote into its working directory.
    pub fn discard_other_files(&self) {
        for path in self.left_behind() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.parent() == Some(self.folder.path()) && !name.contains("profile") {
                fs::remove_file(&path).expect("a file of the program");
            }
        }
    }

    /// Shards, and files beside the profile, that are still there.
    pub fn left_behind(&self) -> Vec<PathBuf> {
        let list = |folder: &Path| -> Vec<PathBuf> {
            let entries = fs::read_dir(folder).expect("a folder of the run");
            entries.map(|entry| entry.expect("an entry of the folder").path()).collect()
        };
        let mut left = list(&self.folder.path().join("shards"));
        let known = ["shards", "truth", "profile.db"].map(|name| self.folder.path().join(name));
        let is_snapshot = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("profile-snapshot-"))
        };
        let beside = list(self.folder.path()).into_iter();
        left.extend(beside.filter(|path| !known.contains(path) && !is_snapshot(path)));
        left
    }
}

/// A place to run a job in. There are three, and more where there are many processors: what one job waits for leaves them to another, but
/// more jobs would only take them from each other. A file's lock, because test files may run as processes side by side.
struct Place(File);

/// Most jobs have no more ranks.
const RANKS_OF_A_JOB: usize = 4;

impl Place {
    fn take() -> Place {
        let folder = temporary_folder();
        let places = (thread::available_parallelism().map_or(1, usize::from) / RANKS_OF_A_JOB).max(3);
        loop {
            for place in 0..places {
                let file = File::create(folder.join(format!("place-{place}.lock"))).expect("the lock file");
                // SAFETY: the descriptor is open; the lock goes with it.
                if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
                    return Place(file);
                }
                let error = io::Error::last_os_error();
                assert_eq!(error.kind(), io::ErrorKind::WouldBlock, "{error}");
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { libc::flock(self.0.as_raw_fd(), libc::LOCK_UN) };
    }
}
