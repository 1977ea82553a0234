//! What the commands are told.

mod bench;
mod compare;
mod traffic;
mod tune;

use std::path::PathBuf;

use clap::Args;
use through_core::cli::{by_name, formats};
use through_core::document::Format;

pub use bench::{Bench, BenchCmp, BenchCommand, BenchOutput, Roofline};
pub use compare::{Compare, Rise, with_sides};
pub use traffic::Traffic;
pub use tune::Tune;

use crate::views::VIEWS;

/// How a table is written; all views here are written in the same.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct Written {
    /// Output format [default: table, or what FILE ends with: .csv, .json or .parquet]. csv is exact, for programs; spreadsheet is CSV for Excel and LibreOffice
    #[arg(long, value_parser = formats(VIEWS), value_name = "FORMAT")]
    format: Option<Format>,
    /// Write to FILE
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl Written {
    pub fn format(&self) -> Format {
        self.format.unwrap_or_else(|| by_name(self.output.as_deref()))
    }
}
