//! `through correlate PROFILE…`: what goes together with the run time.

use super::named::once;
use super::present;
use crate::cli::Correlate;
use crate::error::Error;
use crate::query::open::Profile;
use crate::views::{Question, View};

/// Whether anything was there to show.
pub fn correlate(arguments: &Correlate) -> Result<bool, Error> {
    let question = Question {
        runs: once(&arguments.runs),
        by: arguments.by.clone(),
        top: arguments.entries.top(),
        format: arguments.format(),
        ..Question::new(Profile::open(&arguments.runs[0])?)
    };
    present(View::usual("correlate"), &question, arguments.output.as_deref())
}
