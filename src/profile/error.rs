//! Why a profile could not be written.

use std::io;
use std::path::PathBuf;

/// Why a profile could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("the database: {0}")]
    Database(#[from] rusqlite::Error),
    #[error("there is no shard to make a profile of")]
    Nothing,
    #[error("{0}")]
    Unreadable(String),
}
