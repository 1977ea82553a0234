//! What a profile cannot answer.

use std::path::PathBuf;

use super::catalog::Detail;
use super::open::Problem;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {problem}", path.display())]
    Profile { path: PathBuf, problem: Problem },
    /// What another crate reads beside profiles, and could not.
    #[error("{0}")]
    Beside(Box<dyn std::error::Error + Send + Sync>),
    #[error("there is no profile (*.db) in the current directory: name one, or make one with `through run`")]
    NoProfile,
    #[error("{}: has sums over {}, but {asked} needs each of them: run the program again with COMMSEE_DETAIL=rank", path.display(), summed(*detail))]
    Coarse { path: PathBuf, detail: Detail, asked: &'static str },
    #[error("{0}")]
    Name(String),
    #[error("{0}")]
    Sql(super::sql::Refusal),
}

/// What the numbers of a profile are sums over.
fn summed(detail: Detail) -> &'static str {
    match detail {
        Detail::Rank => "nothing",
        Detail::Node => "the ranks of each node",
        Detail::Comm => "all ranks",
    }
}
