//! `through reorder [PROFILE]`: an order of ranks with few bytes between nodes.

use super::{opened, present};
use crate::cli::Reorder;
use crate::error::Error;
use crate::views::{Question, View};

/// Whether anything was there to show.
pub fn reorder(reorder: &Reorder) -> Result<bool, Error> {
    let question = Question {
        format: reorder.format(),
        nodes: reorder.nodes.clone(),
        write: reorder.write,
        ..Question::new(opened(&reorder.input)?)
    };
    present(View::usual("reorder"), &question, reorder.output.as_deref())
}
