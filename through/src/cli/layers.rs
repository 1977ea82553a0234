//! `through layers`: what layers below MPI did.

use clap::Args;

use super::{Input, LayersView, Output, SelectCalls, SelectRoutes};

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
    /// Call sites, by line, file or function: grid.c:88,halo::*, also of outer frames [needs run --sites]
    #[arg(long, value_name = "LIST", hide_short_help = true, help_heading = "Filters (a call must match all of them)")]
    pub site: Vec<String>,
    /// Show only the first N entries; 0 shows all
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub top: Option<usize>,
    #[command(flatten)]
    pub output: Output,
}
