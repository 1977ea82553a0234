//! `through export FORMAT [PROFILE]`: a profile for other programs.

use super::{opened_within, present, resolve, shown};
use crate::cli::{Export, Exported};
use crate::document::Format;
use crate::error::Error;
use crate::query::selection::Selection;
use crate::text::message::say;
use crate::views::{Question, View, of};

/// Whether there was anything to write.
pub fn export(export: &Export) -> Result<bool, Error> {
    let rows = |format| {
        let view = of("").find(|view| view.name == "cells").expect("a view of all rows");
        present(view, &question(export, export.select.selection(), format)?, export.output.as_deref())
    };
    match export.what {
        Exported::Csv => rows(Format::Csv),
        Exported::Spreadsheet => rows(Format::Spreadsheet),
        Exported::Json => rows(Format::Json),
        Exported::Parquet => rows(Format::of("parquet").ok_or_else(without_parquet)?),
        Exported::Perfetto => timeline(export),
        Exported::Dot => {
            let selection = export.select.calls.selection(&export.routes);
            let view = of("traffic").find(|view| view.name == "graph").expect("a graph");
            present(view, &question(export, selection, Format::Dot)?, export.output.as_deref())
        }
        Exported::Db => resolve::resolve(export),
    }
}

fn without_parquet() -> Error {
    Error::Argument("this through was built without Parquet".to_owned())
}

fn question(export: &Export, selection: Selection, format: Format) -> Result<Question, Error> {
    let profile = opened_within(&export.input, selection.window)?;
    Ok(Question { selection, format, ..Question::new(profile) })
}

/// What happened when.
fn timeline(export: &Export) -> Result<bool, Error> {
    let question = question(export, export.select.calls.selection(&export.routes), Format::Trace)?;
    let file = export.output.as_deref();
    let document = shown(&question, file, || View::usual("export perfetto").ask(&question))?;
    if let (Some(file), Some((_, accuracy))) = (file, document.words.first())
        && document.is_found()
    {
        let how = "open it in https://ui.perfetto.dev or chrome://tracing";
        say(format_args!("{}: times {accuracy}; {how}", file.display()));
    }
    Ok(document.is_found())
}
