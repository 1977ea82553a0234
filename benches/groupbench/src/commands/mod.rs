//! What the program does, a file a command.

pub mod launches;
pub mod pairs;
mod plan;
pub mod run;

use std::process::ExitCode;

/// Bytes arrived wrong.
const WRONG: u8 = 1;
/// What was asked cannot be done.
const ERROR: u8 = 2;
const INTERRUPTED: u8 = 130;

fn failed(error: impl std::fmt::Display) -> ExitCode {
    eprintln!("groupbench: {error}");
    ExitCode::from(ERROR)
}
