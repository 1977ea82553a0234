//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use mpi::Threading;

use crate::groups::GroupBy;
use crate::library::Choice;
use crate::measure::Sync;
use crate::pattern::{Direction, Family, Preset, Sequence};

const EXAMPLES: &str = "\
Examples:
  mpirun -n 8 groupbench run --groups node --family rail,dense -k 1: --bytes 1K:16M
  mpirun -n 8 groupbench run -g 4 --library twosided,put,shared/twosided -o machine.db
  groupbench run --launcher 'mpirun -n 8' --launches 5 --groups node -o machine.db
  through traffic app.db --format csv | mpirun -n 8 groupbench run --pattern -
  groupbench pairs --family dense --direction omni -n 2 -g 4 -k 2 --bytes 1M
  through bench machine.db

Exit status: 0 success, 1 bytes arrived wrong, 2 error, 130 interrupted.";

#[derive(Debug, Parser)]
#[command(name = "groupbench", version, about = "Measure communication between groups of MPI ranks", after_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Print the messages of a pattern, without MPI
    Pairs(Pairs),
    /// Measure patterns; started by mpirun or srun
    Run(Box<Run>),
}

#[derive(Debug, Args)]
pub struct Pairs {
    /// Family of patterns
    #[arg(long, value_enum, default_value = "rail")]
    pub family: Family,
    /// Direction
    #[arg(long, value_enum, default_value = "uni")]
    pub direction: Direction,
    /// Number of groups
    #[arg(short = 'n', long = "group-count", value_name = "N", value_parser = count)]
    pub n: usize,
    /// Ranks of a group
    #[arg(short = 'g', long = "group-size", value_name = "G", value_parser = count)]
    pub g: usize,
    /// Active ranks of a group [default: all]
    #[arg(short = 'k', long = "active", value_name = "K")]
    pub k: Option<usize>,
    /// Count C, which the pattern divides over its messages: 64K
    #[arg(long, value_parser = bytes, default_value = "1M")]
    pub bytes: u64,
    /// Several families, one after the other (>) or together (+): rail:bi:k=2>dense
    #[arg(long, value_name = "SEQUENCE", conflicts_with_all = ["family", "direction"])]
    pub steps: Option<Sequence>,
    /// Pattern of an application
    #[arg(long, value_enum, conflicts_with_all = ["family", "direction", "steps"])]
    pub preset: Option<Preset>,
    /// Split each message between groups over all ranks of its groups
    #[arg(long)]
    pub stripe: bool,
    /// Output format
    #[arg(long, value_enum, default_value = "csv")]
    pub format: PairsFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PairsFormat {
    Csv,
    Json,
}

#[derive(Clone, Debug, Args)]
pub struct Run {
    /// Family of patterns [default: rail]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST", help_heading = "Patterns")]
    pub family: Vec<Family>,
    /// Direction [default: uni]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST", help_heading = "Patterns")]
    pub direction: Vec<Direction>,
    /// Numbers of groups: 2, 2,4,8 or 2: up to all [default: all groups]
    #[arg(short = 'n', long = "group-count", value_name = "LIST", help_heading = "Patterns")]
    pub n: Option<Counts>,
    /// Ranks of a group [default: from --groups]
    #[arg(short = 'g', long = "group-size", value_name = "G", value_parser = count, help_heading = "Patterns")]
    pub g: Option<usize>,
    /// Numbers of active ranks of a group: 2, 1,4 or 1: up to all [default: all ranks of a group]
    #[arg(short = 'k', long = "active", value_name = "LIST", help_heading = "Patterns")]
    pub k: Option<Counts>,
    /// Counts C, which the pattern divides over its messages: 8,64K or 1:64M (doubled each time)
    #[arg(long, value_name = "LIST", default_value = "1K:4M", help_heading = "Patterns")]
    pub bytes: Sizes,
    /// Groups: node, numa, socket, g=SIZE, or a file with a line of ranks for each [default: node; g=SIZE if -g is given]
    #[arg(long, value_name = "HOW", help_heading = "Patterns")]
    pub groups: Option<GroupBy>,
    /// Several families, one after the other (>) or together (+): rail:bi:k=2>dense
    #[arg(long, value_name = "SEQUENCE", conflicts_with_all = ["family", "direction"], help_heading = "Patterns")]
    pub steps: Option<Sequence>,
    /// Pattern of an application, over all ranks of the groups
    #[arg(long, value_enum, value_delimiter = ',', value_name = "LIST", conflicts_with_all = ["family", "direction", "steps"], help_heading = "Patterns")]
    pub preset: Vec<Preset>,
    /// Any pattern: CSV with src,dst,bytes (as `through traffic --format csv` writes it) or Matrix Market; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["family", "direction", "steps", "preset", "bytes", "k"], help_heading = "Patterns")]
    pub pattern: Option<PathBuf>,
    /// Split each message between groups over all ranks of its groups
    #[arg(long, conflicts_with = "pattern", help_heading = "Patterns")]
    pub stripe: bool,
    /// Measure each step alone as well, which costs the time of a pattern for each: what they take together is less
    #[arg(long, help_heading = "Patterns")]
    pub each_step: bool,

    /// Library that moves messages: a name, WITHIN/ACROSS groups, or BEFORE/ACROSS/AFTER; see --help [default: twosided]
    ///
    /// twosided, persistent, put, get, partitioned (MPI 4), shared (within a host), and the collectives scatter, alltoall, alltoallv as
    /// baselines; nccl between GPUs. shared/twosided: shared memory within groups, messages between them;
    /// shared/twosided/put: put for what is within groups after messages crossed. twosided@gpu: between memory of GPUs, for
    /// CUDA-aware MPI libraries.
    #[arg(long, value_delimiter = ',', value_name = "LIST", help_heading = "Measurement")]
    pub library: Vec<Choice>,
    /// Treat the MPI library as CUDA-aware, even if it reports that it is not
    #[arg(long, help_heading = "Measurement")]
    pub cuda_aware: bool,
    /// How ranks start together
    #[arg(long, value_enum, default_value = "barrier", help_heading = "Measurement")]
    pub sync: Sync,
    /// Requested level of thread support; with some libraries, more than single costs tens of nanoseconds per call
    #[arg(long, value_enum, default_value = "single", value_name = "LEVEL", help_heading = "Measurement")]
    pub thread_level: ThreadLevel,
    /// Stop when the 95 % interval of the median is within this percentage of it
    #[arg(long, value_name = "PERCENT", default_value_t = 2.5, help_heading = "Measurement")]
    pub precision: f64,
    /// Maximum number of timed executions
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Measurement")]
    pub max_reps: u32,
    /// Exact number of timed executions, whatever their interval and time
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["max_reps", "precision"], help_heading = "Measurement")]
    pub reps: Option<u32>,
    /// Seconds for the executions of one pattern, size and library, but at least six executions
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, help_heading = "Measurement")]
    pub max_time: f64,
    /// Executions before the timed ones [default: until they get no faster]
    #[arg(long, value_name = "COUNT", help_heading = "Measurement")]
    pub warm_up: Option<u32>,
    /// Use buffers that are in no cache
    #[arg(long, help_heading = "Measurement")]
    pub cold: bool,
    /// Do not verify received data
    #[arg(long, help_heading = "Measurement")]
    pub no_verify: bool,
    /// Order of patterns, sizes and libraries [default: a random one, which is recorded]
    #[arg(long, value_name = "NUMBER", help_heading = "Measurement")]
    pub seed: Option<u64>,
    /// Measure in the order of the command line
    #[arg(long, conflicts_with = "seed", help_heading = "Measurement")]
    pub in_order: bool,

    /// Start the benchmark with this command, such as 'mpirun -n 8'
    #[arg(long, value_name = "COMMAND", help_heading = "Launches")]
    pub launcher: Option<String>,
    /// Number of launches; launches differ more than executions
    #[arg(long, value_name = "COUNT", default_value_t = 1, requires = "launcher", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Launches")]
    pub launches: u32,

    /// Output format [default: from the name after -o, else table]
    #[arg(long, value_enum, help_heading = "Output")]
    pub format: Option<RunFormat>,
    /// Write one line for each result instead of its samples
    #[arg(long, help_heading = "Output")]
    pub summary: bool,
    /// Write to FILE; if it ends in .db, a file of measurements, to which later launches are added
    #[arg(short = 'o', long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// Continue the interrupted run in the file of measurements
    #[arg(long, requires = "output", help_heading = "Output")]
    pub resume: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RunFormat {
    Table,
    Csv,
    Json,
}

/// As `MPI_Init_thread` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum ThreadLevel {
    Single,
    Funneled,
    Serialized,
    Multiple,
}

impl ThreadLevel {
    pub fn threading(self) -> Threading {
        match self {
            ThreadLevel::Single => Threading::Single,
            ThreadLevel::Funneled => Threading::Funneled,
            ThreadLevel::Serialized => Threading::Serialized,
            ThreadLevel::Multiple => Threading::Multiple,
        }
    }

    pub fn of(threading: Threading) -> ThreadLevel {
        match threading {
            Threading::Single => ThreadLevel::Single,
            Threading::Funneled => ThreadLevel::Funneled,
            Threading::Serialized => ThreadLevel::Serialized,
            Threading::Multiple => ThreadLevel::Multiple,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            ThreadLevel::Single => "single",
            ThreadLevel::Funneled => "funneled",
            ThreadLevel::Serialized => "serialized",
            ThreadLevel::Multiple => "multiple",
        }
    }
}

impl Run {
    pub fn format(&self) -> RunFormat {
        let of_name = self.output.as_deref().and_then(|path| match path.extension()?.to_str()? {
            "csv" => Some(RunFormat::Csv),
            "json" => Some(RunFormat::Json),
            _ => None,
        });
        self.format.or(of_name).unwrap_or(RunFormat::Table)
    }
}

/// Of groups or ranks.
fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=16_777_216) => Ok(count),
        _ => Err("a number from 1 was expected".to_owned()),
    }
}

/// Less than would overflow where sizes are added up.
fn bytes(text: &str) -> Result<u64, String> {
    match commsee::bytes::parse(text)? {
        bytes if bytes <= 1 << 46 => Ok(bytes),
        _ => Err(format!("{text}: no machine has as much memory")),
    }
}

/// Numbers of groups, or of active ranks: first and last of each range, which may end with all that there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts(Vec<(usize, Option<usize>)>);

impl Counts {
    /// Where there are `all`. A number above that stays, so that it is told.
    pub fn of(&self, all: usize) -> Vec<usize> {
        self.0.iter().flat_map(|(first, last)| *first..=last.unwrap_or(all.max(*first))).collect()
    }

    /// The largest; `None`: all that there are.
    pub fn most(&self) -> Option<usize> {
        let ends: Option<Vec<usize>> = self.0.iter().map(|(_, last)| *last).collect();
        ends?.into_iter().max()
    }
}

impl FromStr for Counts {
    type Err = String;

    fn from_str(text: &str) -> Result<Counts, String> {
        let number = |text: &str| match text.trim().parse() {
            Ok(number @ 1..=100_000) => Ok(number),
            _ => Err(format!("{text:?} is no number from 1: a list is 2,4,8 or 1:4, and 1: goes up to all")),
        };
        let range = |part: &str| match part.split_once(':') {
            Some((first, "")) => Ok((number(first)?, None)),
            Some((first, last)) if number(first)? > number(last)? => Err(format!("{part}: its end is below its begin")),
            Some((first, last)) => Ok((number(first)?, Some(number(last)?))),
            None => number(part).map(|number| (number, Some(number))),
        };
        text.split(',').map(range).collect::<Result<_, _>>().map(Counts)
    }
}

/// Counts of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes(pub Vec<u64>);

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Sizes, String> {
        let mut sizes = Vec::new();
        for part in text.split(',') {
            match part.split_once(':') {
                Some((low, high)) => {
                    let (low, high) = (bytes(low)?, bytes(high)?);
                    if low == 0 || low > high {
                        return Err(format!("{part}: a range is doubled from its begin to its end, such as 1:64M"));
                    }
                    let doubled = std::iter::successors(Some(low), |size| size.checked_mul(2));
                    sizes.extend(doubled.take_while(|size| *size <= high));
                }
                None => sizes.push(bytes(part)?),
            }
        }
        sizes.dedup();
        Ok(Sizes(sizes))
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_are_lists_and_ranges() {
        assert_eq!("8,1K:4K".parse::<Sizes>().unwrap().0, [8, 1024, 2048, 4096]);
        assert_eq!("1:64M".parse::<Sizes>().unwrap().0.len(), 27);
        assert!("0:8".parse::<Sizes>().is_err() && "8:1".parse::<Sizes>().is_err() && "x".parse::<Sizes>().is_err());
    }

    #[test]
    fn counts_are_lists_and_ranges() {
        let counts = |text: &str| text.parse::<Counts>();
        assert_eq!(counts("1:").unwrap().of(3), [1, 2, 3]);
        assert_eq!(counts("1,3:4").unwrap().of(9), [1, 3, 4]);
        assert_eq!(counts("4:").unwrap().of(3), [4]);
        assert_eq!((counts("2,8,4").unwrap().most(), counts("2:").unwrap().most()), (Some(8), None));
        assert!(["0", "4:2", "", "2,", "x"].iter().all(|text| counts(text).is_err()));
    }
}
