//! `through advise [PROFILE]`: what to look at, and what to try.

use std::rc::Rc;

use super::{opened, shown};
use crate::advise::Beyond;
use crate::cli::Advise;
use crate::document::Value;
use crate::error::Error;
use crate::query::open::Profile;
use crate::views::{Question, advise as view};

/// Whether there is anything to act on.
pub fn advise(advise: &Advise, beyond: Beyond) -> Result<bool, Error> {
    let output = &advise.output;
    let since = advise.since.as_deref().map(Profile::open).transpose()?.map(Rc::new);
    let question = Question {
        since,
        bench: advise.bench.clone(),
        top: advise.entries.top(),
        format: output.format(),
        ..Question::new(opened(&advise.input)?)
    };
    let document = shown(&question, output.output.as_deref(), || view::document(&question, beyond))?;
    let above = document.numbers.iter().find(|(name, _)| *name == "findings_above_info");
    Ok(above.is_some_and(|(_, number)| *number != Value::Number(0)))
}
