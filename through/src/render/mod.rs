//! Prints a document, one renderer per format: what tables hold is decided before. Drawings (`advice`, `matrix`, `dot`, `chrome`, `flame`) are given what they
//! draw beside it. No renderer knows a view.

pub mod advice;
pub mod chrome;
mod csv;
pub mod dot;
mod escaping;
pub mod flame;
mod json;
pub mod matrix;
pub mod order;
pub mod output;
mod summary;
mod table;
mod words;

use std::io::{self, Write};

use crate::document::{Document, Format};
use crate::text::terminal::Terminal;

pub fn render(document: &Document, format: Format, terminal: &Terminal, out: &mut dyn Write) -> io::Result<()> {
    if let Some((_, drawing)) = document.drawings.iter().find(|(of, _)| *of == format) {
        return drawing.draw(document, terminal, out);
    }
    match format {
        Format::Table => table::table(document, terminal, out),
        Format::Csv => csv::csv(document, out),
        Format::Json => json::json(document, out),
        Format::Summary => summary::summary(document, terminal, out),
        // Drawings alone; what a view lacks is refused before it is asked.
        Format::Dot | Format::Trace | Format::Folded | Format::Speedscope => {
            Err(io::Error::other(format!("no {} was drawn", format.name())))
        }
    }
}
