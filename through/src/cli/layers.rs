//! The commands that show what layers below MPI did, and who talked to whom.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::{Entries, Input, LayersView, Output, SelectCalls, SelectRoutes, by_name, named, views};
use crate::document::Format;
use crate::views::{Between, of};

#[derive(Debug, Default, Args)]
#[command(override_usage = "through layers [OPTIONS] [PROFILE]")]
pub struct Layers {
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub view: LayersView,
    #[command(flatten)]
    pub calls: SelectCalls,
    #[command(flatten)]
    pub routes: SelectRoutes,
    /// Show only the first N entries; 0 shows all
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub top: Option<usize>,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Debug, Default, Args)]
#[command(override_usage = "through matrix [OPTIONS] [PROFILE]")]
pub struct Matrix {
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub calls: SelectCalls,
    #[command(flatten)]
    pub routes: SelectRoutes,
    /// Count messages or operations instead of bytes
    #[arg(long = "calls", id = "counts", help_heading = "Output")]
    pub counts: bool,
    /// With what rings and trees move for collectives of a layer, by formula, apart from what calls say: --layer nccl --modelled
    #[arg(long, help_heading = "Output")]
    pub modelled: bool,
    /// Rows and columns of the matrix
    #[arg(long, default_value = "rank", value_parser = ends(&RANKS_OR_HOSTS), value_name = "WHAT", help_heading = "Output")]
    pub by: Between,
    #[command(flatten)]
    pub entries: Entries,
    /// Output format [default: table, or what FILE ends with: .csv, .json or .parquet]
    #[arg(long, value_parser = views::formats(of("matrix")), value_name = "FORMAT", help_heading = "Output")]
    format: Option<Format>,
    /// Write to FILE
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

impl Matrix {
    pub fn format(&self) -> Format {
        self.format.unwrap_or_else(|| by_name(self.output.as_deref()))
    }
}

#[derive(Debug, Args)]
#[command(override_usage = "through graph [OPTIONS] [PROFILE]")]
pub struct Graph {
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub calls: SelectCalls,
    #[command(flatten)]
    pub routes: SelectRoutes,
    /// Nodes of the graph
    #[arg(long, default_value = "processes", value_parser = ends(&NODES), value_name = "WHAT", help_heading = "Output")]
    pub of: Between,
    /// Draw only the N heaviest edges; 0 draws all
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub top: Option<usize>,
    /// Output format [default: dot, or what FILE ends with: .json]
    #[arg(long, value_parser = views::formats(of("graph")), value_name = "FORMAT", help_heading = "Output")]
    format: Option<Format>,
    /// Write to FILE
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

impl Graph {
    pub fn format(&self) -> Format {
        self.format.or_else(|| named(self.output.as_deref())).unwrap_or(Format::Dot)
    }
}

const RANKS_OR_HOSTS: [(&str, Between); 2] = [("rank", Between::Ranks), ("host", Between::Hosts)];
const NODES: [(&str, Between); 3] =
    [("processes", Between::Ranks), ("hosts", Between::Hosts), ("devices", Between::Devices)];

fn ends(all: &'static [(&'static str, Between)]) -> impl TypedValueParser<Value = Between> {
    PossibleValuesParser::new(all.iter().map(|(name, _)| *name))
        .map(|name| all.iter().find(|(known, _)| *known == name).expect("one of the names").1)
}
