//! How a document is written.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Table,
    Csv,
    /// CSV that a person opens: text stays text.
    Spreadsheet,
    Json,
    /// <https://parquet.apache.org>
    Parquet,
    /// <https://graphviz.org/doc/info/lang.html>
    Dot,
    /// The Trace Event Format of Chrome and Perfetto.
    Trace,
    /// Stacks for flame graphs, one line each: <https://github.com/brendangregg/FlameGraph>
    Folded,
    /// The same for <https://www.speedscope.app>
    Speedscope,
    /// A few lines, behind a job.
    Summary,
}

impl Format {
    pub const ALL: [Format; 10] = [
        Format::Table,
        Format::Csv,
        Format::Spreadsheet,
        Format::Json,
        Format::Parquet,
        Format::Dot,
        Format::Trace,
        Format::Folded,
        Format::Speedscope,
        Format::Summary,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Format::Table => "table",
            Format::Csv => "csv",
            Format::Spreadsheet => "spreadsheet",
            Format::Json => "json",
            Format::Parquet => "parquet",
            Format::Dot => "dot",
            Format::Trace => "trace",
            Format::Folded => "folded",
            Format::Speedscope => "speedscope",
            Format::Summary => "summary",
        }
    }

    pub fn of(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Whether a terminal can do nothing with it.
    pub fn is_binary(self) -> bool {
        self == Format::Parquet
    }

    /// Whether it is there, with the names of its columns, even if nothing matches.
    pub fn is_for_programs(self) -> bool {
        matches!(self, Format::Csv | Format::Spreadsheet | Format::Json | Format::Parquet)
    }
}
