//! Commands that end by themselves.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// What a command gave back.
pub struct Done {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a command that ends by itself soon.
pub fn execute(command: &mut Command) -> Done {
    execute_within(command, Duration::from_secs(120))
}

/// Runs a command that ends by itself within so many seconds.
pub fn execute_within_s(command: &mut Command, seconds: u64) -> Done {
    execute_within(command, Duration::from_secs(seconds))
}

pub(super) fn execute_within(command: &mut Command, limit: Duration) -> Done {
    // Files rather than pipes: a process that outlives its launcher would keep a pipe open.
    let (stdout, stderr) = (tempfile::NamedTempFile::new().unwrap(), tempfile::NamedTempFile::new().unwrap());
    command.stdin(Stdio::null()).stdout(stdout.reopen().unwrap()).stderr(stderr.reopen().unwrap()).process_group(0);
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let read = |file: &tempfile::NamedTempFile| {
        String::from_utf8_lossy(&fs::read(file.path()).expect("the output")).into_owned()
    };
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("the state of the command") {
            return Done { status, stdout: read(&stdout), stderr: read(&stderr) };
        }
        if begin.elapsed() > limit {
            let group = -(child.id() as libc::pid_t);
            // A launcher that is asked to end takes its ranks with it.
            for (signal, patience) in [(libc::SIGTERM, 50), (libc::SIGKILL, 50)] {
                // SAFETY: a signal to the process group that was started above.
                unsafe { libc::kill(group, signal) };
                for _ in 0..patience {
                    if child.try_wait().expect("the state of the command").is_some() {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
            panic!("{command:?} did not end within {limit:?}\n{}{}", read(&stdout), read(&stderr));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
