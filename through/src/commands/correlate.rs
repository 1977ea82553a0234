//! `through correlate PROFILE…`: what goes together with the run time.

use super::present;
use crate::cli::Correlate;
use crate::error::Error;
use crate::query::open::Profile;
use crate::views::{Command, Question, View};

/// Whether anything was there to show.
pub fn correlate(arguments: &Correlate) -> Result<bool, Error> {
    let question = Question {
        runs: arguments.runs.clone(),
        by: arguments.by.clone(),
        top: arguments.entries.top(),
        format: arguments.format,
        ..Question::new(Profile::open(&arguments.runs[0])?)
    };
    present(View::usual(Command::Correlate), &question, arguments.output.as_deref())
}
