//! Runs what is measured: in a place of its own, with a time limit, so that a tool that crashes or hangs costs one
//! figure.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Far more than anything here takes.
const LIMIT_S: &str = "180";
/// How coreutils' `timeout` says that the time was up.
const TIME_IS_UP: i32 = 124;

/// The command's standard output, or why there is none worth reading.
pub fn output_of(command: &Command, folder: &Path) -> Result<String, String> {
    let mut limited = Command::new("timeout");
    limited.args(["-k", "10", LIMIT_S]).arg(command.get_program()).args(command.get_args());
    for variable in ["LD_PRELOAD", "COMMSEE_DISABLE", "COMMSEE_BUCKETS", "COMMSEE_HOOKS"] {
        limited.env_remove(variable);
    }
    limited.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    limited.env("COMMSEE_LOG", "off").env("COMMSEE_OUT", folder.join("profile.db"));
    limited.env("MPISEE_OUTFILE", folder.join("profile.db"));
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = limited.current_dir(folder).stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    match output.status.code() {
        Some(0) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Some(TIME_IS_UP) => Err(format!("did not end within {LIMIT_S} s")),
        _ => {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
            Err(format!("{} ({})", output.status, last.trim()))
        }
    }
}

/// An empty working directory: what is in it afterwards, the library has left.
pub fn place() -> TempDir {
    tempfile::Builder::new().prefix("bench-").tempdir_in(workplace()).expect("a temporary folder")
}

/// Compiled programs stay here.
pub fn workplace() -> PathBuf {
    ::common::temporary_folder()
}

/// The bytes of all files under a folder.
pub fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_in(&entry.path()),
        Ok(metadata) if metadata.is_file() => metadata.len(),
        _ => 0,
    };
    entries.map(bytes).sum()
}

/// A library that has MPICH give the processor away while it waits: with more ranks than processors it spins otherwise.
pub fn yielding() -> PathBuf {
    let source = ::common::root().join("tests/programs/yield.c");
    let library = workplace().join("bench-yield.so");
    let made = Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
    assert!(made.is_ok_and(|status| status.success()), "cc makes a library of tests/programs/yield.c");
    library
}
