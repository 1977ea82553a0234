//! Commands that show one of their views.

use super::{opened, present};
use crate::cli::Look;
use crate::error::Error;
use crate::views::Question;

/// Whether anything was there to show.
pub fn look<const COMMAND: usize>(look: &Look<COMMAND>) -> Result<bool, Error> {
    let (view, output) = (look.view.0, &look.output);
    let question = Question {
        selection: look.select.selection(),
        sort: output.sort,
        top: look.entries.top(),
        format: output.format(),
        folding: look.families.folding(),
        ..Question::new(opened(&look.input)?)
    };
    present(view, &question, output.output.as_deref())
}
