//! `through matrix [PROFILE]`: who sent how much to whom.

use super::{opened, present};
use crate::cli::Matrix;
use crate::error::Error;
use crate::views::{Question, View};

/// Whether anything was there to show.
pub fn matrix(matrix: &Matrix) -> Result<bool, Error> {
    let question = Question {
        selection: matrix.calls.selection(&matrix.routes),
        top: matrix.entries.top(),
        format: matrix.format(),
        between: matrix.by,
        counts: matrix.counts,
        is_modelled: matrix.modelled,
        ..Question::new(opened(&matrix.input)?)
    };
    present(View::usual("matrix"), &question, matrix.output.as_deref())
}
