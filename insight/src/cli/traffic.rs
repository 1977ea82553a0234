//! `through traffic`: who talked to whom.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use through_core::cli::{Entries, Families, Input, Select, SelectRoutes, by_name, formats};
use through_core::document::Format;
use through_core::views::{Between, of};

use crate::order::Kind;
use crate::views::VIEWS;

#[derive(Debug, Default, Args)]
#[command(override_usage = "through traffic [OPTIONS] [PROFILE]")]
pub struct Traffic {
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub view: TrafficView,
    #[command(flatten)]
    pub select: Select,
    #[command(flatten)]
    pub routes: SelectRoutes,
    /// What the matrix and the graph are between. Of a matrix, devices are memories of hosts and GPUs: what NCCL and copies moved
    #[arg(long, default_value = "rank", value_parser = ends(), value_name = "WHAT", help_heading = "Output")]
    pub by: Between,
    /// Matrix and graph: count messages or operations instead of bytes
    #[arg(long = "calls", id = "counts", help_heading = "Output", hide_short_help = true)]
    pub counts: bool,
    /// Matrix: add what rings and trees move for collectives of a layer, by formula, apart from what was measured: --layer nccl --modelled
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub modelled: bool,
    #[command(flatten)]
    pub families: Families,
    #[command(flatten)]
    pub entries: Entries,
    /// Output format [default: table, for --graph dot, or what FILE ends with: .csv, .json or .parquet]. csv is exact, for programs; spreadsheet is CSV for Excel and LibreOffice
    #[arg(long, value_parser = formats(of("traffic").chain(VIEWS)), value_name = "FORMAT", help_heading = "Output", conflicts_with = "write")]
    format: Option<Format>,
    /// Write to FILE
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Views (default: matrix of ranks or hosts)")]
pub struct TrafficView {
    /// Graph of processes, hosts or devices, for Graphviz
    #[arg(long)]
    pub graph: bool,
    /// Patterns on each communicator: rings, halos, stars, trees, and what does not fit
    #[arg(long, conflicts_with = "graph")]
    pub patterns: bool,
    /// Order of ranks with few bytes between nodes
    #[arg(long, conflicts_with_all = ["graph", "patterns"])]
    pub reorder: bool,
    /// With --reorder: nodes to place ranks on: 4, 4x32 (slots of each), or node1:32,node2:32 [default: those of the run]
    #[arg(long, value_name = "NODES", requires = "reorder", hide_short_help = true)]
    pub nodes: Option<String>,
    /// With --reorder: print the order for a launcher: Open MPI, Cray MPICH, Slurm, or MPICH's mpiexec
    #[arg(long, value_name = "KIND", value_parser = kind(), requires = "reorder", hide_short_help = true)]
    pub write: Option<Kind>,
}

impl Traffic {
    pub fn format(&self) -> Format {
        let named = self.output.as_ref().and_then(|file| file.extension());
        let usual = || match self.view.graph && named.is_none_or(|ends| ends != "json") {
            true => Format::Dot,
            false => by_name(self.output.as_deref()),
        };
        self.format.unwrap_or_else(usual)
    }
}

fn ends() -> impl TypedValueParser<Value = Between> {
    const ENDS: [(&str, Between); 3] =
        [("rank", Between::Ranks), ("host", Between::Hosts), ("device", Between::Devices)];
    PossibleValuesParser::new(ENDS.map(|(name, _)| name))
        .map(|name| ENDS.into_iter().find(|(known, _)| *known == name).expect("one of the names").1)
}

fn kind() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::name)).map(|name| Kind::of(&name).expect("one of the names"))
}
