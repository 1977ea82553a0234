//! What can go wrong, and the exit status it leads to.

use std::io;
use std::path::{Path, PathBuf};

use crate::query;
use crate::text::message::plain;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Query(#[from] query::Error),
    #[error("{0}")]
    Argument(String),
    #[error("{}: cannot be written: {}", path.display(), plain(source))]
    Output { path: PathBuf, source: io::Error },
    #[error("{}: is an SQLite database and is never overwritten: choose another name", .0.display())]
    WouldOverwrite(PathBuf),
    #[error("libcommsee.so was not found (looked in {}): set COMMSEE_LIB to its path", list(.0))]
    NoLibrary(Vec<PathBuf>),
    #[error("there is no hook module '{name}' (libcommsee_{name}.so in {}): {}", list(places), modules(there))]
    NoModule { name: String, there: Vec<String>, places: Vec<PathBuf> },
    #[error("{}: LD_PRELOAD cannot hold a path with a colon or a semicolon: set COMMSEE_LIB to another path, such as a symbolic link", .0.display())]
    LibraryPath(PathBuf),
    #[error("{}: cannot be started: {}", program.display(), plain(source))]
    Start { program: PathBuf, source: io::Error },
    #[error("standard output: {}", plain(.0))]
    Stdout(io::Error),
    #[error("{0}")]
    Recover(String),
    #[error("/dev/urandom: {}", plain(.0))]
    Random(io::Error),
}

impl Error {
    /// 2; where a program could not be started, what a shell would answer.
    pub fn status(&self) -> u8 {
        match self {
            Error::Start { source, .. } if source.kind() == io::ErrorKind::NotFound => 127,
            Error::Start { .. } => 126,
            _ => 2,
        }
    }
}

fn modules(names: &[String]) -> String {
    match names {
        [] => "there is none".to_owned(),
        names => format!("known ones: {}", names.join(", ")),
    }
}

fn list(paths: &[PathBuf]) -> String {
    let words: Vec<String> = paths.iter().map(|path: &PathBuf| Path::display(path).to_string()).collect();
    words.join(", ")
}
