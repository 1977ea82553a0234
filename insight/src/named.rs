//! Files that are named twice: the same run again says nothing new, and would pass for another one.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use through_core::text::message::say;

/// Each file once, and what is left out is said.
pub fn once(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in paths {
        match kept.iter().any(|other| are_same(other, path)) {
            true => say(format_args!("{}: named twice, counted once", path.display())),
            false => kept.push(path.clone()),
        }
    }
    kept
}

/// Says which files are on both sides of a comparison.
pub fn tell_shared(a: &[PathBuf], b: &[PathBuf]) {
    for path in b.iter().filter(|path| a.iter().any(|other| are_same(other, path))) {
        say(format_args!("{}: on both sides", path.display()));
    }
}

/// Also by another path, or a link.
fn are_same(one: &Path, other: &Path) -> bool {
    let file = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    one == other || file(one).is_some_and(|one| Some(one) == file(other))
}
