//! `through export`: a profile for other programs.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Input, Select, SelectRoutes};

/// What a profile is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Exported {
    /// All rows as they are, for programs
    Csv,
    /// All rows as CSV for Excel and LibreOffice: no text becomes a formula or a date
    Spreadsheet,
    /// All rows, with data about the run
    Json,
    /// All rows, for data frames
    Parquet,
    /// Timeline, for Perfetto and Chrome (needs `run --trace`)
    Perfetto,
    /// Graph of messages, for Graphviz
    Dot,
    /// Profile with functions, files and lines, for machines without the binaries
    Db,
}

#[derive(Debug, Args)]
#[command(override_usage = "through export [OPTIONS] FORMAT [PROFILE]")]
pub struct Export {
    /// What to write
    #[arg(value_name = "FORMAT")]
    pub what: Exported,
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub select: Select,
    #[command(flatten)]
    pub routes: SelectRoutes,
    /// Write to FILE [default: standard output; for db the profile itself]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// With db: stop after this time and write the names found so far
    #[arg(long, value_name = "SECONDS", help_heading = "Output")]
    pub within: Option<u64>,
    /// With db: trust binaries without a build id by their path alone; lines are wrong if one was built again
    #[arg(long, help_heading = "Output")]
    pub by_path: bool,
}
