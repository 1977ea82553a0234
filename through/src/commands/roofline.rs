//! `through roofline PROFILE BENCH.db`: what calls took, against what the machine can do.

use std::rc::Rc;

use super::named::once;
use super::present;
use crate::cli::Roofline;
use crate::error::Error;
use crate::query::bench::Measurements;
use crate::query::open::Profile;
use crate::views::{Question, View};

/// Whether anything was there to show.
pub fn roofline(arguments: &Roofline) -> Result<bool, Error> {
    let output = &arguments.output;
    let question = Question {
        selection: arguments.select.selection(),
        sort: output.sort,
        top: arguments.entries.top(),
        format: output.format(),
        folding: arguments.families.folding(),
        bench: Some(Rc::new(Measurements::open(&once(&arguments.bench))?)),
        ..Question::new(Profile::open(&arguments.profile)?)
    };
    present(View::usual("roofline"), &question, output.output.as_deref())
}
