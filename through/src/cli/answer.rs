//! What is said where the command line starts no command: help, or what is wrong with it.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::error::Error;
use crate::text::message::say;

/// Says what clap has to say instead of running a command: help, the version, or what is wrong. Returns the exit status.
pub fn answer(answer: clap::Error, words: &[OsString]) -> ExitCode {
    let is_help = answer.exit_code() == 0;
    if answer.kind() == ErrorKind::ArgumentConflict && are_profiles(words) {
        say(
            "shows one profile at a time: see `through diff A.db -- B.db`, and `through recover A.db B.db` to join partial ones",
        );
        return ExitCode::from(2);
    }
    let printed = answer.print().and_then(|()| io::stdout().flush());
    match printed {
        Err(error) if is_help && error.kind() != io::ErrorKind::BrokenPipe => {
            let error = Error::Stdout(error);
            say(&error);
            ExitCode::from(error.status())
        }
        _ => ExitCode::from(answer.exit_code() as u8),
    }
}

/// Whether the words are several files and no command.
fn are_profiles(words: &[OsString]) -> bool {
    let is_file = |word: &OsString| Path::new(word).is_file();
    let named = words.iter().skip(1).filter(|word| !word.to_string_lossy().starts_with('-'));
    named.take(2).filter(|word| is_file(word)).count() == 2
}
