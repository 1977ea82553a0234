//! A cluster of hosts that are namespaces of this machine (`tests/cluster/vcluster.sh`), and jobs over them: so many nodes, this MPI
//! library, this program, this way of dying.

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::{NamedTempFile, TempDir};

use super::compile::{Program, shared_library};
use super::execute::{Done, execute};
use super::kin::{Kin, NETWORK};
use super::launch::Run;
use super::mpi::Mpi;
use super::paths::{library, root, target_folder, temporary_folder};

/// Ends what hangs, not what is slow.
const LIMIT: Duration = Duration::from_secs(120);

/// Hosts login, node1, node2 and so on, until it is dropped; then no process of them is left. Its `$HOME` is a folder of its own.
pub struct Cluster {
    /// Process 1 of the cluster ends with its input, and all that runs on the hosts with it: whatever becomes of the test.
    keeper: Child,
    state: PathBuf,
    folder: TempDir,
    nodes: usize,
}

impl Cluster {
    /// Nothing where this system permits none, which is said.
    pub fn start(nodes: usize) -> Option<Cluster> {
        let folder = shared_folder();
        fs::create_dir(folder.path().join("home")).expect("a folder");
        let mut command = Command::new(script());
        command.arg(nodes.to_string()).args(["bash", "-c", "echo \"$VC_STATE\"; exec cat >/dev/null"]);
        command.env("HOME", folder.path().join("home")).env_remove("LD_PRELOAD");
        command.env("VC_SHARED", shared_folders().map(|folder| folder.display().to_string()).join("\n"));
        let errors = NamedTempFile::new().expect("a temporary file");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors.reopen().expect("a temporary file"));
        let mut keeper = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let mut state = Vec::new();
        let mut output = keeper.stdout.take().expect("a pipe");
        while !state.ends_with(b"\n") {
            let mut byte = [0];
            if output.read(&mut byte).expect("the state's path") == 0 {
                break;
            }
            state.push(byte[0]);
        }
        if state.is_empty() {
            let status = keeper.wait().expect("the status of the cluster");
            let said = fs::read_to_string(errors.path()).expect("its output");
            assert_eq!(status.code(), Some(77), "{said}");
            skip(said.trim_end());
            return None;
        }
        let state = PathBuf::from(String::from_utf8(state).expect("a path in UTF-8").trim_end());
        Some(Cluster { keeper, state, folder, nodes })
    }

    /// A folder that all hosts share, for the whole cluster.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// The login host and all nodes.
    pub fn hosts(&self) -> Vec<String> {
        std::iter::once("login".to_owned()).chain((1..=self.nodes).map(|node| format!("node{node}"))).collect()
    }

    /// A line for the shell of a host.
    pub fn command(&self, host: &str, line: &str) -> Command {
        let mut command = Command::new(script());
        command.arg("--enter").arg(&self.state).args(["vssh", host, line]);
        command.env("HOME", self.home()).env_remove("LD_PRELOAD");
        command
    }

    /// What such a line gives back.
    pub fn on(&self, host: &str, line: &str) -> Done {
        execute(&mut self.command(host, line))
    }

    /// As `on`, of a line that succeeds: what it prints.
    pub fn tell(&self, host: &str, line: &str) -> String {
        let done = self.on(host, line);
        assert!(done.status.success(), "{host}: {line}: {}\n{}", done.status, done.stderr);
        done.stdout
    }

    /// The node loses power.
    pub fn kill_node(&self, node: &str) {
        self.tell("login", &format!("vkill {node}"));
    }

    /// Sends a signal to all processes of a host that bear one of these names, if there are any.
    pub fn signal(&self, host: &str, signal: &str, names: &[&str]) {
        let patterns: Vec<String> = names.iter().map(|name| format!("-e '{name}'")).collect();
        let found = format!("grep -lx {} /proc/[0-9]*/comm 2>/dev/null | cut -d/ -f3", patterns.join(" "));
        self.tell(host, &format!("pids=$({found}); [ -z \"$pids\" ] || kill -{signal} $pids"));
    }

    /// How many processes of this name run on a host.
    pub fn running(&self, host: &str, name: &str) -> usize {
        let line = format!("cat /proc/[0-9]*/comm 2>/dev/null | grep -cx '{name}' || true");
        self.tell(host, &line).trim_end().parse().expect("a number")
    }

    /// What lies in the hosts' `$HOME` that is commsee's. Settings and caches have directories of their own there.
    pub fn left_at_home(&self) -> Vec<OsString> {
        let names =
            fs::read_dir(self.home()).expect("$HOME").map(|entry| entry.expect("an entry of $HOME").file_name());
        names.filter(|name| name.to_string_lossy().contains("commsee")).collect()
    }

    /// What lies in `/dev/shm` and `/tmp` of the hosts that is commsee's, as `HOST:PATH`.
    pub fn left_on_hosts(&self) -> Vec<String> {
        let find = "find /dev/shm /tmp -maxdepth 1 -name '*commsee-*' | sort";
        let hosts = self.hosts().into_iter().filter(|host| self.is_up(host));
        let shared = shared_folders();
        let of_host = |host: String| {
            let listed = self.tell(&host, find);
            // The project may lie there itself.
            let is_left = |path: &&str| !shared.iter().any(|folder| folder.starts_with(path));
            listed.lines().filter(is_left).map(|path| format!("{host}:{path}")).collect::<Vec<_>>()
        };
        hosts.flat_map(of_host).collect()
    }

    fn is_up(&self, host: &str) -> bool {
        self.on(host, "true").status.success()
    }

    /// A job of a program of `tests/programs/`, profiled, with one rank on each node.
    pub fn job(&self, mpi: Mpi, program: &str) -> Job<'_> {
        self.job_of(mpi, None, Program { name: program, link: Vec::new() }.compiled(mpi))
    }

    /// The same of another program.
    pub fn job_with(&self, mpi: Mpi, program: PathBuf) -> Job<'_> {
        self.job_of(mpi, None, program)
    }

    /// The same under another library.
    pub fn job_under(&self, kin: &Kin, program: &str) -> Job<'_> {
        self.job_of(kin.mpi(), Some(kin.clone()), kin.compiled(program))
    }

    fn job_of(&self, mpi: Mpi, kin: Option<Kin>, program: PathBuf) -> Job<'_> {
        let folder = job_folder();
        Job {
            cluster: self,
            mpi,
            kin,
            program,
            hosts: (1..=self.nodes).map(|node| (format!("node{node}"), 1)).collect(),
            prefix: Vec::new(),
            arguments: Vec::new(),
            environment: vec![("COMMSEE_OUT".to_owned(), folder.path().join("profile.db").display().to_string())],
            preload: vec![library()],
            through: false,
            order: None,
            closes: false,
            folder,
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let begin = Instant::now();
        while let Ok(None) = self.keeper.try_wait() {
            if begin.elapsed() > LIMIT {
                let _ = self.keeper.kill();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A job over the nodes of a cluster.
pub struct Job<'a> {
    cluster: &'a Cluster,
    mpi: Mpi,
    kin: Option<Kin>,
    program: PathBuf,
    hosts: Vec<(String, usize)>,
    prefix: Vec<String>,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    preload: Vec<PathBuf>,
    through: bool,
    order: Option<PathBuf>,
    closes: bool,
    folder: TempDir,
}

impl<'a> Job<'a> {
    /// So many ranks on each of these hosts, in this order.
    pub fn hosts(mut self, hosts: &[(&str, usize)]) -> Job<'a> {
        self.hosts = hosts.iter().map(|(host, ranks)| ((*host).to_owned(), *ranks)).collect();
        self
    }

    /// Ranks go where a file says: a rankfile of Open MPI, or a file of hosts of MPICH.
    pub fn ordered(mut self, file: &Path) -> Job<'a> {
        self.order = Some(file.to_owned());
        self
    }

    /// Ranks start by a command that starts the program.
    pub fn started_by(mut self, prefix: &[&str]) -> Job<'a> {
        self.prefix = prefix.iter().map(|word| (*word).to_owned()).collect();
        self
    }

    pub fn arguments(mut self, arguments: &[&str]) -> Job<'a> {
        self.arguments.extend(arguments.iter().map(|word| (*word).to_owned()));
        self
    }

    pub fn variable(mut self, name: &str, value: &str) -> Job<'a> {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Shards lie in a directory that all hosts share.
    pub fn shared_shards(self) -> Job<'a> {
        let shards = self.folder.path().join("shards").display().to_string();
        self.variable("COMMSEE_DIR", &shards)
    }

    /// Without the profiler.
    pub fn plain(mut self) -> Job<'a> {
        self.preload.clear();
        self.through = false;
        self
    }

    /// MPICH closes its connections, as it does without `tests/programs/unclosed.c`.
    pub fn closing(mut self) -> Job<'a> {
        self.closes = true;
        self
    }

    /// Another path of the library.
    pub fn preload(mut self, library: &Path) -> Job<'a> {
        self.preload = vec![library.to_owned()];
        self
    }

    /// And a module beside it.
    pub fn beside(mut self, module: PathBuf) -> Job<'a> {
        self.preload.push(module);
        self
    }

    /// By `through run`, which preloads the library.
    pub fn through(mut self) -> Job<'a> {
        self.through = true;
        self.preload.clear();
        self
    }

    /// The folder in which the job is started.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The line that starts it on the login host.
    fn line(&self) -> String {
        let ranks: usize = self.hosts.iter().map(|(_, ranks)| ranks).sum();
        let hosts: Vec<String> = self.hosts.iter().map(|(host, ranks)| format!("{host}:{ranks}")).collect();
        let mut environment = self.environment.clone();
        environment.push(("TRUTH_DIR".to_owned(), self.folder.path().join("truth").display().to_string()));
        let vssh = self.cluster.state.join("bin/vssh").display().to_string();
        let kin = self.kin.as_ref().map(|kin| kin.over_hosts(&vssh, &self.hosts, self.order.as_deref()));
        let mut preload = self.preload.clone();
        if self.mpi != Mpi::OpenMpi {
            preload.extend((!self.closes && kin.is_none()).then(|| shared_library("unclosed")));
            preload.push(shared_library("yield"));
        }
        let preload: Vec<String> = preload.iter().map(|path| path.display().to_string()).collect();
        let mut words = Vec::new();
        let mut add = |more: &[&str]| words.extend(more.iter().map(|word| (*word).to_owned()));
        add(&["env"]);
        environment.iter().for_each(|(name, value)| add(&[&format!("{name}={value}")]));
        let (of_launcher, kin) = kin.unzip();
        of_launcher.iter().flatten().for_each(|(name, value)| add(&[&format!("{name}={value}")]));
        if self.through {
            // Before those that are preloaded already.
            if self.mpi != Mpi::OpenMpi {
                add(&[&format!("LD_PRELOAD={}", preload.join(":"))]);
            }
            let through = target_folder().join("release/through");
            add(&[through.to_str().expect("a path in UTF-8"), "run", "-o", "profile.db", "--"]);
        }
        match (&kin, self.mpi) {
            (Some(launcher), _) => launcher.iter().for_each(|word| add(&[word])),
            (None, Mpi::OpenMpi) => {
                add(&["mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]);
                add(&["--mca", "plm_rsh_agent", "vssh", "--mca", "btl", "tcp,self"]);
                for layer in ["btl", "oob"] {
                    add(&["--mca", &format!("{layer}_tcp_if_include"), NETWORK]);
                }
                add(&["-H", &hosts.join(",")]);
                if let Some(file) = &self.order {
                    add(&["--rankfile", file.to_str().expect("a path in UTF-8")]);
                }
            }
            (None, _) => {
                add(&["mpiexec.mpich", "-launcher", "ssh", "-launcher-exec", &vssh]);
                match &self.order {
                    Some(file) => add(&["-machinefile", file.to_str().expect("a path in UTF-8")]),
                    None => add(&["-hosts", &hosts.join(",")]),
                }
            }
        }
        if self.mpi == Mpi::OpenMpi {
            // `through run` hands commsee's own on.
            let is_handed_on = |name: &str| self.through && name.starts_with("COMMSEE_");
            let all = environment.iter().chain(of_launcher.iter().flatten());
            all.filter(|(name, _)| !is_handed_on(name)).for_each(|(name, _)| add(&["-x", name]));
            if !preload.is_empty() {
                add(&["-x", &format!("LD_PRELOAD={}", preload.join(":"))]);
            }
        } else if !self.through {
            add(&["-env", "LD_PRELOAD", &preload.join(":")]);
        }
        add(&["-n", &ranks.to_string()]);
        self.prefix.iter().for_each(|word| add(&[word]));
        add(&[self.program.to_str().expect("a path in UTF-8")]);
        words.extend(self.arguments.clone());
        let quoted: Vec<String> = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
        format!("cd '{}' && exec {}", self.folder.path().display(), quoted.join(" "))
    }

    /// Starts it.
    pub fn start(self) -> Running<'a> {
        let (stdout, stderr) = (NamedTempFile::new().unwrap(), NamedTempFile::new().unwrap());
        let mut command = self.cluster.command("login", &self.line());
        command.stdin(Stdio::null()).stdout(stdout.reopen().unwrap()).stderr(stderr.reopen().unwrap());
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let ranks = self.hosts.iter().map(|(_, ranks)| ranks).sum();
        Running { job: self, child, stdout, stderr, ranks }
    }

    /// Runs it to its end.
    pub fn run(self) -> Run {
        self.start().wait()
    }
}

/// A job that goes on. Its processes end with its cluster, whatever becomes of the test.
pub struct Running<'a> {
    job: Job<'a>,
    child: Child,
    stdout: NamedTempFile,
    stderr: NamedTempFile,
    ranks: usize,
}

impl Running<'_> {
    pub fn folder(&self) -> &Path {
        self.job.folder.path()
    }

    /// Both outputs so far.
    pub fn output(&self) -> String {
        let read = |file: &NamedTempFile| String::from_utf8_lossy(&fs::read(file.path()).unwrap()).into_owned();
        format!("--- stdout\n{}--- stderr\n{}", read(&self.stdout), read(&self.stderr))
    }

    /// Until all ranks have come to the meeting point of `meet.h`.
    pub fn wait_until_met(&self) {
        let truth = self.folder().join("truth");
        let met = || (0..self.ranks).all(|rank| truth.join(format!("here-{rank}")).exists());
        wait_for("ranks that meet", || met().then_some(()), || self.output());
    }

    /// Lets those go on that wait for the file `go`.
    pub fn go(&self) {
        fs::write(self.folder().join("truth/go"), "").expect("a file");
    }

    /// Until its launcher has ended.
    pub fn wait(mut self) -> Run {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the state of the job") {
                break status;
            }
            assert!(begin.elapsed() < LIMIT, "the job does not end: {}\n{}", self.job.line(), self.output());
            std::thread::sleep(Duration::from_millis(5));
        };
        let read = |file: &NamedTempFile| String::from_utf8_lossy(&fs::read(file.path()).unwrap()).into_owned();
        let (stdout, stderr) = (read(&self.stdout), read(&self.stderr));
        Run { status, stdout, stderr, mpi: self.job.mpi, ranks: self.ranks, folder: self.job.folder }
    }
}

/// Waits until something is there. The limit only ends a test that hangs.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>, context: impl Fn() -> String) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < LIMIT, "no {what} within {LIMIT:?}\n{}", context());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Says that a test has tested nothing. Standard error itself: what the test's own `eprintln!` says is shown of failed tests only.
pub fn skip(why: &str) {
    use std::io::Write;
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: {why}");
}

fn script() -> PathBuf {
    root().join("tests/cluster/vcluster.sh")
}

/// What all hosts see, wherever it lies: each has a `/tmp` of its own. By paths without symbolic links, which may lead there.
fn shared_folders() -> [PathBuf; 2] {
    [root().to_owned(), temporary_folder()].map(|folder| folder.canonicalize().expect("a folder of the project"))
}

/// A folder that all hosts see, for a moment.
fn shared_folder() -> TempDir {
    let folder = tempfile::Builder::new().prefix("cluster-").tempdir_in(temporary_folder());
    folder.expect("a temporary folder")
}

/// Such a folder for a job, with what a `Run` expects.
pub fn job_folder() -> TempDir {
    let folder = shared_folder();
    for name in ["shards", "truth"] {
        fs::create_dir(folder.path().join(name)).expect("a folder in the temporary folder");
    }
    folder
}
