//! `through advise`.

use std::path::PathBuf;

use clap::Args;

use super::{Entries, Input, Output};

/// What to look at, for people and for continuous integration.
#[derive(Debug, Default, Args)]
#[command(after_help = "Exit status: 0 nothing above info, 1 findings to act on, 2 error")]
pub struct Advise {
    #[command(flatten)]
    pub input: Input,
    /// Leave out findings that this profile also has
    #[arg(long, value_name = "PROFILE")]
    pub since: Option<PathBuf>,
    /// Measurements of the machine, made by groupbench: also find calls below them
    #[arg(long, value_name = "BENCH.db", num_args = 1..)]
    pub bench: Vec<PathBuf>,
    #[command(flatten)]
    pub entries: Entries,
    #[command(flatten)]
    pub output: Output,
}
