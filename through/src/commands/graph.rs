//! `through graph [PROFILE]`: who talked to whom, over which devices, as a drawing.

use super::{opened, present};
use crate::cli::Graph;
use crate::error::Error;
use crate::views::{Question, View};

/// Whether anything was there to draw.
pub fn graph(graph: &Graph) -> Result<bool, Error> {
    let question = Question {
        selection: graph.calls.selection(&graph.routes),
        top: graph.top,
        format: graph.format(),
        between: graph.of,
        ..Question::new(opened(&graph.input)?)
    };
    present(View::usual("graph"), &question, graph.output.as_deref())
}
