//! `through trace [PROFILE] -o run.json`: what happened when.

use super::{opened, present};
use crate::cli::Trace;
use crate::document::Format;
use crate::error::Error;
use crate::views::{Command, Question, View};

/// Whether there was any event.
pub fn trace(trace: &Trace) -> Result<bool, Error> {
    let question = Question {
        selection: trace.calls.selection(&trace.routes),
        format: Format::Trace,
        ..Question::new(opened(&trace.input)?)
    };
    present(View::usual(Command::Trace), &question, trace.output.as_deref())
}
