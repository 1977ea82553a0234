//! `through advise [PROFILE]`: what to look at, and what to try.

use std::rc::Rc;

use super::{opened, shown};
use crate::advise::Beyond;
use crate::cli::Advise;
use crate::error::Error;
use crate::query::open::Profile;
use crate::views::{Question, advise as view};

/// The exit status.
pub fn advise(advise: &Advise, beyond: Beyond) -> Result<u8, Error> {
    let output = &advise.output;
    let since = advise.since.as_deref().map(Profile::open).transpose()?.map(Rc::new);
    let question = Question {
        since,
        bench: advise.bench.clone(),
        top: advise.entries.top(),
        format: output.format(),
        ..Question::new(opened(&advise.input)?)
    };
    let mut worst = None;
    shown(&question, output.output.as_deref(), || {
        let document;
        (document, worst) = view::document(&question, beyond)?;
        Ok(document)
    })?;
    // The worst level comes first.
    Ok(u8::from(worst.zip(advise.fail_on).is_some_and(|(worst, limit)| worst <= limit)))
}
