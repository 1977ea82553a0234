//! `through [PROFILE]`: one view of one profile.

use std::path::Path;

use super::{opened, present};
use crate::cli::{self, Show};
use crate::error::Error;
use crate::views::Question;

/// Whether anything was there to show.
pub fn show(show: &Show, all: &clap::Command) -> Result<bool, Error> {
    let (view, output) = (show.view.0, &show.output);
    if let Some(word) = show.input.path().filter(|word| !word.exists()).and_then(Path::to_str)
        && let Some(what) = cli::no_such_command(word, all)
    {
        return Err(Error::Argument(what));
    }
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
