//! Which profile, and which of its rows: what views have in common.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::range::{BucketPick, ByteRange, TimeRange};

#[derive(Debug, Default, Args)]
pub struct Input {
    /// The profile; without one, the newest *.db profile of the current directory
    pub profile: Option<PathBuf>,
    /// The profile, as an option
    #[arg(short = 'i', long = "input", value_name = "FILE", conflicts_with = "profile")]
    pub input: Option<PathBuf>,
}

impl Input {
    pub fn path(&self) -> Option<&Path> {
        self.profile.as_deref().or(self.input.as_deref())
    }
}

/// What to show of what ranks counted. Every filter that is given must hold.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Filters (each that is given must hold)")]
pub struct Select {
    #[command(flatten)]
    pub calls: SelectCalls,
    /// Time that a rank spent in one row, in seconds: 0.1:2.5, 0.1: or :2.5
    #[arg(short, long, value_name = "LOW:HIGH", value_parser = TimeRange::parse)]
    pub time: Option<TimeRange>,
    /// Phases, by name; '' is what lies outside any phase. Without it all are added up
    #[arg(long, value_name = "LIST")]
    pub phase: Vec<String>,
}

/// MPI calls, and whatever was done for them.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Filters (each that is given must hold)")]
pub struct SelectCalls {
    /// Communicators, by name or label: s0.1,d0.2
    #[arg(long, value_name = "LIST")]
    pub comm: Vec<String>,
    /// Operations; MPI_ may be left out, case does not matter: Allreduce,isend
    #[arg(long, value_name = "LIST")]
    pub op: Vec<String>,
    /// Ranks in MPI_COMM_WORLD: 0,4-7
    #[arg(short, long, value_name = "LIST", value_parser = commsee::ranks::RankSet::parse)]
    pub rank: Vec<commsee::ranks::RankSet>,
    /// Message sizes: buckets that overlap LOW:HIGH, such as 1K:1M, 1M: or :128
    #[arg(short, long, value_name = "LOW:HIGH", value_parser = ByteRange::parse)]
    pub bytes: Option<ByteRange>,
    /// Buckets, by number (from 0) or by their edges: 2 or 1K:8K
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = BucketPick::parse)]
    pub bucket: Vec<BucketPick>,
    /// Point-to-point operations only
    #[arg(short)]
    pub p2p: bool,
    /// Collective operations only, those over neighbors among them
    #[arg(short)]
    pub collectives: bool,
}

/// Ways in which layers below MPI moved data. '' is what has none.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Filters (each that is given must hold)")]
pub struct SelectWays {
    /// Layers: ucp,uct
    #[arg(long, value_name = "LIST")]
    pub layer: Vec<String>,
    /// Transports: posix,cma
    #[arg(long, value_name = "LIST")]
    pub transport: Vec<String>,
    /// Devices: mlx5_0:1,memory
    #[arg(long, value_name = "LIST")]
    pub device: Vec<String>,
    /// Protocols: eager,rndv-get
    #[arg(long, value_name = "LIST")]
    pub protocol: Vec<String>,
}
