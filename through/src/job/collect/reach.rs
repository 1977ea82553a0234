//! How a program is started on another host of a job: as its launcher did it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use commsee::profile::hosts::{Folder, Told};

use crate::job::carry::{self, Carried};
use crate::job::preload::PRELOAD;
use crate::text::escape::visible;
use crate::text::message::plain;
use crate::text::path::quoted as quoted_if_need_be;

/// Longer than this no host is waited for.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);
/// What a shell ends with that finds no such program.
const NOT_FOUND: i32 = 127;

/// Options of launchers that name the program which reaches hosts. Of `--mca` it is the one behind the parameter's name.
const OPTIONS: [&str; 8] = [
    "-launcher-exec",
    "--launcher-exec",
    "-bootstrap-exec",
    "--bootstrap-exec",
    "plm_rsh_agent",
    "plm_ssh_agent",
    "pls_rsh_agent",
    "orte_rsh_agent",
];
const VARIABLES: [&str; 5] = [
    "HYDRA_LAUNCHER_EXEC",
    "OMPI_MCA_plm_rsh_agent",
    "PRTE_MCA_plm_ssh_agent",
    "PRTE_MCA_plm_rsh_agent",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC",
];

/// A way to all hosts.
pub struct Reach {
    /// The command in front of a host's name, where somebody said so.
    said: Option<Vec<OsString>>,
    /// What the user says to go the same way again, where the environment does not.
    option: Option<OsString>,
}

impl Reach {
    /// The way of a launcher, from its command line.
    pub fn of_launcher(words: &[OsString]) -> Reach {
        let behind = words.windows(2).find(|pair| OPTIONS.iter().any(|option| pair[0] == *option));
        let variable = || VARIABLES.iter().find_map(env::var_os).filter(|value| !value.is_empty());
        let option = behind.map(|pair| pair[1].clone());
        Reach { said: option.clone().or_else(variable).map(|agent| split(&agent)), option }
    }

    pub fn asked(command: Option<&OsStr>) -> Reach {
        match command {
            Some(command) => Reach { said: Some(split(command)), option: Some(command.to_owned()) },
            None => Reach::of_launcher(&[]),
        }
    }

    /// The command with which the user collects again from here.
    pub fn command(&self, folder: &Folder) -> String {
        let mut command = "through recover --all-hosts".to_owned();
        if let Some(option) = &self.option {
            command += &format!(" --rsh {}", quoted_if_need_be(Path::new(option)));
        }
        let beside = folder.path().parent().unwrap_or(Path::new("."));
        if !carry::places(None).iter().any(|place| place == beside) {
            command += &format!(" {}", quoted_if_need_be(beside));
        }
        command
    }

    /// Has a host carry its shards.
    pub fn carry(&self, told: &Told) -> Result<Carried, String> {
        if !is_host_name(&told.note.host) {
            return Err("this is not the name of a host".to_owned());
        }
        let program = env::current_exe().map_err(|error| plain(&error))?;
        let by_shell = |said: Option<&[OsString]>| ask(by_shell(said, &told.note.host, &program, &told.path), &program);
        match (&self.said, &told.note.slurm_job) {
            // Slurm knows no way to the nodes of a job that is over.
            (None, Some(job)) => ask(by_slurm(job, &told.note.host, &program, &told.path), &program)
                .or_else(|of_slurm| by_shell(None).map_err(|of_shell| format!("{of_slurm}; {of_shell}"))),
            (said, _) => by_shell(said.as_deref()),
        }
    }
}

fn ask(mut command: Command, program: &Path) -> Result<Carried, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).env_remove(PRELOAD);
    let mut child = command.spawn().map_err(|error| format!("{name}: {}", plain(&error)))?;
    let stderr = child.stderr.take();
    match wait(child) {
        Some(status) if status.code() == Some(NOT_FOUND) => Err(format!("{} was not found", program.display())),
        Some(status) => {
            let carried = status.code().and_then(Carried::of_status);
            carried.ok_or_else(|| first_line(stderr).unwrap_or_else(|| format!("{name}: {status}")))
        }
        None => Err(format!("{name} did not answer within {} s", PATIENCE.as_secs())),
    }
}

/// What a launcher says first names the cause.
fn first_line(stderr: Option<ChildStderr>) -> Option<String> {
    let mut stderr = stderr?;
    // Something in the background may hold the pipe, as ssh's shared connections do; what was said is there.
    // SAFETY: a plain system call.
    unsafe { libc::fcntl(stderr.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    let mut said = [0; 1024];
    let length = stderr.read(&mut said).ok()?;
    let text = String::from_utf8_lossy(&said[..length]);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(visible(line).into_owned())
}

/// Programs that reach hosts take other words for options (`-oProxyCommand=…`), or for several hosts.
fn is_host_name(host: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    host.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric()) && host.bytes().all(is_plain)
}

fn by_slurm(job: &str, host: &str, program: &Path, note: &Path) -> Command {
    let mut command = Command::new("srun");
    command.args([
        &format!("--jobid={job}"),
        &format!("--nodelist={host}"),
        "--nodes=1",
        "--ntasks=1",
        "--overlap",
        "--mpi=none",
        "--quiet",
    ]);
    command.arg(program).arg("carry").arg(note);
    command
}

fn by_shell(said: Option<&[OsString]>, host: &str, program: &Path, note: &Path) -> Command {
    let ssh = [OsString::from("ssh")];
    let words = said.filter(|words| !words.is_empty()).unwrap_or(&ssh);
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    if Path::new(&words[0]).file_name() == Some(OsStr::new("ssh")) {
        // Nobody is there to type a password.
        command.args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=5"]);
    }
    command.arg(host).arg(format!("{} carry {}", quoted(program), quoted(note)));
    command
}

/// As a shell reads it.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', "'\\''"))
}

/// The first of Open MPI's agents, which are separated by colons, with its arguments.
fn split(agent: &OsStr) -> Vec<OsString> {
    let text = agent.to_string_lossy();
    let first = text.split(" : ").next().unwrap_or_default();
    first.split_whitespace().map(OsString::from).collect()
}

fn wait(mut child: Child) -> Option<ExitStatus> {
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if begun.elapsed() < PATIENCE => sleep(PAUSE),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launcher_tells_how_it_reached_its_hosts() {
        let reach = |words: &str| {
            let words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
            Reach::of_launcher(&words).said.unwrap_or_default()
        };
        assert_eq!(reach("mpiexec -launcher ssh -launcher-exec /bin/vssh -n 4 ./a"), ["/bin/vssh"]);
        assert_eq!(reach("mpirun --mca plm_rsh_agent vssh -n 4 ./a"), ["vssh"]);
        assert_eq!(split(OsStr::new("ssh -q : rsh")), ["ssh", "-q"]);
    }

    #[test]
    fn only_names_of_hosts_are_handed_on() {
        assert!(is_host_name("node-1.cluster_a") && is_host_name("10.77.0.1"));
        for name in ["", "-oProxyCommand=touch x", "-la", "a b", "a,b", "me@host", "a;b", "n[1-2]"] {
            assert!(!is_host_name(name), "{name}");
        }
    }

    #[test]
    fn a_shell_reads_names_as_they_are() {
        let command = by_shell(None, "n1", Path::new("/a b/through"), Path::new("/it's/1-2.host"));
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(words.last().unwrap(), "'/a b/through' carry '/it'\\''s/1-2.host'");
        assert!(words.contains(&"BatchMode=yes".to_owned()) && words.contains(&"n1".to_owned()));
    }
}
