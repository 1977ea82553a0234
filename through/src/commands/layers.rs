//! `through layers [PROFILE]`: what the layers below MPI did.

use super::{opened_within, present};
use crate::cli::Layers;
use crate::error::Error;
use crate::query::selection::Selection;
use crate::views::Question;

/// Whether anything was there to show.
pub fn layers(layers: &Layers) -> Result<bool, Error> {
    let (view, output) = (layers.view.0, &layers.output);
    let question = Question {
        selection: Selection { site: layers.site.clone(), ..layers.calls.selection(&layers.routes) },
        sort: output.sort,
        top: layers.top,
        format: output.format(),
        ..Question::new(opened_within(&layers.input, layers.routes.window)?)
    };
    present(view, &question, output.output.as_deref())
}
