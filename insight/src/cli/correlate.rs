//! `through correlate`: many runs.

use std::path::PathBuf;

use clap::Args;
use through_core::cli::Entries;

use super::Written;

#[derive(Debug, Default, Args)]
#[command(override_usage = "through correlate [OPTIONS] PROFILE...")]
pub struct Correlate {
    /// Profiles of many runs
    #[arg(required = true, value_name = "PROFILE")]
    pub runs: Vec<PathBuf>,
    /// What makes a configuration: keys of the view `meta` [default: command, programs, ranks, mpi_library, options]
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    pub by: Vec<String>,
    #[command(flatten)]
    pub entries: Entries,
    #[command(flatten)]
    pub written: Written,
}
