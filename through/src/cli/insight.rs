//! Commands that say why: what they are about is a whole run, or a part of it that is named.

use std::path::PathBuf;

use clap::Args;

use crate::advise::Level;

use super::{Entries, Families, Input, Output, Select};

/// What to look at, for people and for continuous integration.
#[derive(Debug, Default, Args)]
#[command(after_help = "Exit status: 0, 1 with --fail-on where a finding reaches its level, 2 error")]
pub struct Advise {
    #[command(flatten)]
    pub input: Input,
    /// Tell only what was not found in this profile
    #[arg(long, value_name = "PROFILE")]
    pub since: Option<PathBuf>,
    /// For continuous integration: exit with status 1 if a finding has this level or a higher one
    #[arg(long, value_name = "LEVEL")]
    pub fail_on: Option<Level>,
    /// Measurements of the machine, made by groupbench: also tell what stays below them
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
    /// A topic of advice, such as late-rank; without it all are listed
    #[arg(value_name = "TOPIC")]
    pub topic: Option<String>,
}

/// A command that shows one view, with all filters.
#[derive(Debug, Default, Args)]
pub struct Look {
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub select: Select,
    #[command(flatten)]
    pub families: Families,
    #[command(flatten)]
    pub entries: Entries,
    #[command(flatten)]
    pub output: Output,
}

/// One that is about ranks over the whole run.
#[derive(Debug, Default, Args)]
pub struct LookAtRanks {
    #[command(flatten)]
    pub input: Input,
    /// Only the members of this communicator, by name, label or birthplace
    #[arg(long, value_name = "NAME", help_heading = "Ranks (default: all)")]
    pub comm: Option<String>,
    /// Only these ranks in MPI_COMM_WORLD: 0,4-7
    #[arg(short, long, value_name = "LIST", value_parser = commsee::ranks::RankSet::parse, help_heading = "Ranks (default: all)")]
    pub rank: Vec<commsee::ranks::RankSet>,
    #[command(flatten)]
    pub families: Families,
    #[command(flatten)]
    pub entries: Entries,
    #[command(flatten)]
    pub output: Output,
}
