//! Commands that show the one view that they have.

use super::{opened, present};
use crate::cli::{Look, LookAtRanks};
use crate::error::Error;
use crate::query::selection::Selection;
use crate::views::{Question, View};

/// Whether anything was there to show.
pub fn look(view: &View, look: &Look) -> Result<bool, Error> {
    let output = &look.output;
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

/// The same of a view of ranks.
pub fn look_at_ranks(view: &View, look: &LookAtRanks) -> Result<bool, Error> {
    let output = &look.output;
    let question = Question {
        selection: Selection {
            comm: look.comm.iter().cloned().collect(),
            rank: look.rank.clone(),
            ..Selection::default()
        },
        sort: output.sort,
        top: look.entries.top(),
        format: output.format(),
        folding: look.families.folding(),
        ..Question::new(opened(&look.input)?)
    };
    present(view, &question, output.output.as_deref())
}
