//! Commands that say why: what they are about is a whole run, or a part of it that is named.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::{Entries, Families, Input, Output, Select, by_name, views};
use crate::document::Format;
use crate::render::order::Kind;
use crate::views::of;

/// What to look at, for people and for continuous integration.
#[derive(Debug, Default, Args)]
#[command(after_help = "Exit status: 0 nothing above info, 1 findings to act on, 2 error")]
pub struct Advise {
    #[command(flatten)]
    pub input: Input,
    /// Tell only what was not found in this profile
    #[arg(long, value_name = "PROFILE")]
    pub since: Option<PathBuf>,
    /// Measurements of the machine, made by groupbench: also tell what stays below them
    #[arg(long, value_name = "BENCH.db", num_args = 1..)]
    pub bench: Vec<PathBuf>,
    #[command(flatten)]
    pub entries: Entries,
    #[command(flatten)]
    pub output: Output,
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

/// Which collective to try other algorithms for.
#[derive(Debug, Default, Args)]
pub struct Tune {
    #[command(flatten)]
    pub input: Input,
    /// The communicator, by name, label or birthplace [default: what `advise` names, else the heaviest]
    #[arg(long, value_name = "NAME")]
    pub comm: Option<String>,
    /// The collective operation, with or without MPI_
    #[arg(long, value_name = "NAME")]
    pub op: Option<String>,
    /// Runs of each algorithm
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
    /// Directory to make [default: tune-OPERATION]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Default, Args)]
#[command(override_usage = "through reorder [OPTIONS] [PROFILE]")]
pub struct Reorder {
    #[command(flatten)]
    pub input: Input,
    /// Nodes to place ranks on: 4, 4x32 (slots of each), or node1:32,node2:32 [default: those of the run]
    #[arg(long, value_name = "NODES")]
    pub nodes: Option<String>,
    /// Print the order for a launcher: Open MPI, Cray MPICH, Slurm, or MPICH's mpiexec
    #[arg(long, value_name = "KIND", value_parser = kind(), help_heading = "Output")]
    pub write: Option<Kind>,
    /// Output format [default: table, or what FILE ends with: .csv, .json or .parquet]
    #[arg(long, value_parser = views::formats(of("reorder")), value_name = "FORMAT", help_heading = "Output", conflicts_with = "write")]
    format: Option<Format>,
    /// Write to FILE
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

impl Reorder {
    pub fn format(&self) -> Format {
        self.format.unwrap_or_else(|| by_name(self.output.as_deref()))
    }
}

fn kind() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::name)).map(|name| Kind::of(&name).expect("one of the names"))
}

#[cfg(test)]
mod tests {
    use crate::cli::{Tune, parsed};

    #[test]
    fn algorithms_run_at_least_once() {
        let tune = |runs: &str| parsed::<Tune>(&["--runs", runs]);
        assert!(tune("1").is_ok());
        assert!(tune("0").unwrap_err().to_string().contains("0 is not in 1.."));
    }
}
