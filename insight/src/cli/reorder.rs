//! `through reorder`: ranks on other nodes, or in another order.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use through_core::cli::{Input, by_name, formats};
use through_core::document::Format;

use crate::order::Kind;
use crate::views::VIEWS;

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
    #[arg(long, value_parser = formats(VIEWS), value_name = "FORMAT", help_heading = "Output", conflicts_with = "write")]
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
