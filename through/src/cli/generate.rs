//! `through generate`: what `./install` puts beside the program, made of the command line as it is defined here.

use std::path::PathBuf;

use clap::Subcommand;
use clap_complete::Shell;

#[derive(Debug, Subcommand)]
pub enum Generate {
    /// Write the man pages, one for each command, into a directory
    Man {
        /// The directory, which must be there
        directory: PathBuf,
    },
    /// Print what completes a command line: through generate completions bash
    Completions {
        /// The shell
        shell: Shell,
    },
}

/// The command line without what is hidden from `--help`: what completes words knows no difference.
pub fn documented(all: &clap::Command) -> clap::Command {
    let commands = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect::<Vec<_>>();
    let mut documented = clap::Command::new("through")
        .about(all.get_about().cloned().unwrap_or_default())
        .after_help(all.get_after_help().cloned().unwrap_or_default())
        .version(env!("CARGO_PKG_VERSION"))
        .args_conflicts_with_subcommands(true);
    documented = documented.args(all.get_arguments().cloned().collect::<Vec<_>>()).subcommands(commands);
    documented.build();
    documented
}
