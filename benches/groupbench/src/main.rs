//! `groupbench`: see `groupbench --help`.

use std::process::ExitCode;

use clap::Parser;
use groupbench::cli::{Cli, Command};
use groupbench::commands;

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Pairs(pairs) => commands::pairs::pairs(&pairs),
        Command::Run(run) if run.launcher.is_some() => commands::launches::launches(&run),
        Command::Run(run) => commands::run::run(&run),
    }
}
