//! `through exec` as the parent of its program, in a step of Slurm. Where Slurm tracks processes by cgroups it kills what is left of a
//! step some milliseconds after the last task of a node has ended, and whatever carries the shards of ranks that died with it. So the
//! task itself, which Slurm waits for, must be there until they have been carried. The program must not notice: it has the
//! descriptors, the process group, the signals and the limits of its task, and the task ends as it ended.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::ptr;
use std::time::{Duration, Instant};

use commsee::profile::{State, hosts, life};
use commsee::settings;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::job::carry;

/// Slurm gives 30 s by default (`KillWait`) before it kills what it has asked to end.
const PATIENCE: Duration = Duration::from_secs(25);
/// A program that is asked to end and has not by then may be killed: what it counted is copied while it lives.
const GRACE: Duration = Duration::from_secs(1);

/// A step of Slurm over several nodes, whose processes are killed with its last task on a node.
pub struct Step {
    job: String,
    step: String,
    /// The first task on its node, which speaks for all of it.
    is_first: bool,
}

impl Step {
    /// `None`: what outlives the program is left alone, or there is nothing that would.
    pub fn own() -> Option<Step> {
        Step::of(|name| env::var(name).ok(), &fs::read_to_string("/proc/self/cgroup").unwrap_or_default())
    }

    fn of(variable: impl Fn(&str) -> Option<String>, cgroups: &str) -> Option<Step> {
        let step = variable("SLURM_STEP_ID")?;
        let job = variable("SLURM_JOB_ID")?;
        let nodes: u32 = variable("SLURM_STEP_NUM_NODES")?.parse().ok()?;
        let is_watched = variable(settings::WATCH).is_none_or(|wanted| settings::is_on(Some(&wanted)));
        let is_first = variable("SLURM_LOCALID")? == "0";
        (nodes > 1 && is_watched && is_tracked(&job, cgroups)).then_some(Step { job, step, is_first })
    }

    /// Processes here that carry what the ranks of this step leave.
    fn watchers(&self) -> Vec<Watcher> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        numbers.filter_map(|number| self.watcher(number)).collect()
    }

    fn watcher(&self, number: i32) -> Option<Watcher> {
        let words = |file: &str| {
            let text = fs::read(format!("/proc/{number}/{file}")).ok()?;
            Some(text.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect::<Vec<_>>())
        };
        // The number may be another process's once it has ended.
        let process = open_process(number)?;
        let command = words("cmdline")?;
        let [_, verb, note, ..] = command.as_slice() else { return None };
        // People watch runs and folders, by the same command.
        let is_note = note.starts_with(b"/") && !Path::new(OsStr::from_bytes(note)).is_dir();
        let variables = (verb == b"watch" && is_note).then(|| words("environ"))??;
        let has = |name: &str, value: &str| variables.contains(&format!("{name}={value}").into_bytes());
        let is_own = has("SLURM_JOB_ID", &self.job) && has("SLURM_STEP_ID", &self.step);
        is_own.then(|| Watcher { process, note: OsString::from_vec(note.clone()).into() })
    }

    /// Until what the ranks of this host left is carried. While another of them lives its own task will wait.
    fn await_watchers(&self) {
        let begun = Instant::now();
        for watcher in self.watchers().into_iter().filter(|watcher| !watcher.has_living_ranks()) {
            let left = PATIENCE.saturating_sub(begun.elapsed());
            let mut ended = [PollFd::new(&watcher.process, PollFlags::IN)];
            _ = poll(&mut ended, Timespec::try_from(left).ok().as_ref());
        }
    }
}

/// Whether the step's processes are in cgroups of Slurm's: `proctrack/cgroup`. Its other ways do not find a process with a session of its
/// own. Version 1 tracks them by the freezer, in version 2 there is one tree.
fn is_tracked(job: &str, cgroups: &str) -> bool {
    let of_tracking = |line: &&str| {
        let controllers = line.split(':').nth(1).unwrap_or("none");
        controllers.is_empty() || controllers.split(',').any(|controller| controller == "freezer")
    };
    cgroups.lines().filter(of_tracking).any(|line| line.contains(&format!("/job_{job}/step_")))
}

struct Watcher {
    process: OwnedFd,
    note: PathBuf,
}

impl Watcher {
    fn has_living_ranks(&self) -> bool {
        let told = hosts::read(&self.note);
        let shards = told.map(|told| carry::shards_of(&told.note)).unwrap_or_default();
        shards.iter().any(|(path, header)| life(path, header) == State::Alive)
    }
}

fn open_process(number: i32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(number)?, PidfdFlags::empty()).ok()
}

/// Splits this process. Returns `None` in the one that is to become the program, and which is what this one was; in its parent how the
/// program ended, when all has been carried.
pub fn outlive(step: &Step) -> Option<ExitStatus> {
    // SAFETY: plain system calls on plain data; there is one thread.
    unsafe {
        // What comes from now on waits until there is somebody to hand it on to.
        let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = mem::zeroed();
        libc::sigfillset(&mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &all, &mut before);
        // Where it is ignored there is no status to ask for.
        let (default, mut at_ends): (libc::sigaction, libc::sigaction) = mem::zeroed();
        libc::sigaction(libc::SIGCHLD, &default, &mut at_ends);
        let program = libc::fork();
        if program > 0 {
            let _ = let_go();
            let status = hand_signals_on(program, step, &all);
            step.await_watchers();
            return Some(status);
        }
        libc::sigaction(libc::SIGCHLD, &at_ends, ptr::null_mut());
        libc::sigprocmask(libc::SIG_SETMASK, &before, ptr::null_mut());
        // SAFETY: there is one thread.
        if program == 0 && env::var_os(TASK).is_some() {
            env::set_var(TASK, std::process::id().to_string());
        }
        // No process more is permitted: the program goes before what carries its counters.
        None
    }
}

const TASK: &str = "SLURM_TASK_PID";

/// Pipes and sockets end where the program closes them: Slurm, and what reads the program's output, wait for that.
fn let_go() -> io::Result<()> {
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    // SAFETY: plain system calls on descriptors that nothing here uses.
    unsafe {
        (0..3).for_each(|descriptor| _ = libc::dup2(nothing.as_raw_fd(), descriptor));
        drop(nothing);
        if libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32) != 0 {
            let mut limit: libc::rlimit = mem::zeroed();
            libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
            (3..limit.rlim_cur.min(1 << 16) as libc::c_int).for_each(|descriptor| _ = libc::close(descriptor));
        }
    }
    Ok(())
}

/// Until the program has ended. With cgroups Slurm sends signals to its tasks alone, not to their children; other senders mean the process
/// group (a terminal, `kill 0`), and the program is in it.
fn hand_signals_on(program: libc::pid_t, step: &Step, all: &libc::sigset_t) -> ExitStatus {
    let mut killed_at: Option<Instant> = None;
    loop {
        // SAFETY: plain data that lives as long as the calls; the program's number is its own until waitpid has returned its status.
        unsafe {
            let mut info: libc::siginfo_t = mem::zeroed();
            let left = killed_at.map(|at| at.saturating_duration_since(Instant::now()));
            let signal = match left {
                None => libc::sigwaitinfo(all, &mut info),
                Some(left) => {
                    let tv_nsec = left.subsec_nanos().into();
                    libc::sigtimedwait(all, &mut info, &libc::timespec { tv_sec: left.as_secs() as i64, tv_nsec })
                }
            };
            let mut status = 0;
            if signal == libc::SIGCHLD && libc::waitpid(program, &mut status, libc::WNOHANG) == program {
                return ExitStatus::from_raw(status);
            }
            let is_from_slurm = info.si_code <= 0 && info.si_pid() == libc::getppid();
            if signal > 0 && is_from_slurm {
                libc::kill(program, signal);
                if signal == libc::SIGTERM && step.is_first {
                    killed_at.get_or_insert_with(|| Instant::now() + GRACE);
                }
            }
            if left.is_some_and(|left| left.is_zero()) {
                killed_at = None;
                for watcher in step.watchers() {
                    libc::syscall(libc::SYS_pidfd_send_signal, watcher.process.as_raw_fd(), libc::SIGTERM, 0, 0);
                }
            }
        }
    }
}

/// Ends as the program did. Returns its exit status.
pub fn end_as(status: ExitStatus) -> u8 {
    let Some(signal) = status.signal() else { return status.code().unwrap_or(1) as u8 };
    // SAFETY: plain system calls on plain data.
    unsafe {
        // The program has written its core. A limit would not do: programs that take cores are started at any.
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        let (default, mut only): (libc::sigaction, libc::sigset_t) = mem::zeroed();
        libc::sigaction(signal, &default, ptr::null_mut());
        libc::sigemptyset(&mut only);
        libc::sigaddset(&mut only, signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &only, ptr::null_mut());
        libc::raise(signal);
    }
    128 + signal as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERSION_1: &str = "7:memory:/slurm/uid_0/job_7/step_0/task_0\n6:freezer:/slurm/uid_0/job_7/step_0\n0::/\n";
    const VERSION_2: &str = "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n";
    const LINUXPROC: &str = "7:memory:/slurm/uid_0/job_7/step_0/task_0\n6:freezer:/\n0::/\n";

    #[test]
    fn tasks_stay_where_slurm_would_kill_what_carries() {
        let of = |changed: (&str, &str), cgroups: &str| {
            let words = [("SLURM_STEP_ID", "0"), ("SLURM_JOB_ID", "7"), ("SLURM_LOCALID", "1"), changed];
            let words = [("SLURM_STEP_NUM_NODES", "2")].into_iter().chain(words);
            let all: std::collections::HashMap<&str, &str> = words.collect();
            Step::of(|name| all.get(name).map(|value| (*value).to_owned()), cgroups).map(|step| step.is_first)
        };
        let none = ("", "");
        assert_eq!((of(none, VERSION_1), of(none, VERSION_2)), (Some(false), Some(false)));
        assert_eq!(of(("SLURM_LOCALID", "0"), VERSION_1), Some(true));
        assert_eq!((of(none, LINUXPROC), of(none, "")), (None, None));
        assert_eq!(of(("SLURM_JOB_ID", "70"), VERSION_1), None);
        assert_eq!(of(("SLURM_STEP_NUM_NODES", "1"), VERSION_1), None);
        assert_eq!(of((settings::WATCH, "0"), VERSION_1), None);
        assert!(Step::of(|_| None, VERSION_1).is_none());
    }
}
