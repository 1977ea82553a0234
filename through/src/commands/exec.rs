//! `through exec`: becomes the program, with the profiler loaded.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::cli::Exec;
use crate::error::Error;
use crate::job::preload;

/// Returns where the program could not be started.
pub fn exec(exec: &Exec) -> Result<u8, Error> {
    let (program, arguments) = exec.command.split_first().expect("clap requires a word");
    let variables = preload::variables(&exec.profiling)?;
    let mut command = Command::new(program);
    command.args(arguments).envs(variables);
    Err(Error::Start { program: PathBuf::from(program), source: command.exec() })
}
