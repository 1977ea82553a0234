//! `through correlate PROFILE…`: what goes together with the run time.

use through_core::Error;
use through_core::commands::shown;
use through_core::query::open::Profile;
use through_core::views::Question;

use crate::cli::Correlate;
use crate::named::once;
use crate::views::correlate;

/// Whether anything was there to show.
pub fn correlate(arguments: &Correlate) -> Result<bool, Error> {
    let runs = once(&arguments.runs);
    let question = Question {
        top: arguments.entries.top(),
        format: arguments.written.format(),
        ..Question::new(Profile::open(&arguments.runs[0])?)
    };
    let ask = || correlate::document(&question, &runs, &arguments.by);
    Ok(shown(&question, arguments.written.output.as_deref(), ask)?.is_found())
}
