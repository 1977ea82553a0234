//! `through exec`: becomes the program, with the profiler loaded.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use crate::cli::Exec;
use crate::error::Error;
use crate::job::preload;
use crate::job::slurm_step::{self, Step};

/// Returns where the program could not be started, and in the parent of one.
pub fn exec(exec: &Exec) -> Result<u8, Error> {
    let (program, arguments) = exec.command.split_first().expect("clap requires a word");
    let variables = preload::variables(&exec.profiling)?;
    if let Some(status) = Step::own().and_then(|step| slurm_step::outlive(&step)) {
        return Ok(slurm_step::end_as(status));
    }
    let mut command = Command::new(program);
    command.args(arguments).envs(variables);
    Err(Error::Start { program: PathBuf::from(program), source: command.exec() })
}
