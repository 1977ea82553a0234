//! `through exec` in a step of Slurm over two nodes, where it stays as the parent of its program. What the batch system tells it is made up
//! here: its variables, and the cgroup in `/proc`. The test stands for Slurm, whose signals reach the task alone.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

struct Step {
    folder: TempDir,
    is_staying: bool,
}

impl Step {
    /// Nothing where this user may not make namespaces, which is said.
    fn new(is_staying: bool) -> Option<Step> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("cgroup"), "6:freezer:/slurm/uid_0/job_7/step_0\n0::/\n").unwrap();
        fs::write(folder.path().join("libcommsee.so"), "").unwrap();
        let step = Step { folder, is_staying };
        let probe = step.shell("true").stdout(Stdio::null()).stderr(Stdio::piped()).output().unwrap();
        let said = String::from_utf8_lossy(&probe.stderr);
        if !probe.status.success() && said.contains("unshare:") | said.contains("mount:") {
            let _ = writeln!(std::io::stderr(), "SKIPPED: tests of through exec in a step: {}", said.trim_end());
            return None;
        }
        Some(step)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        let become_task = "mount --bind cgroup /proc/$$/cgroup && exec \"$@\"";
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", become_task, "sh"]);
        command.args([env!("CARGO_BIN_EXE_through"), "exec", "--"]).args(words).current_dir(self.path());
        command.env("COMMSEE_LIB", self.path().join("libcommsee.so"));
        let nodes = if self.is_staying { "2" } else { "1" };
        let told = [("JOB_ID", "7"), ("STEP_ID", "0"), ("STEP_NUM_NODES", nodes), ("LOCALID", "0"), ("TASK_PID", "1")];
        told.iter().for_each(|(name, value)| _ = command.env(format!("SLURM_{name}"), value));
        // Signals to the group are not for the test. The loader says that the library is none.
        command.process_group(0).stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    fn shell(&self, line: &str) -> Command {
        self.command(&["sh", "-c", line])
    }

    /// Starts a line that makes a file of this name.
    fn start(&self, line: &str, sign: &str) -> Child {
        let child = self.shell(line).spawn().unwrap();
        self.wait_for(sign, 1);
        child
    }

    /// Waits for so many lines of a file.
    fn wait_for(&self, file: &str, lines: usize) {
        let begun = Instant::now();
        while self.lines(file).len() < lines {
            assert!(begun.elapsed() < Duration::from_secs(60), "{file}: {:?}", self.lines(file));
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path().join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

fn send(child: &Child, signal: i32) {
    // SAFETY: a plain system call.
    assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
}

#[test]
fn a_task_ends_as_its_program_ended() {
    for is_staying in [true, false] {
        let Some(step) = Step::new(is_staying) else { return };
        let ends = |line: &str| step.shell(&format!("ulimit -c unlimited; {line}")).output().unwrap().status;
        assert_eq!(ends("exit 0").code(), Some(0));
        assert_eq!(ends("exit 3").code(), Some(3));
        // Core files are the program's alone: this one is told to write none.
        // Under `nohup` SIGHUP ends nobody.
        for signal in [libc::SIGSEGV, libc::SIGTERM, libc::SIGKILL, libc::SIGUSR1] {
            let status = ends(&format!("ulimit -c 0; kill -{signal} $$"));
            assert_eq!((status.signal(), status.core_dumped()), (Some(signal), false));
        }
        for (program, status) in [("./none", 127), ("./cgroup", 126)] {
            let output = step.command(&[program]).stderr(Stdio::piped()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(status), "{said}");
            assert_eq!(said.matches("cannot be started").count(), 1, "{said}");
        }
    }
}

#[test]
fn signals_reach_the_program_once() {
    let line = "trap 'echo USR1 >>got' USR1; trap 'echo TSTP >>got' TSTP; trap 'echo TERM >>got; exit 5' TERM
                echo $$ $PPID >ready; until [ -e group ]; do sleep 0.01; done
                kill -USR1 0; echo >sent; while :; do sleep 0.01; done";
    for is_staying in [true, false] {
        let Some(step) = Step::new(is_staying) else { return };
        let mut child = step.start(line, "ready");
        let task = child.id().to_string();
        let ids = &step.lines("ready")[0];
        let is_parent = ids.ends_with(&format!(" {task}"));
        assert_eq!(is_parent, is_staying, "{ids}: {task}");
        send(&child, libc::SIGUSR1);
        step.wait_for("got", 1);
        send(&child, libc::SIGTSTP);
        step.wait_for("got", 2);
        // From here on the group's: the task is in it, too.
        fs::write(step.path().join("group"), "").unwrap();
        step.wait_for("sent", 1);
        step.wait_for("got", 3);
        send(&child, libc::SIGTERM);
        assert_eq!(child.wait().unwrap().code(), Some(5));
        assert_eq!(step.lines("got"), ["USR1", "TSTP", "USR1", "TERM"]);
    }
}

/// One that has no handler, and one that the task was started with as ignored.
#[test]
fn what_a_program_does_not_handle_ends_it_as_ever() {
    let Some(step) = Step::new(true) else { return };
    let mut child = step.start("echo >ready; while :; do sleep 0.01; done", "ready");
    send(&child, libc::SIGHUP);
    send(&child, libc::SIGTERM);
    assert!([libc::SIGHUP, libc::SIGTERM].contains(&child.wait().unwrap().signal().unwrap()));

    let mut command = step.shell("kill -HUP $$; exit 4");
    // SAFETY: a plain system call.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            libc::signal(libc::SIGCHLD, libc::SIG_IGN);
            Ok(())
        })
    };
    assert_eq!(command.status().unwrap().code(), Some(4));
}

#[test]
fn descriptors_and_names_are_the_programs() {
    let Some(step) = Step::new(true) else { return };
    // Its output ends when it closes it, not when the task ends. The shell reads its own status: while it starts another program
    // all signals are blocked.
    let line = "read word; echo $word; [ $SLURM_TASK_PID = $$ ] && echo own; cut -d' ' -f5 /proc/$$/stat
                while read name mask; do case $name in SigBlk:|SigIgn:) echo $name $mask;; esac; done < /proc/$$/status; exec >&-; until [ -e go ]; do sleep 0.01; done";
    let read = |step: &Step| {
        let mut child = step.shell(line).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"word\n").unwrap();
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(child.try_wait().unwrap().is_none(), "{said}");
        fs::write(step.path().join("go"), "").unwrap();
        assert!(child.wait().unwrap().success());
        (child.id(), said)
    };
    let (task, said) = read(&step);
    let lines: Vec<&str> = said.lines().collect();
    // The process group is that of the task.
    assert_eq!(lines[..3], ["word", "own", &task.to_string()], "{said}");
    let plain = Step::new(false).expect("as before");
    let (_, without) = read(&plain);
    assert_eq!(lines[3..], without.lines().skip(without.lines().count() - 2).collect::<Vec<_>>(), "{without}");
}

/// Without cgroups of Slurm's nothing is killed, and where nothing carries there is nothing to wait for.
#[test]
fn a_task_becomes_its_program_where_nothing_is_gained() {
    let Some(step) = Step::new(true) else { return };
    let line = "echo $$";
    let is_program = |mut command: Command| {
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        let task = child.id().to_string();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap().trim_end() == task
    };
    assert!(!is_program(step.shell(line)));
    let mut unwatched = step.shell(line);
    unwatched.env("COMMSEE_WATCH", "0");
    assert!(is_program(unwatched));
    fs::write(step.path().join("cgroup"), "7:memory:/slurm/uid_0/job_7/step_0\n6:freezer:/\n").unwrap();
    assert!(is_program(step.shell(line)));
}
