//! `through advise [PROFILE]`: what to look at, and what to try.

use std::rc::Rc;

use super::named::once;
use super::{opened, shown};
use crate::cli::Advise;
use crate::document::Value;
use crate::error::Error;
use crate::query::bench::Measurements;
use crate::query::open::Profile;
use crate::views::{Question, View};

/// Whether there is anything to act on.
pub fn advise(advise: &Advise) -> Result<bool, Error> {
    let output = &advise.output;
    let since = advise.since.as_deref().map(Profile::open).transpose()?.map(Rc::new);
    let bench = match advise.bench.as_slice() {
        [] => None,
        files => Some(Rc::new(Measurements::open(&once(files))?)),
    };
    let question = Question {
        since,
        bench,
        top: advise.entries.top(),
        format: output.format(),
        ..Question::new(opened(&advise.input)?)
    };
    let document = shown(View::usual("advise"), &question, output.output.as_deref())?;
    let above = document.numbers.iter().find(|(name, _)| *name == "findings_above_info");
    Ok(above.is_some_and(|(_, number)| *number != Value::Number(0)))
}
