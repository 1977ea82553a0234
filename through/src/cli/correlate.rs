//! `through correlate`: many runs.

use std::path::PathBuf;

use clap::Args;

use super::{Entries, views};
use crate::document::Format;
use crate::views::Command;

#[derive(Debug, Default, Args)]
#[command(override_usage = "through correlate [OPTIONS] PROFILE...")]
pub struct Correlate {
    /// Profiles of many runs
    #[arg(required = true, value_name = "PROFILE")]
    pub runs: Vec<PathBuf>,
    /// What makes a configuration: keys of the view `meta` [default: command, programs, ranks, mpi_library, mpi_options, options]
    #[arg(long, value_name = "KEYS", value_delimiter = ',')]
    pub by: Vec<String>,
    #[command(flatten)]
    pub entries: Entries,
    /// Output format
    #[arg(long, default_value = "table", value_parser = views::formats(Command::Correlate), value_name = "FORMAT", help_heading = "Output")]
    pub format: Format,
    /// Write to FILE
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}
