//! What commsee says to the user, on standard error and never twice.

use std::io::Write as _;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use vocabulary::settings::Log;

use crate::signals;

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
    signals::held_back(|| {
        // One write, so that lines of several ranks do not mix; a closed standard error is nobody's trouble.
        let _ = std::io::stderr().write_all(line.as_bytes());
    });
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
