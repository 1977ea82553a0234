//! What is said where the command line starts no command: help, or what is wrong with it.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ErrorKind};

use crate::error::Error;
use crate::text::message::say;
use crate::text::similar::similar;

/// Says what clap has to say instead of running a command: help, the version, or what is wrong. Returns the exit status.
pub fn answer(mut answer: clap::Error, words: &[OsString], all: &clap::Command) -> ExitCode {
    let is_help = answer.exit_code() == 0;
    if answer.kind() == ErrorKind::ArgumentConflict
        && let Some(what) = what_was_meant(words, all)
    {
        say(what);
        return ExitCode::from(2);
    }
    // To take an option for a file or a program is not what anybody wants.
    answer.remove(ContextKind::Suggested);
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

/// Several words of which the first is no command. What excludes each other behind a command is clap's to say.
fn what_was_meant(words: &[OsString], all: &clap::Command) -> Option<String> {
    if words.get(1).is_some_and(|word| all.find_subcommand(word).is_some()) {
        return None;
    }
    if are_profiles(words) {
        let joined = "`through recover A.db B.db` to join partial ones";
        return Some(format!("shows one profile at a time: see `through diff A.db -- B.db`, and {joined}"));
    }
    let [first, second] = [1, 2].map(|at| words.get(at).map(|word| word.to_string_lossy()));
    let (first, second) = (first?, second?);
    if first.starts_with('-') || second.starts_with('-') {
        return None;
    }
    if commands(all).iter().any(|command| *command == second) {
        return Some(format!("the command comes first: through {second} {first}"));
    }
    let nothing = || format!("there is no command '{first}', and no such file: see `through --help`");
    if Path::new(&*first).exists() { None } else { no_such_command(&first, all).or_else(|| Some(nothing())) }
}

/// What to say of a word that is no file, if it is like a command.
pub fn no_such_command(word: &str, all: &clap::Command) -> Option<String> {
    let commands = commands(all);
    let near = similar(word, commands.iter().map(String::as_str), str::to_lowercase);
    let is_any = !near.is_empty();
    is_any.then(|| format!("there is no command '{word}', and no such file; similar commands: {}", near.join(", ")))
}

fn commands(all: &clap::Command) -> Vec<String> {
    let shown = |command: &&clap::Command| !command.is_hide_set();
    all.get_subcommands().filter(shown).map(|command| command.get_name().to_owned()).collect()
}

/// Whether the words are several files and no command.
fn are_profiles(words: &[OsString]) -> bool {
    let is_file = |word: &OsString| Path::new(word).is_file();
    let named = words.iter().skip(1).filter(|word| !word.to_string_lossy().starts_with('-'));
    named.take(2).filter(|word| is_file(word)).count() == 2
}
