//! What is said where the command line starts no command: help, or what is wrong with it.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::error::Error;
use crate::text::message::say;
use crate::text::similar::similar;
use crate::views::{Flag, VIEWS, View};

/// Says what clap has to say instead of running a command: help, the version, or what is wrong. Returns the exit status.
pub fn answer(mut answer: clap::Error, words: &[OsString], all: &clap::Command) -> ExitCode {
    let is_help = answer.exit_code() == 0;
    let meant = match answer.kind() {
        ErrorKind::ArgumentConflict => what_was_meant(words, all),
        ErrorKind::UnknownArgument => first_is_no_command(words, all).or_else(|| elsewhere(&answer, all)),
        _ => None,
    };
    if let Some(what) = meant {
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

/// An option that another command has.
fn elsewhere(answer: &clap::Error, all: &clap::Command) -> Option<String> {
    let ContextValue::String(option) = answer.get(ContextKind::InvalidArg)? else { return None };
    let name = option.trim_start_matches('-');
    let before = OPTIONS_BEFORE.iter().find(|(before, _)| *before == name).map(|(_, now)| (*now).to_owned());
    let command = || commands(all).iter().any(|command| command == name).then(|| name.to_owned());
    let now = before.or_else(command).or_else(|| of_view(name))?;
    Some(format!("there is no option '{option}' here: see `through {now}`"))
}

/// The first word was a command before, or is a view.
fn first_is_no_command(words: &[OsString], all: &clap::Command) -> Option<String> {
    let first = words.get(1)?.to_string_lossy();
    let is_other = first.starts_with('-') || all.find_subcommand(&*first).is_some() || Path::new(&*first).exists();
    if is_other { None } else { no_such_command(&first, all) }
}

const OPTIONS_BEFORE: [(&str, &str); 3] = [
    ("by", "comms --by line"),
    ("tree", "sites --callers` or `through comms --tree"),
    ("modelled", "traffic --modelled"),
];

/// How the view of a switch is asked for.
fn of_view(switch: &str) -> Option<String> {
    let is_named = |view: &&View| matches!(view.flag, Flag::Switch { long, .. } if long == switch);
    VIEWS.iter().find(is_named).map(|view| format!("{} --{switch}", or_show(view.command)))
}

/// What was a command before, and what is asked for instead.
const BEFORE: [(&str, &str); 19] = [
    ("collect", "recover --all-hosts"),
    ("clean", "recover --clean"),
    ("ucx", "layers"),
    ("efficiency", "show --efficiency"),
    ("top", "show --flat"),
    ("hist", "show --sizes"),
    ("hosts", "show --hosts"),
    ("tree", "comms --tree"),
    ("imbalance", "waits --imbalance"),
    ("matrix", "traffic"),
    ("graph", "traffic --graph"),
    ("patterns", "traffic --patterns"),
    ("reorder", "traffic --reorder"),
    ("diff", "compare"),
    ("correlate", "compare"),
    ("roofline", "bench roofline"),
    ("schema", "sql --schema"),
    ("trace", "export perfetto"),
    ("resolve", "export db"),
];

/// Several words of which the first is no command. What excludes each other behind a command is clap's to say.
fn what_was_meant(words: &[OsString], all: &clap::Command) -> Option<String> {
    if words.get(1).is_some_and(|word| all.find_subcommand(word).is_some()) {
        return None;
    }
    if are_profiles(words) {
        let joined = "`through recover A.db B.db` to join partial ones";
        return Some(format!("shows one profile at a time: see `through compare A.db B.db`, and {joined}"));
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

/// What to say of a word that is no file, if it is like a command, or the name of a view.
pub fn no_such_command(word: &str, all: &clap::Command) -> Option<String> {
    let before = BEFORE.iter().find(|(name, _)| *name == word).map(|(_, now)| (*now).to_owned());
    if let Some(now) = before.or_else(|| of_view(word)) {
        return Some(format!("there is no command '{word}': see `through {now}`"));
    }
    let commands = commands(all);
    let near = similar(word, commands.iter().map(String::as_str), str::to_lowercase);
    let is_any = !near.is_empty();
    is_any.then(|| format!("there is no command '{word}', and no such file; similar commands: {}", near.join(", ")))
}

fn or_show(command: &str) -> &str {
    if command.is_empty() { "show" } else { command }
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
