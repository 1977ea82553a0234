//! What commsee says to the user, on standard error and never twice.

use std::io::Write as _;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use vocabulary::settings::Log;

static LEVEL: AtomicU8 = AtomicU8::new(Log::Info as u8);
/// The world rank once it is known; then it stands before each message of a rank other than 0.
static RANK: AtomicU32 = AtomicU32::new(0);

pub fn set_level(level: Log) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

pub fn set_rank(rank: u32) {
    RANK.store(rank, Ordering::Relaxed);
}

pub fn warn(text: &str) {
    say(Log::Warn, text);
}

pub fn info(text: &str) {
    say(Log::Info, text);
}

pub fn debug(text: &str) {
    say(Log::Debug, text);
}

fn say(level: Log, text: &str) {
    if level as u8 > LEVEL.load(Ordering::Relaxed) {
        return;
    }
    let line = match RANK.load(Ordering::Relaxed) {
        0 => format!("commsee: {text}\n"),
        rank => format!("commsee: rank {rank}: {text}\n"),
    };
    without_sigpipe(|| {
        // One write, so that lines of several ranks do not mix; a closed standard error is nobody's trouble.
        let _ = std::io::stderr().write_all(line.as_bytes());
    });
}

/// A reader of standard error that has gone must not end the program: the signal is held back and taken away again, unless
/// it was pending before.
fn without_sigpipe(work: impl FnOnce()) {
    // SAFETY: plain system calls on signal sets of our own.
    unsafe {
        let (mut pipe, mut before, mut pending) = std::mem::zeroed::<[libc::sigset_t; 3]>().into();
        libc::sigemptyset(&mut pipe);
        libc::sigaddset(&mut pipe, libc::SIGPIPE);
        libc::sigpending(&mut pending);
        let was_pending = libc::sigismember(&pending, libc::SIGPIPE) == 1;
        if libc::pthread_sigmask(libc::SIG_BLOCK, &pipe, &mut before) != 0 {
            return work();
        }
        work();
        if !was_pending {
            let now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            libc::sigtimedwait(&pipe, std::ptr::null_mut(), &now);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
    }
}

/// Says something once per process, however often the place is passed.
macro_rules! warn_once {
    ($($argument:tt)*) => {{
        static SAID: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
        if !SAID.swap(true, std::sync::atomic::Ordering::Relaxed) {
            $crate::say::warn(&format!($($argument)*));
        }
    }};
}
pub(crate) use warn_once;
