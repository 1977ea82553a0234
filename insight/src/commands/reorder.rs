//! `through reorder [PROFILE]`: an order of ranks with few bytes between nodes.

use through_core::Error;
use through_core::commands::{opened, shown};
use through_core::views::Question;

use crate::cli::Reorder;
use crate::views::reorder;

/// Whether anything was there to show.
pub fn reorder(arguments: &Reorder) -> Result<bool, Error> {
    let question = Question { format: arguments.format(), ..Question::new(opened(&arguments.input)?) };
    let ask = || reorder::document(&question, arguments.nodes.as_deref(), arguments.write);
    Ok(shown(&question, arguments.output.as_deref(), ask)?.is_found())
}
