//! The command line as it is written. What its words mean in a profile is resolved in `filter`.

mod advise;
mod answer;
mod export;
mod generate;
mod layers;
mod select;
mod sql;
mod views;
mod watch;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

pub use advise::{Advise, Explain};
pub use answer::{answer, no_such_command};
pub use export::{Export, Exported};
pub use generate::{Generate, documented};
pub use layers::Layers;
pub use select::{Input, Select, SelectCalls, SelectRoutes};
pub use sql::Sql;
pub use views::{Chosen, LayersView, formats};
pub use watch::Watch;

use crate::document::Format;
use crate::query::sort::SortKey;
use crate::views::{Folding, VIEWS};

/// One of the views of a command, with all filters.
#[derive(Debug, Default, Args)]
pub struct Look<const COMMAND: usize> {
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub view: Chosen<COMMAND>,
    #[command(flatten)]
    pub select: Select,
    #[command(flatten)]
    pub families: Families,
    #[command(flatten)]
    pub entries: Entries,
    #[command(flatten)]
    pub output: Output,
}

pub type Show = Look<{ views::SHOW }>;
pub type Comms = Look<{ views::COMMS }>;
pub type Waits = Look<{ views::WAITS }>;
pub type Sites = Look<{ views::SITES }>;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct Families {
    /// List similar communicators one by one
    #[arg(long, hide_short_help = true)]
    pub no_families: bool,
}

impl Families {
    pub fn folding(&self) -> Folding {
        if self.no_families { Folding::Never } else { Folding::Usual }
    }
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct Output {
    /// Sort by KEY; sort keys that a view lacks are ignored
    #[arg(short, long, value_name = "KEY", value_parser = sort_key())]
    pub sort: Option<SortKey>,
    /// Output format [default: table, or what FILE ends with: .csv, .json or .parquet]. csv is exact, for programs; spreadsheet is CSV for Excel and LibreOffice
    #[arg(long, value_parser = views::formats(VIEWS.iter().filter(|view| views::COMMANDS.contains(&view.command))), value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Write to FILE
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// How much of a view.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct Entries {
    /// Show only the first N entries; 0 shows all
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// Show all entries
    #[arg(long, conflicts_with = "top")]
    all: bool,
}

impl Entries {
    /// How many are wanted; 0 is all of them, and nothing what the view thinks right.
    pub fn top(self) -> Option<usize> {
        if self.all { Some(0) } else { self.top }
    }
}

/// What the name of a file asks for: a table, if nothing else.
pub fn by_name(file: Option<&Path>) -> Format {
    named(file).unwrap_or_default()
}

fn named(file: Option<&Path>) -> Option<Format> {
    match file?.extension()?.to_str()? {
        "csv" => Some(Format::Csv),
        "json" => Some(Format::Json),
        "parquet" => Some(Format::Parquet),
        _ => None,
    }
}

impl Output {
    pub fn format(&self) -> Format {
        self.format.unwrap_or_else(|| by_name(self.output.as_deref()))
    }
}

#[derive(Debug, Args)]
#[command(override_usage = "through run [OPTIONS] -- LAUNCHER...")]
pub struct Run {
    #[command(flatten)]
    pub profiling: Profiling,
    /// Write a page for the browser next to the profile: see `through report`
    #[arg(long)]
    pub report: bool,
    /// Show the job while it runs, on standard error: see `through watch`
    #[arg(long)]
    pub watch: bool,
    /// Seconds between two updates
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = watch::interval, requires = "watch")]
    pub interval: Duration,
    /// The launcher with its arguments, such as: mpirun -n 4 ./program
    #[arg(trailing_var_arg = true, required = true, value_name = "LAUNCHER")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(override_usage = "through exec [OPTIONS] -- PROGRAM...")]
pub struct Exec {
    #[command(flatten)]
    pub profiling: Profiling,
    /// The program with its arguments, such as: ./program input.txt
    #[arg(trailing_var_arg = true, required = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub struct Profiling {
    /// Name of the profile; %j job, %s step, %h host, %p process, %t time [default: $COMMSEE_OUT, else commsee-%t.db]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Hook modules to load, such as: ucx
    #[arg(long, value_name = "LIST")]
    pub hooks: Option<String>,
    /// Upper edges of the message-size buckets: 128,1K,8K
    #[arg(long, value_name = "LIST", value_parser = edges)]
    pub buckets: Option<String>,
    /// Record a timeline of calls and messages, in a ring buffer of SIZE per process [default: 4M]
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true, default_missing_value = "1", value_parser = trace)]
    pub trace: Option<String>,
    /// Record which lines call MPI, with N frames of the stack, for `through sites` [default: 1]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "1", value_parser = sites)]
    pub sites: Option<String>,
    /// Record the datatypes of each operation
    #[arg(long)]
    pub datatypes: bool,
}

#[derive(Debug, Args)]
#[command(override_usage = "through recover [OPTIONS] [DIR|PROFILE]...")]
pub struct Recover {
    /// Name of the profile; %j, %s, %h, %p and %t are those of the run [default: commsee-recovered-ID.db, with --running
    /// commsee-running-ID.db; ID is the batch job with its step, or else the run]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Make a profile of jobs that still run, such as one that hangs, without disturbing them
    #[arg(long)]
    pub running: bool,
    /// Keep the shards, even if no rank is missing
    #[arg(long)]
    pub keep: bool,
    /// Also take runs of other hosts and containers that may still run
    #[arg(long)]
    pub force: bool,
    /// Directories of shards, or partial profiles to join [default: $COMMSEE_DIR, else /dev/shm, $TMPDIR and /tmp]
    #[arg(value_name = "DIR|PROFILE")]
    pub sources: Vec<PathBuf>,
    /// Fetch the shards from all hosts of a job; DIR is where it was started, or where its profile is [default: the current directory and $HOME]
    #[arg(long, conflicts_with_all = ["output", "running", "keep", "force", "clean"], help_heading = "All hosts")]
    pub all_hosts: bool,
    /// Command that reaches a host: COMMAND HOST LINE runs LINE there [default: srun for jobs of Slurm, else ssh]
    #[arg(long, value_name = "COMMAND", requires = "all_hosts", help_heading = "All hosts")]
    pub rsh: Option<OsString>,
    /// Instead remove the files that crashed jobs left on this host; with --force also those that may still be in use
    #[arg(long, conflicts_with_all = ["output", "running", "keep"], help_heading = "Cleaning up")]
    pub clean: bool,
    /// With --clean: only list what would be removed
    #[arg(short = 'n', long, requires = "clean", help_heading = "Cleaning up")]
    pub dry_run: bool,
    /// With --clean: also remove the cache of function names and lines (~/.cache/commsee)
    #[arg(long, requires = "clean", help_heading = "Cleaning up")]
    pub cache: bool,
}

#[derive(Debug, Args)]
pub struct HostNote {
    /// The host's note
    pub note: PathBuf,
}

fn sort_key() -> impl TypedValueParser<Value = SortKey> {
    let names = SortKey::ALL.map(|key| PossibleValue::new(key.name()));
    let numbers = ["0", "1", "2", "3", "4", "5", "6", "7"].map(|number| PossibleValue::new(number).hide(true));
    PossibleValuesParser::new(names.into_iter().chain(numbers))
        .map(|name| SortKey::of(&name).expect("one of the names"))
}

/// Bucket edges stay text, but a job is not started with edges that the profiler would refuse.
fn edges(text: &str) -> Result<String, String> {
    commsee::buckets::Buckets::parse(text).map(|_| text.to_owned())
}

fn trace(text: &str) -> Result<String, String> {
    let known = commsee::settings::trace_bytes(Some(text)).map(|_| text.to_owned());
    known.ok_or_else(|| format!("'{text}' is not a size: write --trace or --trace=64M"))
}

fn sites(text: &str) -> Result<String, String> {
    let known = commsee::settings::site_frames(Some(text)).map(|_| text.to_owned());
    known.ok_or_else(|| format!("'{text}' is not a number of frames up to 64: write --sites or --sites=8"))
}

/// The arguments of a command line that has no others.
pub fn parsed<A: Args>(words: &[&str]) -> Result<A, clap::Error> {
    let command = A::augment_args(clap::Command::new("through"));
    A::from_arg_matches(&command.try_get_matches_from(["through"].iter().chain(words))?)
}
