//! `through correlate`: many runs.

use std::path::PathBuf;

use clap::Args;

use super::{Entries, by_name, views};
use crate::document::Format;
use crate::views::of;

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
    /// Output format [default: table, or what FILE ends with: .csv, .json or .parquet]
    #[arg(long, value_parser = views::formats(of("correlate")), value_name = "FORMAT", help_heading = "Output")]
    format: Option<Format>,
    /// Write to FILE
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

impl Correlate {
    pub fn format(&self) -> Format {
        self.format.unwrap_or_else(|| by_name(self.output.as_deref()))
    }
}
