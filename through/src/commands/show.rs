//! `through [PROFILE]`, and `through show`: operations, and other views of one profile.

use std::path::Path;

use super::look::look;
use crate::cli::{self, Show};
use crate::error::Error;

/// Whether anything was there to show.
pub fn show(show: &Show, all: &clap::Command) -> Result<bool, Error> {
    if let Some(word) = show.input.path().filter(|word| !word.exists()).and_then(Path::to_str)
        && let Some(what) = cli::no_such_command(word, all)
    {
        return Err(Error::Argument(what));
    }
    look(show)
}
