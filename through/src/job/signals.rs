//! Signals while a job runs. `through` must outlive the job, to see what it left; so signals go to the job, which
//! decides.

use std::io;
use std::mem;
use std::process::{Child, Command, ExitStatus};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};

/// 0 while there is no job.
static JOB: AtomicI32 = AtomicI32::new(0);
/// A signal that came before the job was there.
static PENDING: AtomicI32 = AtomicI32::new(0);

/// The last signal that asked the job to end, by this program or by the terminal.
static ASKED_TO_END: AtomicI32 = AtomicI32::new(0);

const NAMES: [(libc::c_int, &str); 11] = [
    (libc::SIGHUP, "SIGHUP"),
    (libc::SIGINT, "SIGINT"),
    (libc::SIGQUIT, "SIGQUIT"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGKILL, "SIGKILL"),
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGPIPE, "SIGPIPE"),
    (libc::SIGTERM, "SIGTERM"),
];

/// What launchers react to: they end the job, or hand the signal on to its processes.
const PASSED_ON: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

/// The signal that asked the job to end, if any did. Some launchers end with status 0 then.
pub fn asked_to_end() -> Option<libc::c_int> {
    Some(ASKED_TO_END.load(SeqCst)).filter(|signal| *signal != 0)
}

/// As signal(7) calls those that end a process.
pub fn name(signal: libc::c_int) -> String {
    match NAMES.iter().find(|(number, _)| *number == signal) {
        Some((_, name)) => (*name).to_owned(),
        None => format!("signal {signal}"),
    }
}

/// Runs a command to its end, and passes signals on to it.
pub fn run(command: &mut Command) -> io::Result<ExitStatus> {
    let before = PASSED_ON.map(install);
    let result = command.spawn().and_then(|mut job| {
        JOB.store(job.id() as i32, SeqCst);
        match PENDING.swap(0, SeqCst) {
            0 => {}
            signal => pass_on(signal),
        }
        wait(&mut job)
    });
    JOB.store(0, SeqCst);
    PASSED_ON.iter().zip(&before).for_each(|(signal, action)| restore(*signal, action));
    result
}

/// Has what usually ends this program set a flag instead, so that it can put things right.
pub fn on_end(ending: Arc<AtomicBool>) {
    if ENDING.set(ending).is_err() {
        return;
    }
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: plain data; the handler only stores a flag.
        unsafe {
            let (mut before, mut action): (libc::sigaction, libc::sigaction) = mem::zeroed();
            libc::sigaction(signal, ptr::null(), &mut before);
            // `nohup` ignores one of them.
            if before.sa_sigaction != libc::SIG_IGN {
                action.sa_sigaction = note as *const () as usize;
                libc::sigaction(signal, &action, ptr::null_mut());
            }
        }
    }
}

static ENDING: OnceLock<Arc<AtomicBool>> = OnceLock::new();

extern "C" fn note(_: libc::c_int) {
    if let Some(ending) = ENDING.get() {
        ending.store(true, SeqCst);
    }
}

/// Waits in two steps, so that no signal is sent to a process number that is free again.
fn wait(job: &mut Child) -> io::Result<ExitStatus> {
    loop {
        // SAFETY: `info` is plain data that waitid fills; WNOWAIT leaves the process to `Child::wait`.
        let waited = unsafe {
            let mut info: libc::siginfo_t = mem::zeroed();
            libc::waitid(libc::P_PID, job.id(), &mut info, libc::WEXITED | libc::WNOWAIT)
        };
        if waited == 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            break;
        }
    }
    JOB.store(0, SeqCst);
    job.wait()
}

/// A handler rather than "ignore", which the job would inherit. What is ignored already stays so, for the job too.
fn install(signal: libc::c_int) -> libc::sigaction {
    // SAFETY: both structures are plain data; the handler only does what a handler may.
    unsafe {
        let mut before: libc::sigaction = mem::zeroed();
        libc::sigaction(signal, ptr::null(), &mut before);
        if before.sa_sigaction != libc::SIG_IGN {
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigaction(signal, &action, ptr::null_mut());
        }
        before
    }
}

fn restore(signal: libc::c_int, action: &libc::sigaction) {
    // SAFETY: the action is the one that `install` found.
    unsafe { libc::sigaction(signal, action, ptr::null_mut()) };
}

extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: with SA_SIGINFO the kernel hands over a valid structure.
    let is_from_terminal = unsafe { (*info).si_code } == libc::SI_KERNEL;
    if ![libc::SIGUSR1, libc::SIGUSR2].contains(&signal) {
        ASKED_TO_END.store(signal, SeqCst);
    }
    // What is typed at the terminal reaches the job by itself; twice would make a launcher give up at once.
    if !is_from_terminal {
        match JOB.load(SeqCst) {
            0 => PENDING.store(signal, SeqCst),
            _ => pass_on(signal),
        }
    }
}

fn pass_on(signal: libc::c_int) {
    let job = JOB.load(SeqCst);
    if job > 0 {
        // SAFETY: kill may be called in a handler, and the process is not reaped yet.
        unsafe { libc::kill(job, signal) };
    }
}
