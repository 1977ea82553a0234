//! `through trace [PROFILE] -o run.json`: what happened when.

use super::{opened, shown};
use crate::cli::Trace;
use crate::document::Format;
use crate::error::Error;
use crate::text::message::say;
use crate::views::{Question, View};

/// Whether there was any event.
pub fn trace(trace: &Trace) -> Result<bool, Error> {
    let question = Question {
        selection: trace.calls.selection(&trace.routes),
        format: Format::Trace,
        ..Question::new(opened(&trace.input)?)
    };
    let file = trace.output.as_deref();
    let document = shown(&question, file, || View::usual("trace").ask(&question))?;
    if let (Some(file), Some((_, accuracy))) = (file, document.words.first())
        && document.is_found()
    {
        let how = "open it in https://ui.perfetto.dev or chrome://tracing";
        say(format_args!("{}: times {accuracy}; {how}", file.display()));
    }
    Ok(document.is_found())
}
