//! Prints a document, one renderer per format: what tables hold is decided before. Drawings (`advice`, `matrix`, `dot`, `chrome`, `flame`) are given what they
//! draw beside it. No renderer knows a view.

pub mod advice;
pub mod answer;
pub mod chrome;
pub mod crossed;
mod csv;
pub mod dot;
mod escaping;
pub mod flame;
mod heat;
mod json;
pub mod matrix;
pub mod output;
mod pager;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod relations;
mod summary;
mod table;
pub mod words;

use std::io::{self, Write};

use crate::document::{Document, Format};
use crate::text::terminal::Terminal;

/// The tables for people alone, without the head of a profile.
pub fn tables(document: &Document, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    table::tables(document, terminal, out)
}

pub fn render(document: &Document, format: Format, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    if let Some((_, drawing)) = document.drawings.iter().find(|(of, _)| *of == format) {
        return drawing.draw(document, terminal, out);
    }
    match format {
        Format::Table => table::table(document, terminal, out),
        Format::Csv | Format::Spreadsheet => csv::csv(document, format == Format::Spreadsheet, out),
        Format::Json => json::json(document, out),
        Format::Summary => summary::summary(document, terminal, out),
        #[cfg(feature = "parquet")]
        Format::Parquet => parquet::parquet(document, out),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet => Err(io::Error::other("through was built without the feature parquet")),
        // Drawings alone; what a view lacks is refused before it is asked.
        Format::Dot | Format::Trace | Format::Folded | Format::Speedscope => {
            Err(io::Error::other(format!("no {} was drawn", format.name())))
        }
    }
}
