//! Paths as people type them.

use std::env;
use std::path::{Path, PathBuf};

use super::escape::visible;

const NAME: &str = "through";

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

/// This program as a word of a shell: its name where `PATH` leads to it, else its path.
pub fn own_command() -> String {
    let own = env::current_exe().unwrap_or_else(|_| NAME.into());
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|directory| directory.join(NAME)).find(|file| file.is_file());
    let is_own =
        found.and_then(|file| file.canonicalize().ok()).is_some_and(|file| Some(file) == own.canonicalize().ok());
    if is_own { NAME.to_owned() } else { quoted(&own) }
}
