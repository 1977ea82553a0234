//! `through correlate PROFILE…`: what goes together with the run time.

use super::named::once;
use super::shown;
use crate::cli::Correlate;
use crate::error::Error;
use crate::query::open::Profile;
use crate::views::{Question, correlate};

/// Whether anything was there to show.
pub fn correlate(arguments: &Correlate) -> Result<bool, Error> {
    let runs = once(&arguments.runs);
    let question = Question {
        top: arguments.entries.top(),
        format: arguments.format(),
        ..Question::new(Profile::open(&arguments.runs[0])?)
    };
    let ask = || correlate::document(&question, &runs, &arguments.by);
    Ok(shown(&question, arguments.output.as_deref(), ask)?.is_found())
}
