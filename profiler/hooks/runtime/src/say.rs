//! What commsee says to the user, on standard error and never twice. It needs no memory, since that may be what is missing.

use std::fmt::{self, Write as _};
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use parking_lot::Mutex;

use crate::{errno, launcher, signals};

/// What is said, at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    Off,
    Warn,
    Info,
    Debug,
}

impl Level {
    /// Reads the value of `COMMSEE_LOG`.
    pub fn parse(text: &str) -> Option<Level> {
        Some(match text.trim().to_ascii_lowercase().as_str() {
            "off" | "quiet" | "0" => Level::Off,
            "warn" => Level::Warn,
            "info" | "" => Level::Info,
            "debug" => Level::Debug,
            _ => return None,
        })
    }
}

static LEVEL: AtomicU8 = AtomicU8::new(Level::Info as u8);
/// The world rank once it is known; then it stands before each message of a rank other than 0.
static RANK: AtomicU32 = AtomicU32::new(0);

pub fn set_level(level: Level) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

pub fn set_rank(rank: u32) {
    RANK.store(rank, Ordering::Relaxed);
}

/// Takes the level from `COMMSEE_LOG`, and the rank from the launcher: for who knows them from nobody else.
pub fn follow_environment() {
    let level = std::env::var("COMMSEE_LOG").ok().and_then(|text| Level::parse(&text));
    set_level(level.unwrap_or(Level::Info));
    set_rank(launcher::rank().unwrap_or(0));
}

pub fn warn(text: &str) {
    say(Level::Warn, format_args!("{text}"));
}

/// The same about what is mostly so on all ranks: those beside rank 0 say it to who looks closely.
pub fn warn_for_all(text: &str) {
    let level = if RANK.load(Ordering::Relaxed) == 0 { Level::Warn } else { Level::Debug };
    say(level, format_args!("{text}"));
}

/// The same without a text in memory.
pub fn warn_of(words: fmt::Arguments) {
    say(Level::Warn, words);
}

pub fn info(text: &str) {
    say(Level::Info, format_args!("{text}"));
}

pub fn debug(text: &str) {
    say(Level::Debug, format_args!("{text}"));
}

fn say(level: Level, text: fmt::Arguments) {
    if level as u8 > LEVEL.load(Ordering::Relaxed) {
        return;
    }
    errno::kept(|| {
        signals::held_back(|| match LONG.try_lock() {
            Some(mut bytes) => Line { bytes: &mut *bytes, length: 0 }.say(text),
            None => Line { bytes: &mut [0; SHORT_BYTES], length: 0 }.say(text),
        });
    });
}

/// The longest line; what is longer ends in dots.
const LONG_BYTES: usize = 8 << 10;
/// The longest while somebody else says something.
const SHORT_BYTES: usize = 512;

/// Room for one line: the stack of a thread may have less.
static LONG: Mutex<[u8; LONG_BYTES]> = parking_lot::const_mutex([0; LONG_BYTES]);

struct Line<'a> {
    bytes: &'a mut [u8],
    length: usize,
}

impl fmt::Write for Line<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut fits = text.len().min(self.bytes.len() - "…\n".len() - self.length);
        while !text.is_char_boundary(fits) {
            fits -= 1;
        }
        self.bytes[self.length..self.length + fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.length += fits;
        if fits < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

impl Line<'_> {
    fn say(&mut self, text: fmt::Arguments) {
        let said = match RANK.load(Ordering::Relaxed) {
            0 => write!(self, "commsee: {text}"),
            rank => write!(self, "commsee: rank {rank}: {text}"),
        };
        self.end(said.is_err());
        // One write, so that lines of several ranks do not mix; a closed standard error is nobody's trouble.
        self.write();
    }

    fn end(&mut self, is_cut: bool) {
        let end = if is_cut { "…\n" } else { "\n" };
        self.bytes[self.length..self.length + end.len()].copy_from_slice(end.as_bytes());
        self.length += end.len();
    }

    fn write(&self) {
        let mut rest = &self.bytes[..self.length];
        while !rest.is_empty() {
            // SAFETY: so many bytes are there.
            let written = unsafe { libc::write(libc::STDERR_FILENO, rest.as_ptr().cast(), rest.len()) };
            match usize::try_from(written) {
                Ok(0) => return,
                Ok(written) => rest = &rest[written.min(rest.len())..],
                Err(_) if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }
}

/// Says something once per process, however often the place is passed.
#[macro_export]
macro_rules! warn_once {
    ($($argument:tt)*) => {{
        static SAID: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);
        if !SAID.swap(true, std::sync::atomic::Ordering::Relaxed) {
            $crate::say::warn_of(format_args!($($argument)*));
        }
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_ends_in_dots() {
        let said = |text: &str| {
            let mut line = Line { bytes: &mut [0; 16], length: 0 };
            let said = line.write_str(text);
            line.end(said.is_err());
            String::from_utf8(line.bytes[..line.length].to_vec()).unwrap()
        };
        assert_eq!(said("twelve bytes"), "twelve bytes\n");
        assert_eq!(said("twelve bytes, and more"), "twelve bytes…\n");
        // A character of two bytes is left out as a whole.
        assert_eq!(said("eleven byteé, and more"), "eleven byte…\n");
    }
}
