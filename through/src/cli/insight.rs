//! Commands that say why: what they are about is a whole run, or a part of it that is named.

use clap::Args;

use super::{Input, Output, Select};

/// A command that shows one view, with all filters.
#[derive(Debug, Default, Args)]
pub struct Look {
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub select: Select,
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
    pub output: Output,
}
