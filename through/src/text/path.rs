//! Paths as people type them.

use std::env;
use std::path::{Path, PathBuf};

use super::escape::visible;

/// The path as the user would type it here.
pub fn relative(path: &Path) -> PathBuf {
    let here = env::current_dir().unwrap_or_default();
    path.strip_prefix(here).map(Path::to_owned).unwrap_or_else(|_| path.to_owned())
}

/// The path as one word of a shell.
pub fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |character: char| character.is_alphanumeric() || "/._-+=:,@%".contains(character);
    match text.chars().all(is_plain) {
        true => text.into_owned(),
        false => format!("'{}'", visible(&text).replace('\'', r"'\''")),
    }
}
