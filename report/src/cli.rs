//! The command that writes a page.

use std::path::PathBuf;

use clap::Args;
use through_core::query::range::TimeRange;

#[derive(Debug, Default, Args)]
#[command(override_usage = "through report [OPTIONS] [PROFILE] [OTHER]...")]
pub struct Arguments {
    /// Profile to show [default: newest *.db in the current directory]; with several, the changes from the first to the last
    #[arg(value_name = "PROFILE")]
    pub profiles: Vec<PathBuf>,
    /// Part of the timeline to put into the page, in seconds: 1.5:2, 1.5: or :2 [default: as much as fits, from the start]
    #[arg(long, value_name = "BEGIN:END", value_parser = TimeRange::parse)]
    pub window: Option<TimeRange>,
    /// Measurements of the machine, made by groupbench, to show beside the run
    #[arg(long, value_name = "BENCH.db", num_args = 1..)]
    pub bench: Vec<PathBuf>,
    /// Write to FILE; - is standard output [default: the profile's name with .html, in the current directory]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
