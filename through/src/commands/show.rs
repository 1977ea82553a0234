//! `through [PROFILE]`: one view of one profile.

use super::{opened, present};
use crate::cli::Show;
use crate::error::Error;
use crate::views::Question;

/// Whether anything was there to show.
pub fn show(show: &Show) -> Result<bool, Error> {
    let (view, output) = (show.view.0, &show.output);
    let question = Question {
        selection: show.select.selection(),
        sort: output.sort,
        top: show.entries.top(),
        format: output.format(),
        folding: show.families.folding(),
        ..Question::new(opened(&show.input)?)
    };
    present(view, &question, output.output.as_deref())
}
