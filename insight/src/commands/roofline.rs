//! `through bench roofline PROFILE BENCH.db`: what calls took, against what the machine can do.

use through_core::Error;
use through_core::commands::shown;
use through_core::query::open::Profile;
use through_core::views::Question;

use crate::cli::Roofline;
use crate::named::once;
use crate::query::bench::Measurements;
use crate::views::roofline;

/// Whether anything was there to show.
pub fn roofline(arguments: &Roofline) -> Result<bool, Error> {
    let output = &arguments.output;
    let bench = Measurements::open(&once(&arguments.bench))?;
    let question = Question {
        selection: arguments.select.selection(),
        sort: output.sort,
        top: arguments.entries.top(),
        format: output.format(),
        folding: arguments.families.folding(),
        ..Question::new(Profile::open(&arguments.profile)?)
    };
    let ask = || roofline::document(&question, Some(&bench));
    Ok(shown(&question, output.output.as_deref(), ask)?.is_found())
}
