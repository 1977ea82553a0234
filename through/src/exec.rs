//! `through exec`: becomes the program, with the profiler loaded. In a step of Slurm over several nodes one task of each node stays as the
//! parent of its program: Slurm kills what is left of a step some milliseconds after the last task of a node has ended, and the
//! shards of ranks that died must be carried away before.

use std::env;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::thread::sleep;
use std::time::{Duration, Instant};

use commsee::profile::hosts::{self, Folder};
use commsee::profile::recover::host_name;

use crate::cli::Exec;
use crate::error::Error;
use crate::{carry, preload, signals};

/// Slurm gives as much by default (`KillWait`) before it kills.
const PATIENCE: Duration = Duration::from_secs(25);
const PAUSE: Duration = Duration::from_millis(20);

/// Returns where the program could not be started, and in a task that stays.
pub fn exec(exec: &Exec) -> Result<u8, Error> {
    let (program, arguments) = exec.command.split_first().expect("clap requires a word");
    let variables = preload::variables(&exec.profiling)?;
    let mut command = Command::new(program);
    command.args(arguments).envs(variables);
    let start = |source| Error::Start { program: PathBuf::from(program), source };
    let variable = |name: &str| env::var(name).ok();
    let Some(job) = stays(variable) else { return Err(start(command.exec())) };
    let status = signals::outlive(&mut command).map_err(start)?;
    let wanted = commsee::profile::expand(&preload::pattern(&exec.profiling).to_string_lossy());
    await_watcher(&job, &PathBuf::from(wanted));
    Ok(end_as(status))
}

/// The job in whose step this task stays: the first one on its node, of several nodes.
fn stays(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    variable("SLURM_STEP_ID")?;
    let nodes: u32 = variable("SLURM_STEP_NUM_NODES")?.parse().ok()?;
    let is_first = variable("SLURM_LOCALID")? == "0";
    (is_first && nodes > 1).then(|| variable("SLURM_JOB_ID"))?
}

/// As long as somebody carries what the ranks of this host have left.
fn await_watcher(job: &str, wanted: &std::path::Path) {
    let host = host_name();
    let places = carry::places(Some(wanted));
    let told = Folder::find(&places).into_iter().flat_map(|folder| folder.told());
    let own = told.filter(|told| told.note.host == host && told.note.slurm_job.as_deref() == Some(job));
    // Read once: all nodes do this at the same time.
    let notes: Vec<PathBuf> = own.flat_map(|told| [told.path.clone(), Folder::as_carried(&told.path)]).collect();
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE && notes.iter().any(|note| hosts::is_held(note) == Some(true)) {
        sleep(PAUSE);
    }
}

/// Ends as the program did. Returns its exit status.
fn end_as(status: ExitStatus) -> u8 {
    let Some(signal) = status.signal() else { return status.code().unwrap_or(1) as u8 };
    // SAFETY: plain system calls; the program has written a core already, if it was to.
    unsafe {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
    128 + signal as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_task_of_each_node_stays() {
        let of = |local: &str, nodes: &str| {
            let words = [("SLURM_STEP_ID", "0"), ("SLURM_JOB_ID", "7"), ("SLURM_LOCALID", local)];
            let words = words.into_iter().chain([("SLURM_STEP_NUM_NODES", nodes)]);
            let all: std::collections::HashMap<&str, &str> = words.collect();
            stays(|name| all.get(name).map(|value| (*value).to_owned()))
        };
        assert_eq!(of("0", "2").as_deref(), Some("7"));
        assert_eq!((of("1", "2"), of("0", "1")), (None, None));
        assert_eq!(stays(|_| None), None);
    }
}
