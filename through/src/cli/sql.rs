//! `through sql`: the profile as a database.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::{Input, by_name};
use crate::document::Format;

#[derive(Debug, Args)]
#[command(override_usage = "through sql [OPTIONS] STATEMENT [PROFILE]\n       through sql --schema[=NAME] [PROFILE]")]
pub struct Sql {
    /// One statement that only reads, such as "SELECT comm, sum(time_s) FROM profile GROUP BY 1"; - reads it from standard input
    #[arg(required_unless_present = "schema")]
    pub statement: Option<String>,
    #[command(flatten)]
    pub input: Input,
    /// Show the views and tables with the meaning of their columns, or only the one of this name
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true)]
    pub schema: Option<Option<String>>,
    /// Output format [default: table, or what FILE ends with: .csv, .json or .parquet]. csv is exact, for programs; spreadsheet is CSV for Excel and LibreOffice. --schema has table and json
    #[arg(long, value_parser = formats(&SQL), value_name = "FORMAT", help_heading = "Output")]
    format: Option<Format>,
    /// Write to FILE
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

impl Sql {
    pub fn format(&self) -> Format {
        self.format.unwrap_or_else(|| by_name(self.output.as_deref()))
    }
}

#[cfg(feature = "parquet")]
const SQL: [Format; 5] = [Format::Table, Format::Csv, Format::Json, Format::Spreadsheet, Format::Parquet];
#[cfg(not(feature = "parquet"))]
const SQL: [Format; 4] = [Format::Table, Format::Csv, Format::Json, Format::Spreadsheet];

fn formats(formats: &'static [Format]) -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(formats.iter().map(|format| format.name()))
        .map(|name| Format::of(&name).expect("one of the names"))
}
