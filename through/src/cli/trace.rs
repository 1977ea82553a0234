//! The command that writes the timeline.

use std::path::PathBuf;

use clap::Args;

use super::{Input, SelectCalls, SelectRoutes};

#[derive(Debug, Default, Args)]
#[command(override_usage = "through trace [OPTIONS] [PROFILE]")]
pub struct Trace {
    #[command(flatten)]
    pub input: Input,
    #[command(flatten)]
    pub calls: SelectCalls,
    #[command(flatten)]
    pub routes: SelectRoutes,
    /// Write to FILE, such as run.json
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}
