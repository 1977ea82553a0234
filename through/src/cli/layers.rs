//! The commands that show what layers below MPI did, and who talked to whom.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Input, Output, SelectCalls, SelectWays};

#[derive(Debug, Default, Args)]
#[command(override_usage = "through ucx [OPTIONS] [PROFILE]")]
pub struct Ucx {
    #[command(flatten)]
    pub input: Input,
    /// A block for each communicator or operation, or protocols by communicator and size
    #[arg(long, value_enum, value_name = "WHAT")]
    pub by: Option<Split>,
    /// Every row of the view `transfers`, rank by rank, as CSV or JSON
    #[arg(long, conflicts_with = "by")]
    pub all: bool,
    #[command(flatten)]
    pub calls: SelectCalls,
    #[command(flatten)]
    pub ways: SelectWays,
    #[command(flatten)]
    pub output: Output,
}

/// How the top contributors are split up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Split {
    Comm,
    Op,
    Protocol,
}

#[derive(Debug, Default, Args)]
#[command(override_usage = "through matrix [OPTIONS] [PROFILE]")]
pub struct Matrix {
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub calls: SelectCalls,
    #[command(flatten)]
    pub ways: SelectWays,
    /// Messages or operations instead of bytes
    #[arg(long = "calls", id = "counts", help_heading = "Output")]
    pub counts: bool,
    /// What rows and columns are
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", help_heading = "Output")]
    pub by: Ends,
    /// A list of the N heaviest pairs; 0 lists all
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub top: Option<usize>,
    #[arg(long, value_enum, default_value_t, help = "How it is written", help_heading = "Output")]
    pub format: MatrixFormat,
    /// Write into FILE
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Ends {
    #[default]
    Rank,
    Host,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MatrixFormat {
    #[default]
    Table,
    Csv,
    Json,
    Dot,
}

#[derive(Debug, Default, Args)]
#[command(override_usage = "through graph [OPTIONS] [PROFILE]")]
pub struct Graph {
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub calls: SelectCalls,
    #[command(flatten)]
    pub ways: SelectWays,
    /// What the nodes are
    #[arg(long, value_enum, default_value_t, value_name = "WHAT", help_heading = "Output")]
    pub of: Drawing,
    /// Only the N heaviest edges; 0 draws all
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub top: Option<usize>,
    #[arg(long, value_enum, default_value_t, help = "How it is written", help_heading = "Output")]
    pub format: GraphFormat,
    /// Write into FILE
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Drawing {
    #[default]
    Processes,
    Hosts,
    Devices,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    #[default]
    Dot,
    Json,
}
