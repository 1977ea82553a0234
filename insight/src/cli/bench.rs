//! `through bench`: measurements of the machine, and a profile against them.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use through_core::cli::{Entries, Families, Output, Select};
use through_core::query::range::ByteRange;
use through_core::query::sort::SortKey;

use super::{Rise, Written};
use crate::query::bench::select;
use crate::views::bench::VIEWS;

#[derive(Debug, Default, Args)]
#[command(
    override_usage = "through bench [OPTIONS] [FILE]...\n       through bench cmp [OPTIONS] A.db B.db\n       through bench model [OPTIONS] [FILE]...\n       through bench roofline [OPTIONS] PROFILE BENCH.db...",
    args_conflicts_with_subcommands = true
)]
pub struct Bench {
    #[command(subcommand)]
    pub command: Option<BenchCommand>,
    #[command(flatten)]
    pub list: BenchList,
}

#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Compare two files case by case, by the intervals of their medians
    Cmp(BenchCmp),
    /// Fit models of bandwidth against k, to find ranks that share a NIC
    Model(BenchModel),
    /// Compare the calls of a profile with what the machine can do
    Roofline(Box<Roofline>),
}

#[derive(Debug, Default, Args)]
pub struct BenchList {
    /// Files of measurements, combined [default: newest in the current directory]
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub select: BenchSelect,
    /// Sort by KEY, the largest first [default: by pattern, library and size]
    #[arg(short, long, value_name = "KEY", value_parser = sort_key(), help_heading = "Output")]
    pub sort: Option<SortKey>,
    #[command(flatten)]
    pub output: BenchOutput,
}

#[derive(Debug, Default, Args)]
#[command(override_usage = "through bench cmp [OPTIONS] A.db B.db")]
pub struct BenchCmp {
    /// The measurements as they were, A
    #[arg(value_name = "A.db")]
    pub a: PathBuf,
    /// The measurements as they are, B
    #[arg(value_name = "B.db")]
    pub b: PathBuf,
    /// Exit with status 1 if a median rose for certain and by more: 5% or 0.001 (seconds)
    #[arg(long, value_name = "RISE", value_parser = Rise::parse)]
    pub fail_above: Option<Rise>,
    #[command(flatten)]
    pub select: BenchSelect,
    #[command(flatten)]
    pub output: BenchOutput,
}

#[derive(Debug, Default, Args)]
#[command(
    override_usage = "through bench model [OPTIONS] [FILE]...\n       through bench roofline [OPTIONS] PROFILE BENCH.db..."
)]
pub struct BenchModel {
    /// Files of measurements, combined [default: newest in the current directory]
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Try this map too: the NIC of each rank of a group, such as 0,0,1,1
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub nics: Option<Vec<u64>>,
    #[command(flatten)]
    pub select: BenchSelect,
    #[command(flatten)]
    pub output: BenchOutput,
}

/// Which measurements are meant.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Filters (a measurement must match all of them)")]
pub struct BenchSelect {
    /// Families of patterns: rail,symmetric
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub family: Vec<String>,
    /// Directions: uni, bi, omni, in
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub direction: Vec<String>,
    /// What moved the data, by name
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub library: Vec<String>,
    /// Active ranks of a group: 1,4
    #[arg(short, value_name = "LIST", value_delimiter = ',')]
    pub k: Vec<u64>,
    /// Counts of the pattern in these bounds: 1K:1M, 1M: or :128
    #[arg(short, long, value_name = "LOW:HIGH", value_parser = ByteRange::parse)]
    pub bytes: Option<ByteRange>,
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct BenchOutput {
    #[command(flatten)]
    pub entries: Entries,
    #[command(flatten)]
    pub written: Written,
}

/// A profile against measurements.
#[derive(Debug, Default, Args)]
#[command(override_usage = "through bench roofline [OPTIONS] PROFILE BENCH.db...")]
pub struct Roofline {
    /// Profile to read
    #[arg(value_name = "PROFILE")]
    pub profile: PathBuf,
    /// Files of measurements of the same machine, taken together
    #[arg(value_name = "BENCH.db", required = true)]
    pub bench: Vec<PathBuf>,
    #[command(flatten)]
    pub select: Select,
    #[command(flatten)]
    pub families: Families,
    #[command(flatten)]
    pub entries: Entries,
    #[command(flatten)]
    pub output: Output,
}

impl BenchSelect {
    pub fn select(&self) -> select::Select {
        select::Select {
            family: self.family.clone(),
            direction: self.direction.clone(),
            library: self.library.clone(),
            k: self.k.clone(),
            bytes: self.bytes,
        }
    }
}

fn sort_key() -> impl TypedValueParser<Value = SortKey> {
    let keys = VIEWS.iter().flat_map(|view| view.sorts);
    PossibleValuesParser::new(keys.map(|key| PossibleValue::new(key.name())))
        .map(|name| SortKey::of(&name).expect("one of the names"))
}
