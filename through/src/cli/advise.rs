//! `through advise` and `through explain`.

use std::path::PathBuf;

use clap::Args;

use super::{Entries, Input, Output};
use crate::advise::Level;

/// What to look at, for people and for continuous integration.
#[derive(Debug, Default, Args)]
#[command(after_help = "Exit status: 0, 1 with --fail-on where a finding reaches its level, 2 error")]
pub struct Advise {
    #[command(flatten)]
    pub input: Input,
    /// Leave out findings that this profile also has
    #[arg(long, value_name = "PROFILE")]
    pub since: Option<PathBuf>,
    /// For continuous integration: exit with status 1 if a finding has this level or a higher one
    #[arg(long, value_name = "LEVEL")]
    pub fail_on: Option<Level>,
    /// Measurements of the machine by groupbench: also find calls that are slower
    #[arg(long, value_name = "BENCH.db", num_args = 1..)]
    pub bench: Vec<PathBuf>,
    #[command(flatten)]
    pub entries: Entries,
    #[command(flatten)]
    pub output: Output,
}

/// What a finding means.
#[derive(Debug, Default, Args)]
pub struct Explain {
    /// A topic of advice, such as late-rank, or the name of a communicator,
    /// such as s0.1 [default: list all topics]
    #[arg(value_name = "TOPIC")]
    pub topic: Option<String>,
}
